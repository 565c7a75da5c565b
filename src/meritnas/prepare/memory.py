"""Networks that this machine has no memory for are refused before they are made."""

from __future__ import annotations

from meritnas.cost.feasible import FeasibleSet
from meritnas.data.memory import machine_memory
from meritnas.errors import SpaceError
from meritnas.families.family import Family

BYTES_A_WEIGHT = 16
"""A weight, its gradient and two averages, of 4 bytes each."""

SHARE = 0.5
"""Of the machine's memory, what weights may take; data and passes need some, too."""

_COST = "params"


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


def _gigabytes(count: float) -> str:
    return f"{count / 1e9:,.1f} GB"
