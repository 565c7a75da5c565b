"""The one way from data and a request to a job that can be run."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from meritnas.data.kind import DataKind
from meritnas.data.kinds import recognise
from meritnas.errors import SpaceError, UsageError, told
from meritnas.families.catalogue import space_spec
from meritnas.families.family import Family
from meritnas.prepare.config import make_config
from meritnas.prepare.settle import settle
from meritnas.run.job import Job
from meritnas.settings.request import Request
from meritnas.space.architecture import Architecture


def begin(
    data: Any,
    target: str | None,
    request: Request,
    architecture: str | None = None,
    begun: float | None = None,
) -> tuple[Job, dict[str, Any]]:
    """Data -> outline -> settings -> encoded data -> networks that fit; and the run's config.

    Args:
        data: as `meritnas.search` takes it.
        target: the column to predict.
        request: what is asked for.
        architecture: of a network that is given; sizes that are left open are as it has them.
        begun: since when time counts, by `time.perf_counter`; None for now.
    """
    begun = time.perf_counter() if begun is None else begun
    _check_data(data)
    wanted = None if request.space is None else space_spec(request.space).data or None
    kind = recognise(data, wanted)
    reading = checked_reading(request.reading, kind)
    if architecture is not None:
        space = space_spec(kind.space if request.space is None else request.space)
        request = replace(request, space=space.of_architecture(architecture))
    source = kind.load(data, target, reading)
    outline = kind.outline(source, reading, request.seed)
    settings = settle(request, kind, kind.facts(source, outline, reading))
    job = Job.make(settings, kind, source, outline, begun)
    return job, make_config(settings, kind, source)


def _check_data(data: Any) -> None:
    """Complain about what can be no data at all."""
    if not isinstance(data, str | os.PathLike | pd.DataFrame | Mapping | tuple):
        raise UsageError(
            "data must be the name of bundled data or of a file, a data frame, a pair of arrays "
            f"or a dict of arrays, got {told(data)}"
        )


def check_family(given: Family, job: Job) -> None:
    """Complain where a space that was built for other data was given."""
    needed = job.ground.family.asked
    if given != needed:
        raise UsageError(
            f"the space {given} does not fit the data, which need {needed}; build it with the "
            "inputs and outputs of the data"
        )


def given_architecture(family: Family, text: str) -> Architecture:
    """The architecture that a user wants to be trained.

    Raises:
        SpaceError: It is none of this space, or says the same whatever it reads.
    """
    found = family.parse(text)
    if not family.sees(found):
        raise SpaceError(
            f"nothing of what comes in reaches the output of {found}; put another operation than "
            "none on the edges of a way through it"
        )
    return found


def checked_reading(reading: Any, kind: DataKind) -> Any:
    """How data of a kind is read; complains about settings for another kind."""
    if reading is None:
        return kind.reading()
    if not isinstance(reading, kind.reading):
        raise UsageError(
            f"{kind.this}, which a {kind.reading.__name__} says how to read; "
            f"got {type(reading).__name__}"
        )
    return reading
