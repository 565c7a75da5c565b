"""The networks that a run was about, built again from what its folder keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meritnas.data.kind import Encoder
from meritnas.data.task import Task
from meritnas.errors import UsageError, told
from meritnas.families.convnet.spec import Convnet
from meritnas.families.family import Family
from meritnas.families.recurrent.family import RecurrentSpace
from meritnas.families.recurrent.known_cells import KNOWN
from meritnas.families.with_plain import WithPlain
from meritnas.settings.settings import SearchSettings


def make_family(settings: SearchSettings, encoder: Encoder, task: Task) -> Family:
    """The family that a space stands for, on data that is encoded like this."""
    space = settings.space
    family: Any = space.build(encoder.inputs, task.outputs, settings.limits)
    if not isinstance(family, Family):
        raise UsageError(
            f"build of {space.name} must give a space, a meritnas Family, got {told(family)}"
        )
    return with_plain(family, encoder, task) if settings.plain else family


def with_plain(family: Family, encoder: Encoder, task: Task) -> Family:
    """The family with plain networks beside it, where it has none of its own for such data."""
    if isinstance(family, RecurrentSpace) and not family.plain({}):
        return WithPlain(family, replace(family, updates=tuple(KNOWN)))
    if encoder.kind != "images" or family.has_plain:
        return family
    return WithPlain(family, Convnet().build(encoder.inputs, task.outputs, {}))
