"""What a user's own networks read: an example for dry runs, and what stands before them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from meritnas.data.columns.inputs import TableInputs
from meritnas.data.modalities.inputs import ModalityInputs
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.errors import SpaceError, told
from meritnas.families.built.around import FeatureNetwork, WordsNetwork
from meritnas.families.tabular.embed import EmbedTable
from meritnas.nn.words import Words


@dataclass(frozen=True)
class Columns:
    """What comes into a network that embeds the categories of a table by itself.

    Attributes:
        inputs: the columns.
    """

    inputs: TableInputs


Reads = TableInputs | Columns | Words | ModalityInputs | tuple[int, ...]


def as_reads(inputs: Any) -> Reads:
    """What networks read, from what a user writes: a number means so many columns."""
    if isinstance(inputs, TableInputs | Columns | Words | ModalityInputs):
        return inputs
    if isinstance(inputs, int) and not isinstance(inputs, bool) and inputs > 0:
        return TableInputs(inputs)
    shape = tuple(inputs) if isinstance(inputs, tuple | list) else ()
    if shape and all(isinstance(size, int) and size > 0 for size in shape):
        return shape
    raise SpaceError(
        "inputs are a number of columns, a TableInputs, a shape without the batch such as "
        f"(channels, height, width), or mn.Words(count), got {told(inputs)}"
    )


def told_to_build(reads: Reads) -> Any:
    """What a build function gets: columns with embeddings, a shape, words, shapes by modality."""
    if isinstance(reads, TableInputs):
        return reads.width
    if isinstance(reads, Columns):
        return reads.inputs
    if isinstance(reads, Words):
        return reads.count
    if isinstance(reads, ModalityInputs):
        return _features(reads)
    return reads


def _features(reads: ModalityInputs) -> Mapping[str, Any]:
    return {
        name: shapes[0] if len(shapes) == 1 else shapes for name, shapes in reads.modalities.items()
    }


def around(reads: Reads, network: nn.Module) -> nn.Module:
    """A user's network with what turns encoded rows into what it reads."""
    if isinstance(reads, TableInputs) and reads.cardinalities:
        embed = EmbedTable(reads.numbers, reads.cardinalities, reads.embedding_widths)
        return nn.Sequential(OrderedDict(inputs=embed, network=network))
    if isinstance(reads, Words) and not hasattr(network, "advance"):
        return WordsNetwork(network)
    if isinstance(reads, ModalityInputs):
        layout = RowLayout(tuple(reads.modalities.items()))
        places = []
        for number, shapes in enumerate(reads.modalities.values()):
            places.append((layout.values(number).start, [list(shape) for shape in shapes]))
        return FeatureNetwork(network, dict(zip(reads.modalities, places, strict=True)))
    return network


def example(reads: Reads, rows: int, device: str) -> Tensor:
    """Encoded rows; of words, one each."""
    if isinstance(reads, Words):
        return torch.zeros(rows, 1, dtype=torch.long, device=device)
    if isinstance(reads, Columns):
        return example(reads.inputs, rows, device)
    if isinstance(reads, TableInputs):
        return torch.zeros(rows, reads.numbers + len(reads.cardinalities), device=device)
    if isinstance(reads, ModalityInputs):
        return torch.zeros(rows, RowLayout(tuple(reads.modalities.items())).width, device=device)
    return torch.zeros(rows, *reads, device=device)


def answer_shape(reads: Reads, rows: int, outputs: int) -> tuple[int, ...]:
    """The shape that networks must give."""
    return (rows, 1, outputs) if isinstance(reads, Words) else (rows, outputs)
