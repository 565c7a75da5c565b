"""A small supernet for tests: edges that feed one node, each with maps to choose from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.space.decision import Decision, Option
from meritnas.space.rule import PresentEdges
from meritnas.space.space import HyphenText, Space
from meritnas.strategy.problem import Problem
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe

WIDTH = 4


class EdgeNet(nn.Module):
    """The sum over edges of the gated outputs of tanh maps, then a linear output.

    An option named in `silent` (edge, option) gives zeros.
    """

    def __init__(
        self,
        sizes: Sequence[int],
        seed: int = 0,
        silent: Sequence[tuple[int, int]] = (),
        act: Callable[[Tensor], Tensor] = torch.tanh,
    ) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.maps = nn.ParameterList(
            nn.Parameter(torch.randn(size, WIDTH, WIDTH, generator=generator)) for size in sizes
        )
        self.output = nn.Parameter(torch.randn(1, WIDTH, generator=generator))
        self.silent = set(silent)
        self.act = act
        self.ran: list[tuple[int, int]] = []

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        held = dict(self.named_parameters()) if weights is None else weights
        total = inputs.new_zeros(len(inputs), WIDTH)
        self.ran = []
        for i, gate in enumerate(gates):
            for j in gate.active:
                self.ran.append((i, j))
                if (i, j) in self.silent:
                    continue
                outputs = self.act(inputs @ held[f"maps.{i}"][j].T)
                total = total + (outputs if gate.weights is None else outputs * gate.weights[j])
        return total @ held["output"].T

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        return [self(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        del gates
        return {name: tuple(param.shape) for name, param in self.named_parameters()}

    def remembering(self) -> AbstractContextManager[None]:
        return nullcontext()

    def whole(self) -> Gates:
        return one_path([0] * len(self.maps))

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        raise NotImplementedError


def square(outputs: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
    del weights
    return (outputs[:, 0] - target).square().mean()


def edge_probe(net: EdgeNet, rows: int = 64, batch: int = 16, seed: int = 0) -> Probe:
    generator = torch.Generator().manual_seed(100 + seed)
    dtype = net.output.dtype
    parts = [
        Part(
            torch.randn(rows, WIDTH, generator=generator).to(dtype),
            torch.randn(rows, generator=generator).to(dtype),
        )
        for _ in range(2)
    ]
    streams = [BatchStream(part, batch, k) for k, part in enumerate(parts)]
    return Probe(net, square, *streams, parts[1])


def edge_space(
    sizes: Sequence[int],
    tags: Mapping[tuple[int, int], set[str]] | None = None,
    present: int | None = None,
) -> Space:
    """Edges with options o0, o1, ..., of which `present` must be there, if that is given."""
    found = tags or {}
    decisions = tuple(
        Decision(
            f"edge{i}",
            tuple(Option(f"o{j}", frozenset(found.get((i, j), ()))) for j in range(size)),
        )
        for i, size in enumerate(sizes)
    )
    rule = None if present is None else PresentEdges((len(sizes),), present)
    return Space(decisions, HyphenText(), rule)


def edge_set(space: Space, limit: int | None = None, seed: int = 0) -> FeasibleSet:
    """All architectures, or those whose made-up cost keeps a limit."""
    rng = np.random.default_rng(seed)
    single = tuple(rng.integers(0, 5, size=size) for size in space.sizes)
    terms = chain_terms(0, single, (None,) * (len(single) - 1), "things")
    limits = () if limit is None else (Limit("things", limit),)
    return FeasibleSet(space, {"things": terms}, limits)


def edge_problem(feasible: FeasibleSet, steps: int = 100, seed: int = 0, **more: Any) -> Problem:
    return Problem(feasible, {}, steps, seed, **more)
