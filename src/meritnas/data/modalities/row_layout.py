"""Where the numbers of each modality stand in a row of inputs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

Shape = tuple[int, ...]
"""Of one feature of one sample, without the batch: (columns,), (channels, length) or
(channels, height, width)."""


@dataclass(frozen=True)
class RowLayout:
    """Where the numbers of each modality stand in a row of inputs.

    A sample with several modalities is one row, so that all that reads rows reads it too. A
    modality takes one number that says whether the sample has it (1) or not (0), followed by the
    numbers of its features, each flattened. What a sample lacks is zeros.

    Attributes:
        modalities: The name and the shapes of the features of each.
    """

    modalities: tuple[tuple[str, tuple[Shape, ...]], ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Of the modalities."""
        return tuple(name for name, _ in self.modalities)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        return tuple(1 + sum(map(math.prod, shapes)) for _, shapes in self.modalities)

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(accumulate(self._widths, initial=0))

    @property
    def width(self) -> int:
        """Of a row."""
        return self._starts[-1]

    def flag(self, number: int) -> int:
        """The column that says whether a sample has a modality."""
        return self._starts[number]

    @property
    def columns(self) -> list[tuple[int, list[Shape]]]:
        """Of each modality the column that says whether it is there, and what follows."""
        return [
            (self.flag(number), list(shapes)) for number, (_, shapes) in enumerate(self.modalities)
        ]

    def values(self, number: int) -> slice:
        """The columns with the numbers of a modality."""
        return slice(self._starts[number] + 1, self._starts[number + 1])

    def present(self, inputs: Tensor, number: int) -> Tensor:
        """Whether each sample has a modality: rows [n, width] -> [n] of 0 and 1."""
        return inputs[:, self.flag(number)]

    def features(self, inputs: Tensor, number: int) -> list[Tensor]:
        """The features of a modality: rows [n, width] -> [n, *shape] for each."""
        found, start = [], self.flag(number) + 1
        for shape in self.modalities[number][1]:
            end = start + math.prod(shape)
            found.append(inputs[:, start:end].reshape(-1, *shape))
            start = end
        return found
