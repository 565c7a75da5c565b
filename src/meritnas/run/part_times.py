"""The parts that a search for such data would time, timed or listed without searching."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from meritnas.errors import UsageError
from meritnas.families.latency import Clock
from meritnas.run.begin import begin
from meritnas.settings.request import Request


def time_parts(data: Any, target: str | None, request: Request, clock: Clock) -> None:
    """Show a clock every part of the networks that a search would choose from.

    Args:
        data: as `meritnas.search` takes it.
        target: the column to predict.
        request: as for a search; a limit on latency plays no part.
        clock: who times parts, or writes them down.
    """
    limits = replace(request.limits, max_latency_ms=None)
    run = replace(request.run, latency_table=None)
    job, _ = begin(data, target, replace(request, limits=limits, run=run))
    family = job.prepared.family
    if "latency" not in family.limitable:
        raise UsageError(
            f"the space '{job.settings.space.name}' has no latency; there are limits on "
            f"{', '.join(family.limitable)}"
        )
    family.timed(clock)
