"""Plain networks for several modalities: all joined at once, or one network for each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.fusion.reader import ModalityReader, Shape, make_backbones
from meritnas.families.operations import CHILD, Norms

Answers = Literal["classes", "labels", "numbers"]
"""What outputs are: a logit for each class of one answer, logits of answers of their own, numbers.
A single logit for the second of two classes is an answer of its own."""

_SIDE = 4
_POSITIONS = 16
_NOTHING = 1e-30


def pooled_shape(shape: Shape) -> Shape:
    """What is left of a map or a sequence: at most 4 by 4 pixels, or 16 positions."""
    most = (_POSITIONS,) if len(shape) == 2 else (_SIDE, _SIDE)
    return (shape[0], *(min(side, at_most) for side, at_most in zip(shape[1:], most, strict=False)))


def make_pools(last: Mapping[int, Shape]) -> nn.ModuleDict:
    """What pools the last feature of each backbone, by its modality's number."""
    return nn.ModuleDict({str(i): _pool(shape) for i, shape in last.items()})


def vector_widths(
    modalities: Sequence[tuple[int, Sequence[Shape]]], last: Mapping[int, Shape]
) -> list[int]:
    """How many numbers the vector of each modality has."""
    return [
        math.prod(pooled_shape(last[i])) if i in last else sum(map(math.prod, shapes))
        for i, (_, shapes) in enumerate(modalities)
    ]


def vector_of(parts: Sequence[Tensor], pools: nn.ModuleDict, number: int, there: Tensor) -> Tensor:
    """A modality's vector [n, its width] from its features; zeros where a sample lacks it."""
    own = [pools[str(number)](parts[-1])] if str(number) in pools else list(parts)
    return torch.cat([part.flatten(1) for part in own], dim=1) * there[:, None]


def averaged(said: Tensor, share: Tensor, answers: Answers) -> Tensor:
    """Logits of mean probabilities, or mean numbers: what parts say, their shares -> [n, outputs].

    Args:
        said: by each part, [n, parts, outputs].
        share: of each part, [n, parts].
        answers: what outputs are.
    """
    shares = share[:, :, None]
    if answers == "numbers":
        return (said * shares).sum(dim=1)
    logs = shares.clamp_min(_NOTHING).log()
    if answers == "classes":
        return torch.logsumexp(F.log_softmax(said, dim=2) + logs, dim=1)
    yes = torch.logsumexp(F.logsigmoid(said) + logs, dim=1)
    return yes - torch.logsumexp(F.logsigmoid(-said) + logs, dim=1)


def _pool(shape: Shape) -> nn.Module:
    kept = pooled_shape(shape)
    if len(shape) == 1:
        return nn.Identity()
    return nn.AdaptiveMaxPool1d(kept[1]) if len(shape) == 2 else nn.AdaptiveMaxPool2d(kept[1:])


class FlatReader(ModalityReader):
    """Rows of inputs -> a vector for each modality; zeros where a sample lacks it.

    Of a modality with a backbone it is the last feature that this gives, of which maps and
    sequences are max-pooled; of all others all numbers as they come in.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        backbones: of modalities that have one, by number.
        last: the shape of the last feature that each of these gives.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        backbones: Mapping[int, nn.Module],
        last: Mapping[int, Shape],
    ) -> None:
        super().__init__(modalities, backbones)
        self.pools = make_pools(last)
        self.widths = vector_widths(modalities, last)

    def forward(self, rows: Tensor) -> list[Tensor]:
        """Rows [n, width] -> [n, its width] for each modality."""
        return [
            vector_of(self.parts(rows, i), self.pools, i, self.there(rows, i))
            for i in range(len(self.widths))
        ]


class Head(nn.Sequential):
    """A hidden layer with batch norm, ReLU and dropout; a linear layer."""

    def __init__(
        self, inputs: int, hidden: int, outputs: int, dropout: float, norms: Norms = CHILD
    ) -> None:
        super().__init__(
            nn.Linear(inputs, hidden),
            norms.sequence(hidden),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, outputs),
        )


class Concatenation(nn.Module):
    """The vectors of all modalities side by side, and a head that reads them all.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        backbones: `conv`, or what makes one, of modalities that have one, by number.
        last: the shape of the last feature that each of these gives.
        hidden: units of the hidden layer.
        outputs: how many numbers come out.
        dropout: the rate while training.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        backbones: Mapping[int, str | Callable[[], nn.Module]],
        last: Mapping[int, Shape],
        hidden: int,
        outputs: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        networks = make_backbones(backbones, modalities, CHILD)
        self.reader = FlatReader(modalities, networks, last)
        self.head = Head(sum(self.reader.widths), hidden, outputs, dropout)

    def forward(self, rows: Tensor) -> Tensor:
        """[n, width] -> [n, outputs]."""
        found: Tensor = self.head(torch.cat(self.reader(rows), dim=1))
        return found


class LateAveraging(nn.Module):
    """A head for each modality; what they say is averaged: probabilities, or numbers.

    The mean is over the modalities that a sample has, over all where it has none. Each head learns
    the answers by itself (see `outputs_of_each`).

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        backbones: `conv`, or what makes one, of modalities that have one, by number.
        last: the shape of the last feature that each of these gives.
        hidden: units of the hidden layer of each head.
        outputs: how many numbers come out.
        answers: what they are.
        dropout: the rate while training.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        backbones: Mapping[int, str | Callable[[], nn.Module]],
        last: Mapping[int, Shape],
        hidden: int,
        outputs: int,
        answers: Answers,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        networks = make_backbones(backbones, modalities, CHILD)
        self.reader = FlatReader(modalities, networks, last)
        self.heads = nn.ModuleList(
            Head(width, hidden, outputs, dropout) for width in self.reader.widths
        )
        self._answers = answers

    def outputs_of_each(self, rows: Tensor) -> list[Tensor]:
        """What each modality's network says by itself: rows [n, width] -> [n, outputs] each."""
        return [head(own) for head, own in zip(self.heads, self.reader(rows), strict=True)]

    def forward(self, rows: Tensor) -> Tensor:
        """[n, width] -> [n, outputs]: logits of mean probabilities, or mean numbers."""
        said = torch.stack(self.outputs_of_each(rows), dim=1)
        numbers = range(len(self.heads))
        there = torch.stack([self.reader.there(rows, i).to(rows.dtype) for i in numbers], dim=1)
        there = there + (there.sum(dim=1, keepdim=True) == 0)
        return averaged(said, there / there.sum(dim=1, keepdim=True), self._answers)
