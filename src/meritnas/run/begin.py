"""The one way from data and a request to a job that can be run."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from meritnas.data.bundle import Outline
from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import recognise
from meritnas.errors import SpaceError, UsageError, told
from meritnas.families.catalogue import space_spec
from meritnas.families.family import Family
from meritnas.prepare.config import make_config
from meritnas.prepare.given_teacher import GivenTeacher
from meritnas.prepare.settle import settle
from meritnas.run.job import Job
from meritnas.settings.request import Request
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.store.json_text import json_bytes, parse_json
from meritnas.store.run_folder import exists, has_content
from meritnas.store.run_store import RunStore


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
    kind, source, outline, settings = _settled(data, target, request, architecture)
    teacher = GivenTeacher(request.retraining.teacher)
    reading = time.perf_counter() - begun
    job = Job.make(settings, kind, source, outline, begun, teacher)
    spent = {"reading": reading, "encoding": time.perf_counter() - begun - reading}
    return replace(job, spent=spent), make_config(settings, kind, source)


def has_begun(folder: Path, data: Any, target: str | None, request: Request) -> bool:
    """Whether a folder has a run that was begun on the same data with the same request.

    Raises:
        StoreError: It has another run, or something else.
    """
    if not folder.exists() or (folder.is_dir() and not has_content(folder)):
        return False
    kind, source, _, settings = _settled(data, target, request)
    asked = parse_json(json_bytes(make_config(settings, kind, source)))
    found = RunStore.open(folder).config
    if {name: found.get(name) for name in asked} != asked:
        raise exists(folder)
    return True


def _settled(
    data: Any, target: str | None, request: Request, architecture: str | None = None
) -> tuple[DataKind, Source, Outline, SearchSettings]:
    """The data, how its rows are split, and all settings."""
    _check_data(data)
    wanted = None if request.space is None else space_spec(request.space).data or None
    kind = recognise(data, wanted)
    reading = checked_reading(request.reading, kind)
    if architecture is not None:
        space = space_spec(kind.space if request.space is None else request.space)
        request = replace(request, space=space.of_architecture(architecture))
    source = kind.load(data, target, reading)
    outline = kind.outline(source, reading, request.seed)
    return kind, source, outline, settle(request, kind, kind.facts(source, outline, reading))


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


def new_store(job: Job, config: dict[str, Any], out: Path | None, strategy: str) -> RunStore:
    """The folder of a new run."""
    return RunStore.create(out or _free_folder(job.prepared.name, strategy), config)


def _free_folder(name: str, strategy: str) -> Path:
    number, plain = 1, strategy.replace(":", "-")
    while (folder := Path("runs") / f"{name}-{plain}-{number}").exists():
        number += 1
    return folder
