"""Backbones of a user's own: networks that read a modality first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import torch
from torch import Tensor, nn

from meritnas.data.modalities.backbone_features import as_features
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.errors import SpaceError
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.family import seeded
from meritnas.families.stored_size import stored_bytes
from meritnas.plugins import own_code

Backbone = Callable[[], nn.Module]
"""Makes a network, a fresh one at every call, that reads the features of a modality, each
[n, *shape], and gives a list of tensors [n, ...]: the features that cells see instead."""


@dataclass(frozen=True)
class Measured:
    """What is known about a user's backbone.

    Attributes:
        shapes: of the features that it gives.
        params: its number of weights.
        multiply_adds: for one sample.
        stored: bytes in a file, with names that begin with nothing.
        tensors: how many of these there are.
    """

    shapes: tuple[Shape, ...]
    params: int
    multiply_adds: int
    stored: int
    tensors: int


@lru_cache(maxsize=64)
def measured(make: Backbone, shapes: tuple[Shape, ...], modality: str) -> Measured:
    """What a user's backbone makes of features of these shapes, found by running it on zeros.

    It is made for real, because it may read files, and that draws numbers. It is done once:
    whoever builds the same networks again, to show them while a search runs, draws none.
    """
    with seeded(0), torch.no_grad():
        network = _made(make, modality).eval()
        with own_code(f"the backbone of '{modality}'"):
            given = network(*(torch.zeros(1, *shape) for shape in shapes))
        found = as_features(given, modality)
        kept = tuple(tuple(feature.shape[1:]) for feature in found)
        macs = multiply_adds(network, *shapes, device="cpu")
        weights = network.state_dict()
        return Measured(kept, parameters(network), macs, stored_bytes(weights), len(weights))


class StandIn(nn.Module):
    """A backbone that counts like the user's own and computes nothing, on the `meta` device."""

    def __init__(self, known: Measured) -> None:
        super().__init__()
        self._known = known
        self.weights = nn.Parameter(torch.empty(known.params, device="meta"))

    def forward(self, first: Tensor, *others: Tensor) -> list[Tensor]:
        """Features of the shapes that the user's backbone gives."""
        del others
        return [torch.empty(len(first), *shape, device="meta") for shape in self._known.shapes]

    def multiply_adds(self, outputs: list[Tensor]) -> int:
        """As many as the user's own takes."""
        del outputs
        return self._known.multiply_adds


def stand_ins(
    backbones: Sequence[tuple[int, str | Backbone]], layout: RowLayout
) -> tuple[tuple[int, str | Backbone], ...]:
    """The same with what counts like them, for those that are a user's own."""
    found: list[tuple[int, str | Backbone]] = []
    for number, own in backbones:
        name, shapes = layout.modalities[number]
        known = own if isinstance(own, str) else partial(StandIn, measured(own, shapes, name))
        found.append((number, known))
    return tuple(found)


def _made(make: Backbone, modality: str) -> nn.Module:
    with own_code(f"the backbone of '{modality}'"):
        network = make()
    if not isinstance(network, nn.Module):
        raise SpaceError(
            f"the backbone of '{modality}' must make a torch Module, got {type(network).__name__}"
        )
    return network
