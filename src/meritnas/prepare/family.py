"""The networks that a run was about, built again from what its folder keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from meritnas.data.kind import Encoder
from meritnas.data.task import Task
from meritnas.errors import StoreError, UsageError, told
from meritnas.families.convnet.spec import PLAIN
from meritnas.families.family import Family
from meritnas.families.fusion.backbone import Backbone
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.joint import JointSpace
from meritnas.families.fusion.plain import PlainFusion, plain_fusion
from meritnas.families.fusion.plain_child import Answers
from meritnas.families.fusion.spec import CONV
from meritnas.families.recurrent.family import RecurrentSpace
from meritnas.families.recurrent.known_cells import KNOWN
from meritnas.families.with_plain import WithPlain
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore

_ANSWERS: Mapping[str, Answers] = {
    **{"multiclass": "classes", "binary": "labels", "multilabel": "labels"},
    **{"regression": "numbers", "language": "classes"},
}
"""What the outputs of a network are, by the kind of task."""


def make_family(settings: SearchSettings, encoder: Encoder, task: Task) -> Family:
    """The family that a space stands for, on data that is encoded like this."""
    space = settings.space
    family: Any = space.build(encoder.inputs, task.outputs, settings.limits)
    if not isinstance(family, Family):
        raise UsageError(
            f"build of {space.name} must give a space, a meritnas Family, got {told(family)}"
        )
    family = family.answering(_ANSWERS[task.kind])
    return with_plain(family, encoder, task) if settings.plain else family


def trained_network(
    family: Family, text: str, weights: Mapping[str, Tensor], store: RunStore
) -> nn.Module:
    """The network of a run with the weights that it keeps.

    Raises:
        StoreError: They are another network's.
    """
    module = family.child(text)
    try:
        module.load_state_dict(family.own_weights(text, weights))
    except RuntimeError as error:
        raise StoreError(
            f"the weights in {store.folder} do not fit its network; train it anew with: "
            f"meritnas retrain {store.folder}"
        ) from error
    return module


def check_identity(store: RunStore, family: Family) -> None:
    """Complain where networks that a user's code makes are not those of the run.

    Raises:
        StoreError: They decide something else, or begin with other weights.
    """
    kept = store.decode("preprocessing.json", lambda found: dict(found.get("networks", {})))
    own = family.asked.identity
    for what in dict.fromkeys([*kept, *own]):
        if kept.get(what) != own.get(what):
            raise StoreError(
                f"the networks of run {store.folder} have other {what} than those that its space "
                f"makes now ({kept.get(what)} and {own.get(what)}); give the function or module "
                "that it was searched with"
            )


def with_plain(family: Family, encoder: Encoder, task: Task) -> Family:
    """The family with plain networks beside it, where it has none of its own for such data."""
    if isinstance(family, RecurrentSpace) and not family.plain({}):
        return WithPlain(family, replace(family, updates=tuple(KNOWN)))
    if family.has_plain:
        return family
    if encoder.kind == "images":
        return WithPlain(family, PLAIN.build(encoder.inputs, task.outputs, {}))
    if encoder.kind == "modalities":
        return WithPlain(family, _plain_fusion(family, encoder, task))
    return family


def _plain_fusion(family: Family, encoder: Encoder, task: Task) -> PlainFusion:
    """Plain networks with the family's backbones; without limits, as large as its largest."""
    backbones: dict[str, str | Backbone] = dict.fromkeys(encoder.inputs.pictures, CONV)
    if isinstance(family, FusionSpace | JointSpace):
        backbones = family.named_backbones
    return plain_fusion(
        encoder.inputs.modalities,
        task.outputs,
        _ANSWERS[task.kind],
        backbones,
        family.largest() or None,
    )
