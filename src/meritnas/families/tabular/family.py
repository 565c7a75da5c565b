from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise, product

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.cost.terms import CostTerms
from meritnas.data.tables.inputs import TableInputs, as_table_inputs
from meritnas.errors import SpaceError
from meritnas.families.family import Family, keep, seeded
from meritnas.families.latency import microseconds
from meritnas.families.stored_size import BYTES_A_WEIGHT, header_bytes
from meritnas.families.tabular.dropout import PooledDropout
from meritnas.families.tabular.embed import EmbedTable
from meritnas.families.tabular.widths import check_widths
from meritnas.settings.settings import PAPER_WIDTHS
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.memory import FORGETFUL, Memory, remembering
from meritnas.supernet.supernet import leading_block
from meritnas.supernet.width import WidthLayer, activate, widest, width_units

__all__ = ["PAPER_WIDTHS", "TabularSpace", "tabular_space"]


def tabular_space(
    inputs: int | TableInputs,
    outputs: int,
    layers: int = 3,
    widths: Sequence[int] | Sequence[Sequence[int]] = PAPER_WIDTHS,
) -> TabularSpace:
    """Feed-forward networks for tables: which width for each hidden layer?

    Args:
        inputs: the number of input numbers, or what columns there are.
        outputs: the number of outputs; one for two classes or a number to predict.
        layers: the number of hidden layers.
        widths: the widths to choose from, the same for every layer or a list for each layer.
    """
    if layers < 1:
        raise SpaceError(f"at least one hidden layer is needed, got layers={layers}")
    if outputs < 1:
        raise SpaceError(f"at least one output is needed, got outputs={outputs}")
    listed = [np.atleast_1d(entry).tolist() for entry in widths]
    if any(np.ndim(entry) for entry in widths):
        if len(listed) != layers:
            raise SpaceError(
                f"a list of widths for each of {layers} layers is needed, got {len(listed)} lists"
            )
        checked = tuple(check_widths(row) for row in listed)
    else:
        checked = (check_widths([entry[0] for entry in listed]),) * layers
    return TabularSpace(as_table_inputs(inputs), outputs, checked)


