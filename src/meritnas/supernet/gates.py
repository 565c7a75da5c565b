"""Gates: which options of each decision run, and with what weight."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
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


def tracked(picks: Sequence[int], sizes: Sequence[int]) -> tuple[Gates, list[Tensor]]:
    """One-path gates whose weights are leaves: (gates, one row [options] for each decision).

    A row is one-hot, and the derivative of a loss by its picked entry is <dL/dO, O>, O being the
    edge's output, summed over every place that shares the decision (AdvantageNAS, eq. 7).
    """
    rows = [one_hot(pick, size).requires_grad_() for pick, size in zip(picks, sizes, strict=True)]
    gates = tuple(Gate((int(pick),), row) for pick, row in zip(picks, rows, strict=True))
    return gates, rows


def two_paths(
    picks: Sequence[int], others: Sequence[int | None], sizes: Sequence[int]
) -> tuple[Gates, list[Tensor]]:
    """Tracked gates that also run a second option, with weight zero (ProxylessNAS, section 3.2).

    Args:
        picks: the option of each decision that counts.
        others: the second one, None for none.
        sizes: the number of options of each decision.
    """
    gates, rows = tracked(picks, sizes)
    active = [
        gate.active if other is None else (*gate.active, int(other))
        for gate, other in zip(gates, others, strict=True)
    ]
    return tuple(Gate(*both) for both in zip(active, rows, strict=True)), rows


def tracked_mixture(rows: Sequence[Tensor]) -> tuple[Gates, list[Tensor]]:
    """A mixture whose weights are leaves: (gates, leaves with the values of `rows`)."""
    leaves = [row.detach().clone().requires_grad_() for row in rows]
    return mixture(leaves), leaves


def tracked_all(
    rows: Sequence[Tensor], takes_part: Sequence[np.ndarray]
) -> tuple[Gates, list[Tensor]]:
    """Tracked gates that run every option that takes part, even where its weight is zero.

    Args:
        rows: a row of weights [options] for each decision.
        takes_part: booleans [options] for each decision; what takes no part is not run.
    """
    leaves = [row.detach().clone().requires_grad_() for row in rows]
    active = [tuple(np.flatnonzero(part).tolist()) for part in takes_part]
    return tuple(Gate(*both) for both in zip(active, leaves, strict=True)), leaves


def one_hot(pick: int, size: int) -> Tensor:
    """A row [size] of zeros with a one at the pick."""
    row = torch.zeros(size)
    row[int(pick)] = 1.0
    return row
