"""Ways in which columns of a table enter a first layer, beside numbers as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SPREAD = 0.3
"""Of frequencies before training."""


class Part(nn.Module):
    """One way in which some columns enter.

    Attributes:
        named: what its features are computed with, parameters or buffers.
        weight: the first layer's share [width, features].
    """

    named: ClassVar[tuple[str, ...]] = ()
    weight: nn.Parameter

    def tensors(self) -> tuple[Tensor, ...]:
        """What its features are computed with."""
        return tuple(getattr(self, name) for name in self.named)

    @staticmethod
    def together(inputs: Tensor, parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
        """The features of several parts of this class, from encoded rows [n, columns]."""
        raise NotImplementedError


class Periodic(Part):
    """sin(2 pi c x) and cos(2 pi c x) of numbers, with trained c (Gorishniy et al., 2022, eq. 2).

    Args:
        columns: which numbers.
        frequencies: how many c each column has.
        width: of the first layer.
    """

    named = ("columns", "frequencies")

    def __init__(self, columns: Sequence[int], frequencies: int, width: int) -> None:
        super().__init__()
        self.register_buffer("columns", torch.tensor(columns).repeat(frequencies), persistent=False)
        count = frequencies * len(columns)
        self.frequencies = nn.Parameter(SPREAD * torch.randn(count))
        self.weight = nn.Parameter(initial_weight(width, 2 * count))

    @staticmethod
    def together(inputs: Tensor, parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
        """[n, 2 * frequencies * columns of all]."""
        columns, frequencies = _joined(parts)
        angles = inputs.index_select(1, columns) * (2.0 * math.pi * frequencies)
        return [torch.stack([angles.sin(), angles.cos()], 2).flatten(1)]


class Ordered(Part):
    """1 where a number is at least a threshold, else 0: a whole number as an ordered category.

    Args:
        columns: which numbers.
        thresholds: of each of these, what lies between its values.
        width: of the first layer.
    """

    named = ("columns", "thresholds")

    def __init__(
        self, columns: Sequence[int], thresholds: Sequence[Sequence[float]], width: int
    ) -> None:
        super().__init__()
        pairs = [(c, t) for c, own in zip(columns, thresholds, strict=True) for t in own]
        self.register_buffer("columns", torch.tensor([c for c, _ in pairs]), persistent=False)
        self.register_buffer("thresholds", torch.tensor([t for _, t in pairs]), persistent=False)
        self.weight = nn.Parameter(initial_weight(width, len(pairs)))

    @staticmethod
    def together(inputs: Tensor, parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
        """[n, thresholds of all]."""
        columns, thresholds = _joined(parts)
        reached = inputs.index_select(1, columns) >= thresholds
        return [reached.to(inputs.dtype)]


class Embedded(Part):
    """Trained numbers for each code of some category columns, which share a table.

    Code 0, a missing or unseen category, begins at zero: where training rows never have it, it
    stays there and says nothing.

    Args:
        columns: which of the inputs.
        cardinalities: how many codes each has.
        size: how many numbers a code becomes.
        width: of the first layer.
    """

    named = ("columns", "starts", "table")

    def __init__(
        self, columns: Sequence[int], cardinalities: Sequence[int], size: int, width: int
    ) -> None:
        super().__init__()
        starts = torch.tensor([0, *cardinalities[:-1]]).cumsum(0)
        self.register_buffer("columns", torch.tensor(columns), persistent=False)
        self.register_buffer("starts", starts, persistent=False)
        self.table = nn.Parameter(torch.randn(sum(cardinalities), size))
        with torch.no_grad():
            self.table[starts] = 0.0
        self.weight = nn.Parameter(initial_weight(width, len(columns) * size))

    @staticmethod
    def together(inputs: Tensor, parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
        """[n, columns * size] of each."""
        return [looked_up(inputs, *tensors) for tensors in parts]


class OneHot(Part):
    """Categories as the corners of a regular simplex: one-hot, less what a bias says already.

    n - 1 categories are told apart by n - 2 numbers without any weight, each of mean 0 and mean
    square 1 over these; code 0, a missing or unseen category, is in the middle.

    Args:
        columns: which of the inputs.
        codes: how many each of them has.
        width: of the first layer.
    """

    named = ("columns", "starts", "corners")

    def __init__(self, columns: Sequence[int], codes: int, width: int) -> None:
        super().__init__()
        self.register_buffer("columns", torch.tensor(columns), persistent=False)
        self.register_buffer("starts", torch.zeros(len(columns)).long(), persistent=False)
        self.register_buffer("corners", simplex(codes - 1), persistent=False)
        self.weight = nn.Parameter(initial_weight(width, len(columns) * max(1, codes - 2)))

    @staticmethod
    def together(inputs: Tensor, parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
        """[n, columns * (codes - 2)] of each."""
        return [looked_up(inputs, *tensors) for tensors in parts]


PARTS: Mapping[str, type[Part]] = {
    "Periodic": Periodic,
    "Ordered": Ordered,
    "Embedded": Embedded,
    "OneHot": OneHot,
}
"""By name, a row each, so that networks leave with those that they have."""


def first_units(
    inputs: Tensor,
    weight: Tensor | None,
    bias: Tensor,
    parts: Sequence[tuple[str, tuple[Tensor, ...], Tensor]],
) -> Tensor:
    """What a first layer makes: one product of all features with all weights.

    Args:
        inputs: encoded rows [n, columns].
        weight: of the numbers as they are [width, numbers]; None where there are none.
        bias: [width].
        parts: (class, tensors, weight [width, features]) of each part.
    """
    weights = [] if weight is None else [weight]
    features = [inputs[:, : sum(own.shape[1] for own in weights)]]
    for kind, made in PARTS.items():
        own = [part for part in parts if part[0] == kind]
        if own:
            features += made.together(inputs, [tensors for _, tensors, _ in own])
            weights += [share for *_, share in own]
    return F.linear(torch.cat(features, 1), torch.cat(weights, 1), bias)


def looked_up(inputs: Tensor, columns: Tensor, starts: Tensor, table: Tensor) -> Tensor:
    """[n, columns * size] of the codes in some columns."""
    codes = (inputs.index_select(1, columns).long() + starts).flatten()
    return table.index_select(0, codes).view(-1, len(columns) * table.shape[1])


def simplex(corners: int) -> Tensor:
    """The middle of a regular simplex, and its corners [1 + corners, corners - 1].

    Of one corner alone, the middle is 0 and the corner 1.
    """
    if corners == 1:
        return torch.tensor([[0.0], [1.0]])
    rows = torch.zeros(corners + 1, corners - 1)
    for k in range(1, corners):  # Helmert contrasts: the k-th corners' mean against the next one
        rows[1 : k + 1, k - 1] = 1.0
        rows[k + 1, k - 1] = -float(k)
        rows[:, k - 1] *= math.sqrt(corners / (k * (k + 1)))
    return rows


def initial_weight(width: int, features: int) -> Tensor:
    """[width, features], uniform as torch's linear layers begin."""
    most = 1.0 / math.sqrt(features)
    return torch.empty(width, features).uniform_(-most, most)


def initial_bias(width: int, features: int) -> Tensor:
    """[width], uniform as torch's linear layers begin."""
    most = 1.0 / math.sqrt(max(1, features))
    return torch.empty(width).uniform_(-most, most)


def _joined(parts: Sequence[tuple[Tensor, ...]]) -> list[Tensor]:
    """The first tensors of all parts in a row, the second ones in a row, ..."""
    if len(parts) == 1:
        return list(parts[0])
    return [torch.cat(own) for own in zip(*parts, strict=True)]
