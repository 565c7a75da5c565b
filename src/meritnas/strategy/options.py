"""Options that several strategies share, and what is said about values out of range."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any, Literal

from meritnas.errors import UsageError, whole_number
from meritnas.settings.fields import shown

WeightDraws = Literal["policy", "feasible"]
Baseline = Literal["average", "paired"]
JudgedFinal = Literal["argmax", "process-best"]


MOST_DRAWS = 1_000_000
"""Of networks, orders or rows that a strategy looks at in one step."""


def check_above_zero(name: str, value: float) -> None:
    """Complain about what is not above 0 and finite."""
    if not 0 < value < inf:
        raise UsageError(f"{name} must be above 0 and finite, got {value}")


def check_policy_rate(rate: float | None) -> None:
    """Complain about a learning rate that moves nothing, or everything."""
    if rate is not None:
        check_above_zero("the policy's learning rate", rate)


def check_within(name: str, value: float) -> None:
    """Complain about what does not lie between 0 and 1."""
    if not 0 <= value <= 1:
        raise UsageError(f"{name} must lie between 0 and 1, got {value}")


def drawn(least: int | None = 1, most: int = MOST_DRAWS) -> Mapping[str, Any]:
    """Metadata of how many networks, orders or rows a strategy looks at in one step."""
    return shown(least=least, most=most)


def check_samples(samples: int | None, baseline: str) -> None:
    """Complain about too few networks for what their rewards are compared with."""
    if samples is not None:
        least = 2 if baseline == "paired" else 1
        whole_number(f"samples (with baseline '{baseline}')", samples, least)
