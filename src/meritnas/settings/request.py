"""What a user asks of a search, before the data says what the rest should be."""

from __future__ import annotations

import math
import os
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import Any, Literal

from meritnas.errors import UsageError, told
from meritnas.settings.checks import check_fields
from meritnas.settings.fields import shown
from meritnas.settings.limits import Limits
from meritnas.settings.recipe import MOST_EPOCHS
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.settings.training import Retraining, Training

_MOST_THREADS = 64
"""Or more on a machine with many processors."""


MOST_WORKERS = 1024

MOST_JOBS = 256
"""Trainings at a time."""


@dataclass(frozen=True)
class RunOptions:
    """Where a run computes.

    Who computes the trainings that do not depend on each other (`jobs`, `ray`, `executor`) is no
    part of what a run is: they come to the same, with as many threads each.

    Attributes:
        device: cpu, cuda, ...
        threads: CPU threads.
        jobs: Trainings at a time once the search has ended, in a process each.
        ray: Have them done by Ray, at this address; local for a cluster of this machine.
        executor: any executor of `concurrent.futures` that does them.
        latency_table: Times of parts for --max-latency-ms, made by meritnas latency.
    """

    device: str = "cpu"
    threads: int | None = field(
        default=None, metadata=shown(usual="1, or all for large batches", least=1)
    )
    jobs: int | None = field(
        default=None, repr=False, metadata=shown(usual="1", least=1, most=MOST_JOBS)
    )
    ray: str | None = field(default=None, repr=False, metadata=shown(metavar="ADDRESS"))
    executor: Executor | None = field(default=None, repr=False, metadata=shown(hidden=True))
    latency_table: str | None = field(
        default=None, metadata=shown(metavar="FILE", usual="timed on this machine")
    )

    def __post_init__(self) -> None:
        check_fields(self)
        if self.executor is not None and (self.jobs is not None or self.ray is not None):
            raise UsageError("give either an executor or jobs and ray, not both")
        most = max(_MOST_THREADS, 4 * (os.cpu_count() or 1))
        if self.threads is not None and self.threads > most:
            raise UsageError(
                f"threads must be at most {most} on this machine, got {self.threads}; leave it out "
                "for as many as suit the data"
            )


@dataclass(frozen=True)
class Request:
    """What is asked of a search; None for what is left to the data.

    Attributes:
        space: The kind of network: one of `meritnas list spaces`, or module:name of your own.
        strategy: How to search: one of `meritnas list strategies`, or module:name of your own.
        preset: Where all that is not given comes from: quick (minutes) or paper (as published).
        epochs: Passes of the search over the data.
        minutes: Time for everything, instead of epochs.
        pareto: Also find networks for a ladder of smaller limits.
        seed: Same seed, same result.
        workers: Networks trained at a time in the search, in a process each where there are cores.
        limits: what the network may cost.
        reading: how the data is read, by the class that its kind has for that.
        training: how weights are trained.
        retraining: how networks are trained alone.
        run: where it is computed.
    """

    space: str | SpaceSpec | None = field(
        default=None, metadata=shown(usual="tabular; images: convnet", metavar="NAME")
    )
    strategy: str | StrategySpec | None = field(
        default=None,
        metadata=shown(
            usual="tabnas; images: manas-ls; texts: random; fusion: sm-shapley", metavar="NAME"
        ),
    )
    preset: Literal["quick", "paper"] | None = field(default=None, metadata=shown(usual="quick"))
    epochs: int | None = field(
        default=None,
        metadata=shown(
            usual="60, more on small tables; others: by preset", least=1, most=MOST_EPOCHS
        ),
    )
    minutes: float | None = None
    pareto: bool = False
    seed: int = field(default=0, metadata=shown(least=0))
    workers: int = field(default=1, metadata=shown(least=1, most=MOST_WORKERS))
    limits: Limits = field(default_factory=Limits)
    reading: Any = None
    training: Training = field(default_factory=Training)
    retraining: Retraining = field(default_factory=Retraining)
    run: RunOptions = field(default_factory=RunOptions)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.seed >= 2**32:
            raise UsageError(f"seed must be below 2**32, got {told(self.seed)}")
        check_minutes(self.minutes)
        if self.epochs is not None and self.minutes is not None:
            raise UsageError("give either epochs or minutes, not both")


def check_minutes(minutes: float | None) -> None:
    """Complain about a time that is none."""
    if minutes is not None and not 0 < minutes < math.inf:
        raise UsageError(f"minutes must be above 0 and finite, got {minutes}")
