from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space
from torch import Tensor

from meritnas.clock import Clock
from meritnas.cost.terms import chain_terms
from meritnas.strategy.catalogue import strategy_spec, strategy_specs
from meritnas.strategy.strategy import as_strategy
from meritnas.workers.virtual import VirtualWorkers

SIZES = (3, 2, 3)


class Watched(VirtualWorkers):
    """Workers that note how many of them had something to do."""

    def each(self, work: Callable[[int], Tensor], lengths: Sequence[int]) -> list[Tensor]:
        BUSY.append(sum(length > 0 for length in lengths))
        return super().each(work, lengths)


BUSY: list[int] = []


WITHOUT = {"random", "pc-darts"}
"""Random search learns nothing; partial channels are for cells, and otherwise it is DARTS."""


@pytest.mark.parametrize("name", sorted(set(strategy_specs()) - WITHOUT))
def test_what_a_strategy_learns_from_is_shared_out(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("meritnas.supernet.probe.rows_at_once", lambda _: 16)  # four pieces
    single = tuple(np.arange(size) for size in SIZES)
    costs = {"things": chain_terms(0, single, (None, None), "things")}
    feasible = edge_set(edge_space(SIZES), limit=10)
    problem = replace(edge_problem(feasible, 20), costs=costs, workers=2)
    strategy = as_strategy(strategy_spec(name).make(problem), name)
    probe = edge_probe(EdgeNet(SIZES))
    probe.workers = Watched(2)
    BUSY.clear()
    phase = strategy.turns.phase
    for step in range(3):
        strategy.sample(Clock(step, 20, "joint", step, 20))
        strategy.update(probe, Clock(step, 20, phase, step, 20))
    strategy.derive(probe)
    assert 2 in BUSY


def test_the_page_says_of_every_strategy_what_is_shared_out() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scale.md").read_text(encoding="utf-8")
    table = page.split("What is shared out", 1)[1].split("\n## ", 1)[0]
    named = set(re.findall(r"`([a-z0-9-]+)`", "\n".join(re.findall(r"^\|.*\|$", table, re.M))))
    assert set(strategy_specs()) <= named
