from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor


@dataclass(frozen=True)
class Gate:
    """Which options of one decision run, and with what weight.

    Attributes:
        active: indices of the options that are computed; the others cost nothing.
        weights: [options], or None for one active option with weight one.
    """

    active: tuple[int, ...]
    weights: Tensor | None = None


Gates = tuple[Gate, ...]
"""One gate for each decision, in the space's order: all that a supernet knows of a strategy."""


@cache
def _single(option: int) -> Gate:
    return Gate((option,))


def one_path(picks: Sequence[int]) -> Gates:
    """Exactly one option for each decision, with weight one: the network of one architecture."""
    return tuple(_single(int(pick)) for pick in picks)


def mixture(rows: Sequence[Tensor]) -> Gates:
    """All options with a weight other than zero, weighted: one row [options] for each decision."""
    gates = []
    for row in rows:
        active = tuple(torch.nonzero(row.detach(), as_tuple=True)[0].tolist())
        gates.append(Gate(active, row))
    return tuple(gates)
