from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import meritnas
from flat_search import search
from meritnas import darts_space, nasbench201_space, tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.engine import candidates
from meritnas.engine.candidates import (
    Candidate,
    around,
    judge,
    most_liked,
    propose,
    propose_widely,
)
from meritnas.families.convnet.family import convnet_space
from meritnas.space.architecture import Architecture
from meritnas.supernet.probe import Probe
from meritnas.witness.panel import panel_of

FAMILY = tabular_space(3, 1, 2, (2, 4, 8))
FEASIBLE = FAMILY.feasible(max_params=60)
QUICK: dict[str, Any] = {
    **{"layers": 3, "widths": (2, 4, 8, 16), "epochs": 3, "batch_size": 16, "threads": 1},
    **{"retrain_epochs": 2, "retrain_seeds": 1, "scaling": "standard", "max_params": 300},
}


class Says:
    """A witness who has made up its mind."""

    def __init__(self, name: str, values: dict[str, float]) -> None:
        self.name = name
        self._values = values

    def judge(self, picks: np.ndarray) -> np.ndarray:
        texts = [FAMILY.space.architecture(row).text for row in picks]
        return np.array([self._values[text] for text in texts])


def entropy(outputs: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
    del weights
    return torch.nn.functional.cross_entropy(outputs, target)


def test_proposed_are_the_own_choices_and_then_the_most_probable() -> None:
    beliefs = [np.array([0.2, 0.5, 0.3]), np.array([0.0, 0.6, 0.4])]
    own = [FAMILY.parse("2-2"), FAMILY.parse("4-4")]
    found = propose(own, beliefs, FEASIBLE, 5)
    assert found[:2] == own
    assert all(map(FEASIBLE.admits, found))
    # 4-8, 8-4 and 8-8 are more probable and do not fit; 4-2 has no chance at all, and is the last.
    assert [one.text for one in found[2:]] == ["2-4", "2-8", "4-2"]
    assert not FEASIBLE.admits(FAMILY.parse("8-4"))


@pytest.mark.parametrize("count", [1, 2, 4, 100])
def test_proposed_are_as_many_as_asked_for_but_never_without_an_own_choice(count: int) -> None:
    own = FEASIBLE.k_best([np.arange(3.0), np.arange(3.0)], 2)
    beliefs = [np.full(3, 1 / 3)] * 2
    found = propose(own, beliefs, FEASIBLE, count)
    assert found[:2] == own
    assert len(set(found)) == len(found) == min(max(2, count), FEASIBLE.count())


def test_votes_decide_and_everything_said_is_kept() -> None:
    texts = ["2-2", "2-4", "4-2"]
    first = Says("first", {"2-2": 1.0, "2-4": 2.0, "4-2": float("nan")})
    second = Says("second", {"2-2": 5.0, "2-4": 4.0, "4-2": 6.0})
    proposed = [FAMILY.parse(text) for text in texts]
    found = judge(proposed, FEASIBLE, (first, second), {"first": 1.0, "second": 0.25})
    assert [one.architecture.text for one in found] == ["2-4", "2-2", "4-2"]
    assert [one.votes for one in found] == [1.75, 2.5, 3.25]
    assert found[0].said == {"first": 2.0, "second": 4.0}
    assert found[2].to_json() == {
        "architecture": "4-2",
        "said": {"first": None, "second": 6.0},
        "votes": 3.25,
    }


def test_a_longer_list_is_first_judged_by_those_who_need_no_shared_weights(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    family = nasbench201_space(3, 4, 1, image=(3, 8, 8))
    part = Part(torch.randn(24, 3, 8, 8), torch.arange(24) % 3, None)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    probe = Probe(family.supernet(0), entropy, *streams, part)
    panel = panel_of(family, probe, part, entropy, 0)
    feasible = family.feasible(max_params=8_000)
    seen: list[int] = []
    losses = Probe.common_losses

    def counted(self: Probe, picks: np.ndarray, rows: int) -> np.ndarray:
        seen.append(len(picks))
        return losses(self, picks, rows)

    monkeypatch.setattr(Probe, "common_losses", counted)
    beliefs = [np.full(size, 1 / size) for size in feasible.space.sizes]
    own = feasible.k_best([np.arange(size) * 0.1 for size in feasible.space.sizes], 1)
    found = most_liked(own, beliefs, feasible, panel, 3)
    assert seen == [3]
    assert len(found) == 3
    assert own[0] in [each.architecture for each in found]
    # Those beside it are the two that the others like best of twelve.
    many = propose_widely(own, beliefs, feasible, 12, np.random.default_rng([0, 4]))
    assert len(set(many)) == 12
    assert many[:6] == propose(own, beliefs, feasible, 6)
    assert all(map(feasible.admits, many))
    first = judge(many, feasible, panel.without_weights(feasible, beliefs), panel.weights)
    liked = [each.architecture for each in first if each.architecture != own[0]]
    assert {each.architecture for each in found} == {own[0], *liked[:2]}


def test_where_all_cells_differ_the_order_is_that_of_beliefs() -> None:
    family = darts_space(3, 4, 2, "unique", image=(3, 8, 8))
    part = Part(torch.randn(24, 3, 8, 8), torch.arange(24) % 3, None)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    probe = Probe(family.supernet(0), entropy, *streams, part)
    panel = panel_of(family, probe, part, entropy, 0)
    feasible = family.feasible()
    rng = np.random.default_rng(0)
    beliefs = [rng.dirichlet(np.ones(size)) for size in feasible.space.sizes]
    likely = feasible.k_best([np.log(row) for row in beliefs], 4)
    found = most_liked([likely[2]], beliefs, feasible, panel, 4)
    assert [each.architecture for each in found] == likely


def test_around_known_networks_are_all_feasible_ones_that_differ_in_one_decision() -> None:
    known = FAMILY.parse("2-4")
    found = around([known], FEASIBLE)
    everyone = map(FAMILY.parse, ("2-2", "2-4", "2-8", "4-2", "4-4", "4-8", "8-2", "8-4", "8-8"))
    expected = {
        one
        for one in everyone
        if FEASIBLE.admits(one)
        and sum(a != b for a, b in zip(one.options, known.options, strict=True)) <= 1
    }
    assert found[0] == known
    assert set(found) == expected
    assert len(found) == len(expected) > 2
    assert around([Architecture(("3", "4"), "3-4")], FEASIBLE) == []  # no member


def test_the_second_half_of_the_long_list_is_near_plain_networks() -> None:
    family = convnet_space(10, (1, 8, 8), ("plain3", "residual3"), ((8, 16, 32), (16, 32, 64)))
    feasible = family.feasible(max_params=20_000)
    plain = family.plain({"params": 20_000})
    near = around(plain, feasible)
    assert set(plain) <= set(near)
    assert all(map(feasible.admits, near))
    beliefs = [np.full(size, 1 / size) for size in feasible.space.sizes]
    own = feasible.k_best([np.arange(size) * 0.1 for size in feasible.space.sizes], 1)
    rng = np.random.default_rng(0)
    found = propose_widely(own, beliefs, feasible, 16, rng, near)
    assert len(set(found)) == len(found) == 16
    assert found[:8] == propose(own, beliefs, feasible, 8)
    assert len(set(near) - set(found[:8])) >= 8
    assert set(found[8:]) <= set(near)
    alone = propose_widely(own, beliefs, feasible, 16, np.random.default_rng(0))
    assert not set(alone[8:]) <= set(near)


@pytest.mark.parametrize("strategy", ["tabnas", "random", "darts", "manas"])
def test_every_strategy_ends_with_judged_candidates_for_each_limit(
    tmp_path: Path, strategy: str
) -> None:
    run = tmp_path / "run"
    result = search("wine", out=run, strategy=strategy, candidates=7, pareto=True, **QUICK)
    found = json.loads((run / "architecture.json").read_text())
    for kept in (found, *found["ladder"]):
        best = kept["candidates"]
        assert len(best) >= 7 or kept is not found
        votes = [each["votes"] for each in best]
        assert votes == sorted(votes)
        assert all(set(each["said"]) == {"one-shot", "size"} for each in best)
        assert best[0]["architecture"] == kept.get("architecture", found["ranked"][0])
        limit = kept.get("limit", 300)
        assert all(result.space.cost(each["architecture"]) <= limit for each in best)
    assert found["ranked"] == [each["architecture"] for each in found["candidates"]]


def test_one_candidate_leaves_the_choice_to_the_strategy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judging: list[int] = []
    monkeypatch.setattr(Probe, "common_losses", lambda *_: judging.append(1))
    search("wine", out=tmp_path / "run", strategy="darts", candidates=1, **QUICK)
    found = json.loads((tmp_path / "run" / "architecture.json").read_text())
    assert judging == []
    assert len(found["ranked"]) == 1
    assert found["candidates"][0]["said"] == {}


def test_a_search_that_is_killed_while_candidates_are_judged_repeats_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {**QUICK, "strategy": "tabnas", "pareto": True}
    search("wine", out=tmp_path / "undisturbed", **asked)
    calls = []

    def stumble(*given: Any, **others: Any) -> list[Candidate]:
        calls.append(1)
        if len(calls) == 2:  # of a smaller limit
            raise KeyboardInterrupt
        return judge(*given, **others)

    monkeypatch.setattr(candidates, "judge", stumble)
    with pytest.raises(KeyboardInterrupt):
        search("wine", out=tmp_path / "run", **asked)
    assert not (tmp_path / "run" / "architecture.json").exists()
    meritnas.resume(tmp_path / "run")
    found, expected = (
        json.loads((tmp_path / name / "architecture.json").read_text())
        for name in ("run", "undisturbed")
    )
    for timed in ("seconds", "phase_seconds"):
        del found[timed], expected[timed]
    assert found == expected
