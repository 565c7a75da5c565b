"""Operations in whole numbers of 8 bits, with the whole numbers that they compute with.

A number is (q - zero) times a scale, with q from -128 to 127. Sums are whole numbers of 32 bits; a
`Factor` brings them to another scale.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from meritnas.exporting.c.operations import Buffer, Pick, Pool, Scale, View

LOWEST, HIGHEST = -128, 127


@dataclass(frozen=True)
class Grid:
    """What whole numbers of 8 bits stand for: (q - zero) * scale."""

    scale: float
    zero: int

    @staticmethod
    def over(low: float, high: float) -> Grid:
        """One that reaches from low to high, and has zero in it."""
        low, high = min(low, 0.0), max(high, 0.0)
        scale = float(np.float32(max(high - low, 1e-8) / (HIGHEST - LOWEST)))
        return Grid(scale, int(np.clip(round(LOWEST - low / scale), LOWEST, HIGHEST)))

    def of(self, value: float) -> int:
        """The whole number that is nearest."""
        return int(np.clip(math.floor(value / self.scale + 0.5) + self.zero, LOWEST, HIGHEST))


@dataclass(frozen=True)
class Factor:
    """multiplier / 2^shift, with a multiplier of 32 bits and a shift from 1 to 62."""

    multiplier: int
    shift: int

    @staticmethod
    def of(value: float) -> Factor:
        """The nearest one."""
        part, power = math.frexp(value)
        multiplier, shift = round(part * 2**31), 31 - power
        if abs(multiplier) == 2**31:
            multiplier, shift = multiplier // 2, shift - 1
        return Factor(multiplier, shift) if shift <= 62 else Factor(0, 1)


@dataclass(frozen=True)
class Read:
    """A view of whole numbers, and what they are read as: at least low, at most high.

    Attributes:
        view: which ones.
        grid: what they stand for.
        low: of numbers below it this one is read, as ReLU does.
        high: of numbers above it this one is.
    """

    view: View
    grid: Grid
    low: int = LOWEST
    high: int = HIGHEST


@dataclass(frozen=True, eq=False)
class Weighted:
    """A linear layer, or with `like` a convolution: sums of weights times (q - zero), rescaled.

    Attributes:
        weights: int8, as `Dense` and `Convolve` have them.
        biases: whole numbers that are added [outputs].
        factors: of each output.
        like: stride, padding, dilation and groups; None for a linear layer.
    """

    source: Read
    target: View
    grid: Grid
    weights: np.ndarray
    biases: np.ndarray
    factors: tuple[Factor, ...]
    like: tuple[tuple[int, int], tuple[int, int], tuple[int, int], int] | None = None


@dataclass(frozen=True, eq=False)
class RealDense:
    """A linear layer whose sums become real numbers: the last one, or one after a layer norm.

    Attributes:
        grid: of what it gives; None for real numbers.
        factors: of each output, float32; so are `biases`.
        epsilon: of the norm, in units of what is read; None for none.
    """

    source: Read
    target: View
    grid: Grid | None
    weights: np.ndarray
    factors: np.ndarray
    biases: np.ndarray
    epsilon: float | None


@dataclass(frozen=True)
class WholePool:
    """Pooling; a mean is rescaled by a factor, after 8 bits of fraction."""

    like: Pool
    source: Read
    target: View
    grid: Grid
    factor: Factor


@dataclass(frozen=True, eq=False)
class Table:
    """What each of the 256 numbers becomes, where it stands."""

    target: View
    table: np.ndarray


@dataclass(frozen=True)
class WholeCombine:
    """a (q1 - zero1) + b (q2 - zero2), or with `product` a (q1 - zero1) (q2 - zero2), / 2^shift."""

    first: Read
    second: Read
    target: View
    grid: Grid
    product: bool
    a: int
    b: int
    shift: int


@dataclass(frozen=True, eq=False)
class WholeScale:
    """((q - zero) factors + shifts) / 2^shift, where it stands."""

    source: Read
    target: View
    grid: Grid
    factors: np.ndarray
    shifts: np.ndarray
    shift: int


@dataclass(frozen=True, eq=False)
class WholeNormalise:
    """A norm of groups: mean and deviation of whole numbers, then real factors and shifts."""

    source: Read
    target: View
    grid: Grid
    groups: int
    epsilon: float
    factors: np.ndarray
    shifts: np.ndarray


@dataclass(frozen=True)
class WholeCopy:
    """Numbers brought to another place and grid; no factor where both have the same grid."""

    source: Read
    target: View
    grid: Grid
    factor: Factor | None


@dataclass(frozen=True)
class Quantise:
    """Real numbers as whole ones."""

    source: View
    target: View
    grid: Grid


@dataclass(frozen=True)
class WholeFill:
    """One whole number everywhere."""

    target: View
    value: int


@dataclass(frozen=True, eq=False)
class WholeLookup:
    """Rows of a table of whole numbers, by real ones."""

    source: View
    target: View
    table: np.ndarray


WholeOperation: TypeAlias = (
    Weighted
    | RealDense
    | WholePool
    | Table
    | WholeCombine
    | WholeScale
    | WholeNormalise
    | WholeCopy
    | Quantise
    | WholeFill
    | WholeLookup
    | Pick
    | Scale
)
"""`Pick` and `Scale` are of codes, which are real."""


@dataclass(frozen=True)
class Whole:
    """A network in whole numbers.

    Attributes:
        operations: in order.
        buffers: in units of four bytes.
        real: buffers of real numbers.
        given: what it reads.
        given_grid: None for real numbers; so of `scores_grid`.
        scores: what it gives.
    """

    operations: tuple[WholeOperation, ...]
    buffers: Mapping[int, Buffer]
    real: frozenset[int]
    given: View
    given_grid: Grid | None
    scores: View
    scores_grid: Grid | None
