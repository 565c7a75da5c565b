"""The shared weights of networks for tables: the widest one, used in leading blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial

from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.data.columns.inputs import TableInputs
from meritnas.families.tabular.embed import EmbedTable
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.memory import FORGETFUL, Memory, remembering
from meritnas.supernet.supernet import leading_block
from meritnas.supernet.width import WidthLayer, activate, widest, width_units


class TabularSupernet(nn.Module):
    """The shared weights of a `TabularSpace`.

    Args:
        inputs: what columns there are.
        layers: the widths that each layer chooses from.
        outputs: how many numbers come out.
    """

    def __init__(
        self, inputs: TableInputs, layers: tuple[tuple[int, ...], ...], outputs: int
    ) -> None:
        super().__init__()
        self.embed = embed_table(inputs) if inputs.cardinalities else None
        self.layers = nn.ModuleList()
        before = inputs.width
        for widths in layers:
            self.layers.append(WidthLayer(before, widths))
            before = max(widths)
        self.output = nn.Linear(before, outputs)
        self._inputs = inputs.width
        self._widths = layers
        self.memory: Memory = FORGETFUL

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """[n, columns] -> [n, outputs] of the network that the gates select or mix."""
        held = self._own_weights() if weights is None else weights
        units = self.memory.recall(self, (inputs,), partial(self._embedded, inputs, held))
        for i, (widths, gate) in enumerate(zip(self._widths, gates, strict=True)):
            run = partial(width_units, units, gate, widths, *_layer(held, i))
            units = self.memory.recall((self, i), (units, gate), run)
        return _output(units, held)

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Outputs [n, outputs] of several architectures on one batch.

        The first layer's scores are computed once, for the widest of them; architectures that
        begin with the same widths share what these give.
        """
        held = self._own_weights()
        weight, bias = _layer(held, 0)
        most = max((self._widths[0][row[0]] for row in picks), default=1)
        scores = F.linear(self._embedded(inputs, held), weight[:most], bias[:most])
        known: dict[tuple[int, ...], Tensor] = {}
        for row in picks:
            for depth in range(1, len(row) + 1):
                begin = tuple(row[:depth])
                if begin in known:
                    continue
                if depth == 1:
                    known[begin] = activate(scores, self._widths[0][row[0]])
                else:
                    (gate,) = one_path(begin[-1:])
                    widths, layer = self._widths[depth - 1], _layer(held, depth - 1)
                    known[begin] = width_units(known[begin[:-1]], gate, widths, *layer)
        return [_output(known[tuple(row)], held) for row in picks]

    def _embedded(self, inputs: Tensor, held: Mapping[str, Tensor]) -> Tensor:
        if self.embed is None:
            return inputs
        tables = [held[f"embed.tables.{i}"] for i in range(len(self.embed.tables))]
        found: Tensor = self.embed(inputs, tables)
        return found

    def _own_weights(self) -> Mapping[str, Tensor]:
        return dict(self.named_parameters())

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        """Embeddings and output bias whole; of the layers what the active widths span."""
        blocks: dict[str, tuple[int, ...]] = {}
        if self.embed is not None:
            for i, table in enumerate(self.embed.tables):
                blocks[f"embed.tables.{i}"] = tuple(table.shape)
        before = self._inputs
        for i, (widths, gate) in enumerate(zip(self._widths, gates, strict=True)):
            width = widest(widths, gate)
            blocks[f"layers.{i}.linear.weight"] = (width, before)
            blocks[f"layers.{i}.linear.bias"] = (width,)
            before = width
        blocks["output.weight"] = (self.output.out_features, before)
        blocks["output.bias"] = (self.output.out_features,)
        return blocks

    def remembering(self) -> AbstractContextManager[None]:
        """What a layer gave is kept until it or one before it changes."""
        return remembering(self)

    def whole(self) -> Gates:
        """Every layer at its largest width."""
        return one_path([len(widths) - 1 for widths in self._widths])

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """The weights of one architecture, named as in its child."""
        weights: dict[str, Tensor] = {}
        if self.embed is not None:
            for i, table in enumerate(self.embed.tables):
                weights[f"inputs.tables.{i}"] = table.detach().clone()
        before = self._inputs
        for i, (layer, pick) in enumerate(zip(self._width_layers(), picks, strict=True), start=1):
            width = layer.widths[pick]
            weight, bias = layer.linear.weight.detach(), layer.linear.bias.detach()
            weights[f"linear{i}.weight"] = weight[:width, :before].clone()
            weights[f"linear{i}.bias"] = bias[:width].clone()
            before = width
        weights["output.weight"] = self.output.weight.detach()[:, :before].clone()
        weights["output.bias"] = self.output.bias.detach().clone()
        return weights

    def _width_layers(self) -> list[WidthLayer]:
        return [layer for layer in self.layers if isinstance(layer, WidthLayer)]


def _layer(held: Mapping[str, Tensor], i: int) -> tuple[Tensor, Tensor]:
    return held[f"layers.{i}.linear.weight"], held[f"layers.{i}.linear.bias"]


def _output(units: Tensor, held: Mapping[str, Tensor]) -> Tensor:
    weight = held["output.weight"]
    block = leading_block(weight, (weight.shape[0], units.shape[1]))
    return F.linear(units, block, held["output.bias"])


def embed_table(inputs: TableInputs) -> EmbedTable:
    """The embeddings of these columns."""
    return EmbedTable(inputs.numbers, inputs.cardinalities, inputs.embedding_widths)
