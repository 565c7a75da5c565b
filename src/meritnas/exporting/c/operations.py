"""The short list of operations that C is printed from, each with its numbers.

Memory is numbered buffers; what an operation reads and writes are views of them. There is one row
or image; views have three dimensions: channels, height and width, of which any may be 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np

from meritnas.exporting.c.functions import Functions

Shape: TypeAlias = tuple[int, int, int]


@dataclass(frozen=True)
class View:
    """Numbers of a buffer, in an order.

    Attributes:
        buffer: which one.
        first: where its first number is, counted in numbers.
        shape: channels, height, width.
        steps: how far it is to the next one in each of them.
        before: functions that are applied as a number is read.
    """

    buffer: int
    first: int
    shape: Shape
    steps: Shape
    before: Functions = ()

    @property
    def places(self) -> np.ndarray:
        """Where its numbers are in the buffer [channels, height, width]."""
        c, h, w = (
            step * np.arange(size) for step, size in zip(self.steps, self.shape, strict=True)
        )
        found: np.ndarray = self.first + c[:, None, None] + h[:, None] + w
        return found

    @property
    def numbers(self) -> int:
        """How many it has."""
        return int(np.prod(self.shape))


@dataclass(frozen=True, eq=False)
class Dense:
    """weights [outputs, inputs] times what is read, plus biases [outputs].

    Attributes:
        epsilon: of a layer norm that is applied as numbers are read; None for none.
        after: functions of what it gives.
    """

    source: View
    target: View
    weights: np.ndarray
    biases: np.ndarray
    epsilon: float | None = None
    after: Functions = ()


@dataclass(frozen=True, eq=False)
class Convolve:
    """A convolution with weights [outputs, inputs / groups, height, width], plus biases [outputs].

    Attributes:
        stride: down and right; so are `padding`, with zeros, and `dilation`.
        groups: of channels.
        after: functions of what it gives.
    """

    source: View
    target: View
    weights: np.ndarray
    biases: np.ndarray
    stride: tuple[int, int]
    padding: tuple[int, int]
    dilation: tuple[int, int]
    groups: int
    after: Functions = ()


@dataclass(frozen=True)
class Pool:
    """The largest or the mean of the numbers in each window.

    Attributes:
        largest: whether it is the largest.
        kernel: the size of windows; 0 where as many as `target` has share all evenly.
        stride: from window to window; so is `padding`.
        counts_padding: whether a mean is over padding, too.
    """

    source: View
    target: View
    largest: bool
    kernel: tuple[int, int]
    stride: tuple[int, int]
    padding: tuple[int, int]
    counts_padding: bool


@dataclass(frozen=True)
class Apply:
    """Functions of each number, where it stands."""

    target: View
    after: Functions


@dataclass(frozen=True, eq=False)
class Scale:
    """scale times each number plus shift, where it stands; both have the shape of the view.

    Attributes:
        after: functions of what it gives.
    """

    target: View
    scale: np.ndarray
    shift: np.ndarray
    after: Functions = ()


@dataclass(frozen=True, eq=False)
class Normalise:
    """(number - mean) / deviation of each group of channels, where they stand.

    Attributes:
        groups: of equally many channels.
        epsilon: added to the variance.
        scale: of each number afterwards, in the shape of the view; so is `shift`.
        after: functions of what it gives.
    """

    target: View
    groups: int
    epsilon: float
    scale: np.ndarray
    shift: np.ndarray
    after: Functions = ()


@dataclass(frozen=True)
class Combine:
    """A number of one view and one of another: add, sub, mul, div, maximum or minimum."""

    first: View
    second: View
    target: View
    kind: str
    after: Functions = ()


@dataclass(frozen=True)
class Copy:
    """Numbers from one place to another."""

    source: View
    target: View


@dataclass(frozen=True)
class Fill:
    """One value everywhere."""

    target: View
    value: float


@dataclass(frozen=True)
class Pick:
    """Numbers at some places of a view, one after the other."""

    source: View
    target: View
    picked: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Lookup:
    """Rows of a table [rows, width] by numbers that are whole."""

    source: View
    target: View
    table: np.ndarray


Operation: TypeAlias = (
    Dense | Convolve | Pool | Apply | Scale | Normalise | Combine | Copy | Fill | Pick | Lookup
)


def views_of(operation: Operation) -> Iterator[View]:
    """What an operation reads and writes."""
    for field in fields(operation):
        value = getattr(operation, field.name)
        if isinstance(value, View):
            yield value


@dataclass(frozen=True)
class Buffer:
    """Room for numbers, and the operations of the trace during which it is needed."""

    numbers: int
    born: int
    dies: int


@dataclass(frozen=True)
class Lowered:
    """A network as operations.

    Attributes:
        operations: in order.
        buffers: by their numbers.
        given: what the network reads.
        scores: what it gives.
    """

    operations: tuple[Operation, ...]
    buffers: Mapping[int, Buffer]
    given: View
    scores: View
