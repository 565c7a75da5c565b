from __future__ import annotations

import sys
from types import TracebackType
from typing import Any, Protocol, Self

from meritnas.report.network import short_network
from meritnas.report.summary import amount_text, cost_name

Event = dict[str, Any]

_PHASES = {"warmup": "warm-up", "joint": "searching", "frozen": "judging"}


class Progress(Protocol):
    """Shows how far a search or a training is, while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...

    def show(self, event: Event) -> None:
        """Show an event that has a step and a number of steps."""

    def note(self, text: str) -> None:
        """Show a line that stays."""


def make_progress(*, quiet: bool) -> Progress:
    """A bar on a terminal, lines elsewhere, nothing when quiet."""
    from meritnas.cli.progress_bar import BarProgress
    from meritnas.cli.progress_lines import LineProgress

    if quiet:
        return NoProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def stage_text(event: Event) -> str:
    """The stage that an event belongs to, in a word."""
    if event["kind"] == "search":
        return _PHASES.get(event["phase"], str(event["phase"]))
    return "training"


def detail_text(event: Event) -> str:
    """What there is to say about an event beside how far it is."""
    if event["kind"] == "search" and event["phase"] == "warmup":
        return "training shared weights"
    if event["kind"] == "search":
        sure = max(0.0, 1.0 - event["entropy"])
        return f"{short_network(event['leader'])} leads{_costs_text(event)}, {sure:.0%} sure"
    return f"seed {event['seed']}, epoch {event['epoch']}"


def _costs_text(event: Event) -> str:
    """What the leader costs, of what is allowed."""
    return "".join(
        f", {amount_text(name, cost)}"
        + ("" if limit is None else f" of {amount_text(name, limit)}")
        + f" {cost_name(name)}"
        for name, (cost, limit) in event.get("leader_costs", {}).items()
    )


class NoProgress:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def show(self, event: Event) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
