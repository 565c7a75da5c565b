"""What runs in a supernet right now: the gates, and the weights in place of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import torch
from torch import Tensor

from meritnas.nn.values import Size, Width, extent
from meritnas.supernet.gates import Gate, Gates

_MOST_PATHS = 4096

Combination = tuple[int, "Tensor | None"]
"""A number of units, and the weight of having so many; None for one."""


class Switch:
    """The gates of the present pass, looked at by all layers of one supernet.

    Attributes:
        gates: of each decision, by name.
        units: the widest active option of each width, by the decision's name.
        held: weights in place of the supernet's own, by their full names; perhaps cut to blocks.
        order: the names of all decisions, as their gates come.
        widths: what each decided width may be, by name.
        one_path: whether one option of each decision runs, with weight one.
    """

    def __init__(self) -> None:
        self.gates: Mapping[str, Gate] = {}
        self.units: Mapping[str, int] = {}
        self.held: Mapping[str, Tensor] = {}
        self.order: tuple[str, ...] = ()
        self.widths: dict[str, tuple[int, ...]] = {}
        self.one_path = False
        self._paths: dict[Gates, tuple[Mapping[str, Gate], Mapping[str, int]]] = {}
        self._steps: dict[tuple[object, ...], Tensor] = {}

    def turn(self, gates: Gates, held: Mapping[str, Tensor]) -> None:
        """Let these gates run, with these weights."""
        self.held = held
        self.one_path = all(len(gate.active) == 1 and gate.weights is None for gate in gates)
        if not self.one_path:
            self.gates = dict(zip(self.order, gates, strict=True))
            self.units = self.active_units(self.gates)
            return
        if gates not in self._paths:  # looked up many times: a path's gates are the same objects
            if len(self._paths) >= _MOST_PATHS:
                self._paths.clear()
            named = dict(zip(self.order, gates, strict=True))
            self._paths[gates] = named, self.active_units(named)
        self.gates, self.units = self._paths[gates]

    def active_units(self, gates: Mapping[str, Gate]) -> dict[str, int]:
        """The widest active option of each width; the narrowest of all where none is active."""
        return {
            name: options[gates[name].active[0]]
            if len(gates[name].active) == 1
            else max((options[k] for k in gates[name].active), default=min(options))
            for name, options in self.widths.items()
        }

    def weighted(self, outputs: Tensor, size: Size, dimension: int) -> Tensor:
        """Outputs, each unit times the weight of the widths that have it.

        What comes from one layer straight into a norm is weighted there and not twice.

        Args:
            outputs: of a layer, as many units as the widest active width.
            size: how many units that layer has.
            dimension: where they are.
        """
        if self.one_path or not isinstance(size, Width) or self.plain(size):
            return outputs
        found = self.times_weights(outputs, size, dimension)
        found.unweighted = outputs  # type: ignore[attr-defined]
        return found

    def times_weights(self, values: Tensor, size: Width, dimension: int) -> Tensor:
        """Values, each unit times the weight of the widths that have it; zeros without any."""
        if self.silent(size):
            return torch.zeros_like(values)
        count = values.shape[dimension]
        if len(size.names) == 1:
            gate = self.gates[size.names[0]]
            assert gate.weights is not None
            steps = self._step_rows(size, gate.active, values)
            weights = gate.weights[list(gate.active)].to(values) @ steps[:, :count]
        else:
            weights = values.new_zeros(count)
            for units, weight in self.combinations(size):
                row = torch.zeros_like(weights)
                row[:units] = 1.0
                weights = weights + (row if weight is None else row * weight.to(values))
        shape = [1] * values.dim()
        shape[dimension] = count
        return values * weights.view(shape)

    def _step_rows(self, size: Width, active: Sequence[int], like: Tensor) -> Tensor:
        """For each active option [its place, units] ones for the units that it has."""
        key = (id(size), tuple(active), like.dtype, like.device)
        if key not in self._steps:
            (name,) = size.names
            ends = [size.at({name: self.widths[name][k]}) for k in active]
            places = torch.arange(max(ends), device=like.device)
            rows = [(places < end).to(like.dtype) for end in ends]
            self._steps[key] = torch.stack(rows)
        return self._steps[key]

    def plain(self, size: Width) -> bool:
        """Whether one width runs, with weight one."""
        return self.one_path or all(
            self.gates[name].weights is None and self.gates[name].active for name in size.names
        )

    def silent(self, size: Width) -> bool:
        """Whether a decision that the size depends on has no active option."""
        return any(not self.gates[name].active for name in size.names)

    def combinations(self, size: Width) -> Iterator[Combination]:
        """All active numbers of units with their weights."""
        gates = [self.gates[name] for name in size.names]
        for options in product(*(gate.active for gate in gates)):
            own = {name: self.widths[name][k] for name, k in zip(size.names, options, strict=True)}
            weights = [
                gate.weights[k]
                for gate, k in zip(gates, options, strict=True)
                if gate.weights is not None
            ]
            yield size.at(own), math.prod(weights[1:], start=weights[0]) if weights else None

    def extent(self, size: Size) -> int:
        """How many units are active."""
        return extent(size, self.units)
