"""The networks for tables as a family: layers, and which width each has."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise, product
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.data.columns.inputs import TableInputs, as_table_inputs
from meritnas.devices.placement import placed
from meritnas.errors import SpaceError
from meritnas.families.family import Absence, Running, keep, seeded
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.latency import ROUNDS, Clock, Device, microseconds
from meritnas.families.source import network_source
from meritnas.families.stored_size import BYTES_A_WEIGHT, header_bytes
from meritnas.families.tabular.child import EmbeddingNetwork, LayerNetwork, layer_parts
from meritnas.families.tabular.dropout import PooledDropout
from meritnas.families.tabular.int8_size import int8_size
from meritnas.families.tabular.peak import peak_cost
from meritnas.families.tabular.spec import Tabular
from meritnas.families.tabular.supernet import TabularSupernet, embed_table
from meritnas.families.timed import TimedFamily
from meritnas.families.widths import PAPER_WIDTHS, layer_widths
from meritnas.space.architecture import Architecture
from meritnas.space.decision import Decision, Option
from meritnas.space.space import HyphenText, Space

__all__ = ["PAPER_WIDTHS", "TabularSpace", "TabularSupernet", "tabular_space"]


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
    checked = layer_widths(widths, layers)
    if outputs < 1:
        raise SpaceError(f"at least one output is needed, got outputs={outputs}")
    return TabularSpace(as_table_inputs(inputs), outputs, checked)


@dataclass(frozen=True)
class TabularSpace(TimedFamily):
    """The family behind `tabular_space`; `widths` holds the options of every layer.

    Costs, all of the child:
        params: sum(p.numel()), embeddings included; LayerNorm has no weights.
        params-paper: the same without the embeddings, as TabNAS counts.
        flops: multiply-adds of the linear layers for one row.
        size: bytes of its safetensors file, with an upper bound for the file's header.
        size-int8: the same of its file in int8 (`families.int8_weights`).
        latency: microseconds for one row, where `timed` has measured them.
        peak: bytes of activations that one row takes at once (`families.live_memory`).
    """

    inputs: TableInputs
    outputs: int
    widths: tuple[tuple[int, ...], ...]
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
        return {
            "params": params,
            "params-paper": self._terms(0, bias=True, unit="parameters without embeddings"),
            "flops": self._terms(0, bias=False, unit="multiply-adds"),
            "size": params.scaled(BYTES_A_WEIGHT, self.header_bytes, "kB as stored", 1000),
            INT8_SIZE: int8_size(self),
            **self.timed_costs,
        }

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=partial(peak_cost, self))

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """One encoded row."""
        columns = self.inputs.numbers + len(self.inputs.cardinalities)
        return Running(module, (torch.zeros(1, columns, device=device),))

    @property
    def header_bytes(self) -> int:
        """An upper bound for what a network's file has beside its weights."""
        if self.header is not None:  # of the space that this one is a part of: costs are the same
            return self.header
        widest = "-".join(str(max(widths)) for widths in self.widths)
        with torch.device("meta"):  # only names and shapes matter
            return header_bytes(self._network(self._widths_of(widest)).state_dict(), widest)

    has_plain: ClassVar[bool] = True

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """The largest network whose layers are all equally wide."""
        for width in sorted(set.intersection(*map(set, self.widths)), reverse=True):
            one = self.parse("-".join([str(width)] * len(self.widths)))
            if self.fits(one, limits):
                return (one,)
        return ()

    def timed(self, device: Device = "cpu") -> TabularSpace:
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
        rows = {shape: torch.zeros(1, shape[0]) for shape in modules}
        if self.inputs.cardinalities:
            modules[()] = embed_table(self.inputs)
            columns = self.inputs.numbers + len(self.inputs.cardinalities)
            rows[()] = torch.zeros(1, columns)
        parts = {key: (module, rows[key]) for key, module in modules.items()}
        if isinstance(device, Clock):
            spent = device.times(parts, ROUNDS)
        else:
            moved = {k: (placed(m, device), placed(row, device)) for k, (m, row) in parts.items()}
            spent = microseconds(moved)
        single = [np.zeros(len(widths), dtype=np.int64) for widths in self.widths]
        single[0] += np.array([spent[self.inputs.width, b] for b in self.widths[0]])
        single[-1] += np.array([spent[a,] for a in self.widths[-1]])
        pair = tuple(
            np.array([[spent[a, b] for b in after] for a in before])
            for before, after in pairwise(self.widths)
        )
        terms = chain_terms(spent.get((), 0), tuple(single), pair, "ms a row", 1000)
        return replace(self, latency=terms)

    def _terms(self, constant: int, *, bias: bool, unit: str) -> CostTerms:
        own = 1 if bias else 0
        rows = [np.array(widths, dtype=np.int64) for widths in self.widths]
        single = [np.zeros_like(row) for row in rows]
        single[0] = single[0] + (self.inputs.width + own) * rows[0]
        single[-1] = single[-1] + self.outputs * rows[-1]
        pair = tuple(np.outer(before + own, after) for before, after in pairwise(rows))
        return chain_terms(constant + own * self.outputs, tuple(single), pair, unit)

    def supernet(self, seed: int = 0) -> TabularSupernet:
        """Every layer at its largest width."""
        with seeded(seed):
            return TabularSupernet(self.inputs, self.widths, self.outputs)

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
        widths = self._widths_of(architecture)
        with seeded(seed):
            return self._network(widths, dropout)

    def _network(self, widths: Sequence[int], dropout: float = 0.0) -> nn.Sequential:
        parts: OrderedDict[str, nn.Module] = OrderedDict()
        left_out = partial(PooledDropout, dropout) if dropout else None
        if self.inputs.cardinalities:
            parts["inputs"] = embed_table(self.inputs)
        parts |= layer_parts(self.inputs.width, widths, self.outputs, left_out)
        return nn.Sequential(parts)

    def restrict(self, kept: Sequence[np.ndarray]) -> TabularSpace:
        """The same network with fewer widths to choose from."""
        widths = keep(self.widths, kept)
        latency = self.restricted_latency(kept)
        return replace(self, widths=widths, latency=latency, header=self.header_bytes)

    @property
    def spec(self) -> Tabular:
        """Layers, widths and embeddings as they are here."""
        inputs = self.inputs
        return Tabular(len(self.widths), self.widths, inputs.embedding, inputs.widest)

    @property
    def absence(self) -> Absence:
        """A layer that is taken away is as narrow as can be; there is no network without it."""
        return Absence(0, "the narrowest width")

    def layers(self, architecture: Architecture | str) -> tuple[tuple[str, int], ...]:
        """What comes in, the hidden layers, what comes out: (name, width) of each."""
        widths = self._widths_of(architecture)
        hidden = tuple((f"layer {n}", width) for n, width in enumerate(widths, start=1))
        return (("inputs", self.inputs.width), *hidden, ("outputs", self.outputs))

    def source(self, architecture: Architecture | str) -> str:
        """Layers one after the other, and embeddings if there are categories."""
        inputs, found = self.inputs, self.as_architecture(architecture)
        columns = inputs.numbers + len(inputs.cardinalities)
        about = f"Encoded rows [n, {columns}] -> scores [n, {self.outputs}]."
        sizes: dict[str, Any] = {"widths": self._widths_of(found), "outputs": self.outputs}
        if not inputs.cardinalities:
            return network_source(LayerNetwork, {"inputs": columns, **sizes}, found.text, about)
        read = {
            "numbers": inputs.numbers,
            "cardinalities": list(inputs.cardinalities),
            "embeddings": list(inputs.embedding_widths),
        }
        return network_source(EmbeddingNetwork, {**read, **sizes}, found.text, about)

    def _widths_of(self, architecture: Architecture | str) -> list[int]:
        return [int(name) for name in self.as_architecture(architecture).options]


def _layer_alone(inputs: int, width: int) -> nn.Module:
    norm = nn.LayerNorm(width, elementwise_affine=False)
    return nn.Sequential(nn.Linear(inputs, width), norm, nn.ReLU())
