"""Networks that this machine has no memory for are refused before they are made."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from meritnas.cost.feasible import FeasibleSet
from meritnas.errors import SpaceError
from meritnas.families.family import Family

BYTES_A_WEIGHT = 16
"""A weight, its gradient and two averages, of 4 bytes each."""

SHARE = 0.5
"""Of the machine's memory, what weights may take; data and passes need some, too."""

_COST = "params"

_OF_A_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def check_weights(count: int, what: str) -> None:
    """Complain about more weights than there is memory to train.

    Args:
        count: how many, or about.
        what: has them, for the message.

    Raises:
        SpaceError: They would take more than half of this machine's memory.
    """
    memory = machine_memory()
    if memory is not None and count * BYTES_A_WEIGHT > SHARE * memory:
        raise SpaceError(
            f"{what} would take {_gigabytes(count * BYTES_A_WEIGHT)} to train, more than half of "
            f"the {_gigabytes(memory)} of memory here; offer smaller sizes, or give --max-params"
        )


def check_networks(family: Family, feasible: FeasibleSet) -> None:
    """Complain where the largest network that keeps the limits is too large."""
    if _COST not in family.costs:
        return
    bounds = [limit.maximum for limit in feasible.limits if limit.name == _COST]
    largest = family.costs[_COST].restrict(feasible.reachable()).most
    check_weights(min([largest, *bounds]), "the largest network of this space")


def machine_memory() -> int | None:
    """Bytes that this process may have at most; None where that cannot be told."""
    try:
        known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError, ValueError):  # no container, or one without a bound
        known.append(int(_OF_A_CONTAINER.read_text()))
    return min(known)


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"
