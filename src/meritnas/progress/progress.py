"""What every way of showing progress has in common, and which one is used."""

from __future__ import annotations

import sys
from typing import Any, Protocol, Self

from meritnas.report.names import amount_text, cost_name

Event = dict[str, Any]

_PHASES = {"warmup": "warm-up", "joint": "searching", "frozen": "judging"}


class Progress(Protocol):
    """Shows how far a search or a training is, while it is entered."""

    def __enter__(self) -> Self: ...

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None: ...

    def show(self, event: Event) -> None:
        """Show an event that has a step and a number of steps."""

    def begin(self, event: Event) -> None:
        """Show that another run of several begins, in place of the one before."""

    def note(self, text: str) -> None:
        """Show a line that stays."""


def make_progress(*, quiet: bool) -> Progress:
    """A bar on a terminal, lines elsewhere, nothing when quiet."""
    from meritnas.progress.bar import BarProgress
    from meritnas.progress.lines import LineProgress

    if quiet:
        return NoProgress()
    return BarProgress() if sys.stderr.isatty() else LineProgress()


def stage_text(event: Event) -> str:
    """The stage that an event belongs to, in a word."""
    if event["kind"] == "search":
        return _PHASES.get(event["phase"], str(event["phase"]))
    return {"trial": "trying", "runs": "comparing"}.get(event["kind"], "training")


def detail_text(event: Event) -> str:
    """What there is to say about an event beside how far it is.

    The leader is last: where there is no room for all, its end says least.
    """
    if event["kind"] == "search" and event["phase"] == "warmup":
        return "training shared weights"
    if event["kind"] == "search":
        leader = f"{event.get('leader_short', event['leader'])} leads"
        return ", ".join([*_sure(event), *_costs(event), leader])
    if event["kind"] == "runs":
        at_work = [f"{run_text(one)} {one['share']:.0%}" for one in event["at_work"]]
        return "; ".join([f"{event['done']} of {event['runs']} runs done", *at_work])
    if event["kind"] == "trial":
        return f"short training {event['step']} of {event['steps']}"
    return "; ".join(f"seed {one['seed']}, epoch {one['epoch']}" for one in _trainings(event))


def _trainings(event: Event) -> list[Event]:
    """All trainings at the moment, in an order that does not change with every event."""
    every = [event, *event.get("beside", ())]
    return sorted(every, key=lambda one: (one["seed"], one.get("architecture", "")))


def run_text(event: Event) -> str:
    """Which run of several it is."""
    return f"{event['strategy']}, seed {event['seed']}"


def _sure(event: Event) -> list[str]:
    """How decided the beliefs are.

    A policy never is entirely; where that is so, they only name the best network so far.
    """
    return [f"{max(0.0, 1.0 - event['entropy']):.0%} sure"] if event["entropy"] else []


def _costs(event: Event) -> list[str]:
    """What the leader costs, of what is allowed."""
    return [
        amount_text(name, cost)
        + ("" if limit is None else f" of {amount_text(name, limit)}")
        + f" {cost_name(name)}"
        for name, (cost, limit) in event.get("leader_costs", {}).items()
    ]


class NoProgress:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *others: object) -> None:
        return None

    def show(self, event: Event) -> None:
        """Nothing."""

    def begin(self, event: Event) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Nothing."""