@dataclass(frozen=True)
class TabularSpace(Family):
    """The family behind `tabular_space`; `widths` holds the options of every layer.

    Costs, all of the child:
        params: sum(p.numel()), embeddings included; LayerNorm has no weights.
        params-paper: the same without the embeddings, as TabNAS counts.
        flops: multiply-adds of the linear layers for one row.
        size: bytes of its safetensors file, with an upper bound for the file's header.
        latency: microseconds for one row, where `timed` has measured them.
    """

    inputs: TableInputs
    outputs: int
    widths: tuple[tuple[int, ...], ...]
    latency: CostTerms | None = field(default=None, compare=False)
    header: int | None = field(default=None, compare=False, repr=False)

    @cached_property
    def space(self) -> Space:
        """One decision for each hidden layer: its width."""
        return Space(
            tuple(
                Decision(f"layer{i + 1}", tuple(Option(str(width)) for width in widths))
                for i, widths in enumerate(self.widths)
            ),
            HyphenText(),
        )

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Products of neighbouring widths, summed."""
        params = self._terms(self.inputs.embedding_params, bias=True, unit="parameters")
        costs = {
            "params": params,
            "params-paper": self._terms(0, bias=True, unit="parameters without embeddings"),
            "flops": self._terms(0, bias=False, unit="multiply-adds"),
            "size": params.scaled(BYTES_A_WEIGHT, self.header_bytes, "kB as stored", 1000),
        }
        if self.latency is not None:
            costs["latency"] = self.latency
        return costs

    @property
    def header_bytes(self) -> int:
        """An upper bound for what a network's file has beside its weights."""
        if self.header is not None:  # of the space that this one is a part of: costs are the same
            return self.header
        widest = "-".join(str(max(widths)) for widths in self.widths)
        with torch.device("meta"):  # only names and shapes matter
            return header_bytes(self.child(widest).state_dict(), widest)

    def timed(self, device: str = "cpu") -> TabularSpace:
        """The same space with a latency for every network, measured here and now.

        Every shape that a layer can have is timed once, for one row; a network's latency is the
        sum over its layers.
        """
        befores = ((self.inputs.width,), *self.widths[:-1])
        modules: dict[tuple[int, ...], nn.Module] = {
            shape: _layer_alone(*shape)
            for before, after in zip(befores, self.widths, strict=True)
            for shape in product(before, after)
        }
        modules |= {(width,): nn.Linear(width, self.outputs) for width in self.widths[-1]}
        # The layer's first number is what comes in; a network without embeddings has no () part.
        rows = {shape: torch.zeros(1, shape[0], device=device) for shape in modules}
        if self.inputs.cardinalities:
            modules[()] = EmbedTable(self.inputs)
            columns = self.inputs.numbers + len(self.inputs.cardinalities)
            rows[()] = torch.zeros(1, columns, device=device)
        spent = microseconds({key: (m.to(device), rows[key]) for key, m in modules.items()})
        single = [np.zeros(len(widths), dtype=np.int64) for widths in self.widths]
        single[0] += np.array([spent[self.inputs.width, b] for b in self.widths[0]])
        single[-1] += np.array([spent[a,] for a in self.widths[-1]])
        pair = tuple(
            np.array([[spent[a, b] for b in after] for a in before])
            for before, after in pairwise(self.widths)
        )
        terms = CostTerms(spent.get((), 0), tuple(single), pair, "ms a row", 1000)
        return replace(self, latency=terms)

    def with_latency(self, latency: CostTerms) -> TabularSpace:
        """The same space with latencies measured earlier."""
        return replace(self, latency=latency)

    def _terms(self, constant: int, *, bias: bool, unit: str) -> CostTerms:
        own = 1 if bias else 0
        rows = [np.array(widths, dtype=np.int64) for widths in self.widths]
        single = [np.zeros_like(row) for row in rows]
        single[0] = single[0] + (self.inputs.width + own) * rows[0]
        single[-1] = single[-1] + self.outputs * rows[-1]
        pair = tuple(np.outer(before + own, after) for before, after in pairwise(rows))
        return CostTerms(constant + own * self.outputs, tuple(single), pair, unit)

    def supernet(self, seed: int = 0) -> TabularSupernet:
        """Every layer at its largest width."""
        with seeded(seed):
            return TabularSupernet(self)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Sequential:
        """Torch's own modules in a row; with category columns, an `EmbedTable` before them."""
        if auxiliary:
            raise SpaceError("networks for tables have no auxiliary head; set auxiliary to 0")
        widths = [int(name) for name in self.as_architecture(architecture).options]
        modules: OrderedDict[str, nn.Module] = OrderedDict()
        with seeded(seed):
            if self.inputs.cardinalities:
                modules["inputs"] = EmbedTable(self.inputs)
            before = self.inputs.width
            for i, width in enumerate(widths, start=1):
                modules[f"linear{i}"] = nn.Linear(before, width)
                modules[f"norm{i}"] = nn.LayerNorm(width, elementwise_affine=False)
                modules[f"relu{i}"] = nn.ReLU()
                if dropout:
                    modules[f"dropout{i}"] = PooledDropout(dropout)
                before = width
            modules["output"] = nn.Linear(before, self.outputs)
        return nn.Sequential(modules)

    def restrict(self, kept: Sequence[np.ndarray]) -> TabularSpace:
        """The same network with fewer widths to choose from."""
        widths = keep(self.widths, kept)
        latency = self.latency.restrict(kept) if self.latency else None
        return replace(self, widths=widths, latency=latency, header=self.header_bytes)


class TabularSupernet(nn.Module):
    """The shared weights of a `TabularSpace`: its widest network, used in leading blocks."""

    def __init__(self, family: TabularSpace) -> None:
        super().__init__()
        self.embed = EmbedTable(family.inputs) if family.inputs.cardinalities else None
        self.layers = nn.ModuleList()
        before = family.inputs.width
        for widths in family.widths:
            self.layers.append(WidthLayer(before, widths))
            before = max(widths)
        self.output = nn.Linear(before, family.outputs)
        self._inputs = family.inputs.width
        self._widths = family.widths
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


def _layer_alone(inputs: int, width: int) -> nn.Module:
    norm = nn.LayerNorm(width, elementwise_affine=False)
    return nn.Sequential(nn.Linear(inputs, width), norm, nn.ReLU())


def _layer(held: Mapping[str, Tensor], i: int) -> tuple[Tensor, Tensor]:
    return held[f"layers.{i}.linear.weight"], held[f"layers.{i}.linear.bias"]


def _output(units: Tensor, held: Mapping[str, Tensor]) -> Tensor:
    weight = held["output.weight"]
    block = leading_block(weight, (weight.shape[0], units.shape[1]))
    return F.linear(units, block, held["output.bias"])
