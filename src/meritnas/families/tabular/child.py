"""A network for tables: layers one after the other, perhaps embeddings before them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from torch import nn

from meritnas.families.tabular.embed import EmbedTable


class LayerNetwork(nn.Sequential):
    """A network for tables of numbers; see `layer_parts`."""

    def __init__(self, inputs: int, widths: Sequence[int], outputs: int) -> None:
        super().__init__(layer_parts(inputs, widths, outputs))


class EmbeddingNetwork(nn.Sequential):
    """A network for tables with categories: embeddings, then layers.

    Args:
        numbers: how many number columns come in.
        cardinalities: how many codes each category column has.
        embeddings: the width of each one's embedding.
        widths: of the hidden layers.
        outputs: how many numbers come out.
    """

    def __init__(
        self,
        numbers: int,
        cardinalities: Sequence[int],
        embeddings: Sequence[int],
        widths: Sequence[int],
        outputs: int,
    ) -> None:
        parts = OrderedDict[str, nn.Module](inputs=EmbedTable(numbers, cardinalities, embeddings))
        super().__init__(parts | layer_parts(numbers + sum(embeddings), widths, outputs))


def layer_parts(
    inputs: int,
    widths: Sequence[int],
    outputs: int,
    dropout: Callable[[], nn.Module] | None = None,
) -> OrderedDict[str, nn.Module]:
    """Linear, layer norm and ReLU for each width, and a linear layer at the end, in order.

    Args:
        inputs: how many numbers the first layer reads.
        widths: of the hidden layers.
        outputs: how many numbers come out.
        dropout: makes what leaves out hidden units while training; None for nothing.
    """
    parts: OrderedDict[str, nn.Module] = OrderedDict()
    before = inputs
    for i, width in enumerate(widths, start=1):
        parts[f"linear{i}"] = nn.Linear(before, width)
        parts[f"norm{i}"] = nn.LayerNorm(width, elementwise_affine=False)
        parts[f"relu{i}"] = nn.ReLU()
        if dropout is not None:
            parts[f"dropout{i}"] = dropout()
        before = width
    parts["output"] = nn.Linear(before, outputs)
    return parts
