from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import meritnas
from flat_search import search
from meritnas import InfeasibleError, SpaceError, StoreError, TableInputs, tabular_space
from meritnas.families.latency import microseconds, terms_from_json, terms_to_json
from meritnas.families.tabular import family as tabular

WIDTHS = ((2, 8, 32), (4, 16), (2, 64))
INPUTS = TableInputs(2, (3, 6))


def made_up(timed: Any, rounds: int = 0) -> dict[Any, int]:
    """A time for every shape that is different for every shape, instead of a clock's."""
    del rounds
    return {key: _made_up_time(key) for key in timed}


def _made_up_time(shape: tuple[int, ...]) -> int:
    return 1 + sum((31**k) * width for k, width in enumerate(shape, start=1)) % 997


@pytest.mark.parametrize("inputs", [INPUTS, TableInputs(5)])
def test_a_networks_latency_is_the_sum_over_its_layers(
    monkeypatch: pytest.MonkeyPatch, inputs: TableInputs
) -> None:
    monkeypatch.setattr(tabular, "microseconds", made_up)
    family = tabular_space(inputs, 3, 3, WIDTHS).timed()
    for a, b, c in itertools.product(*WIDTHS):
        layers = [(inputs.width, a), (a, b), (b, c), (c,)]
        if inputs.cardinalities:
            layers.append(())
        expected = sum(_made_up_time(shape) for shape in layers)
        assert family.cost(f"{a}-{b}-{c}", "latency") == expected


def test_one_layer_is_timed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "microseconds", made_up)
    family = tabular_space(4, 2, 1, (3, 5)).timed()
    assert family.cost("5", "latency") == _made_up_time((4, 5)) + _made_up_time((5,))


def test_every_shape_is_timed_as_it_is_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[Any, tuple[nn.Module, torch.Tensor]] = {}

    def watched(timed: Any, rounds: int = 0) -> dict[Any, int]:
        seen.update(timed)
        return made_up(timed, rounds)

    monkeypatch.setattr(tabular, "microseconds", watched)
    family = tabular_space(INPUTS, 3, 3, WIDTHS).timed()
    for picks in itertools.product(*WIDTHS):
        child = family.child("-".join(map(str, picks)))
        shapes = {
            (part.in_features, part.out_features)
            for part in child.modules()
            if isinstance(part, nn.Linear)
        }
        timed = {
            (part.in_features, part.out_features)
            for module, _ in seen.values()
            for part in module.modules()
            if isinstance(part, nn.Linear)
        }
        assert shapes <= timed
    for module, row in seen.values():
        assert module(row).shape[0] == 1  # one row each


def test_the_sum_is_about_what_the_whole_network_takes() -> None:
    family = tabular_space(INPUTS, 3, 3, ((4, 128), (4, 128), (4, 128)))
    row = torch.zeros(1, 4)
    for text in ("4-4-4", "128-128-128"):
        ratios = []
        for _ in range(5):  # a busy machine disturbs one or the other
            whole = microseconds({"whole": (family.child(text).eval(), row)})["whole"]
            ratios.append(family.timed().cost(text, "latency") / whole)
        assert 1 / 3 < np.median(ratios) < 3


def test_times_are_whole_microseconds_and_larger_for_more_work() -> None:
    row = torch.zeros(1, 1500)
    small, large = nn.Linear(1500, 2), nn.Linear(1500, 1500)
    threads = torch.get_num_threads()
    found = microseconds({"small": (small, row), "large": (large, row)})
    assert found["large"] > 2 * found["small"] > 0
    assert all(isinstance(time, int) for time in found.values())
    assert torch.get_num_threads() == threads


def test_a_table_of_times_survives_json(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tabular, "microseconds", made_up)
    family = tabular_space(INPUTS, 3, 3, WIDTHS).timed()
    assert family.latency is not None
    terms = terms_from_json(json.loads(json.dumps(terms_to_json(family.latency))))
    picks = np.array(list(itertools.product(range(3), range(2), range(2))))
    assert (terms.of(picks) == family.costs["latency"].of(picks)).all()
    assert (terms.unit, terms.constant) == (family.latency.unit, family.latency.constant)


def test_without_times_there_is_no_such_cost() -> None:
    with pytest.raises(SpaceError, match="no cost 'latency'"):
        tabular_space(3, 1).feasible(max_latency_ms=1.0)


def test_several_limits_at_once_are_what_enumeration_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tabular, "microseconds", made_up)
    family = tabular_space(INPUTS, 2, 3, ((2, 3, 5, 9), (2, 4, 8), (3, 6, 7, 11))).timed()
    every = [family.space.architecture(p) for p in _picks(family)]
    costs = {
        name: np.array([family.cost(one, name) for one in every])
        for name in ("params", "flops", "size", "latency")
    }
    rng = np.random.default_rng(0)
    sizes = set()
    for _ in range(40):
        limits = {name: int(rng.choice(values)) for name, values in costs.items()}
        fits = np.all([costs[name] <= most for name, most in limits.items()], axis=0)
        if not fits.any():
            with pytest.raises(InfeasibleError):
                family.within(limits)
            continue
        feasible = family.feasible(
            max_params=limits["params"],
            max_flops=limits["flops"],
            max_size_kb=limits["size"] / 1000,
            max_latency_ms=limits["latency"] / 1000,
        )
        assert feasible.exact
        assert feasible.count() == fits.sum()
        assert [feasible.admits(one) for one in every] == fits.tolist()
        sizes.add(int(fits.sum()))
    assert len(sizes) > 5


def _picks(family: Any) -> list[tuple[int, ...]]:
    return list(itertools.product(*(range(size) for size in family.space.sizes)))


QUICK: dict[str, Any] = {
    "layers": 2,
    "widths": (2, 8, 32),
    "epochs": 3,
    "retrain_epochs": 2,
    "retrain_seeds": 2,
    "scaling": "standard",
    "threads": 1,
}


class Stop(Exception):
    """Raised by a listener in the middle of a run."""


def test_a_resumed_run_keeps_the_times_it_began_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tabular, "microseconds", made_up)
    family = tabular_space(13, 3, 2, (2, 8, 32)).timed()
    costs = sorted(family.cost(family.space.architecture(p), "latency") for p in _picks(family))
    limit = costs[len(costs) // 2] / 1000
    whole = search("wine", max_latency_ms=limit, out=tmp_path / "whole", **QUICK)
    assert whole.space.cost(whole.architecture, "latency") <= 1000 * limit
    assert whole.summary["costs"]["latency"] == whole.space.cost(whole.architecture, "latency")
    assert whole.summary["measured_latency"] > 0
    assert whole.summary["feasible_count"] == sum(cost <= 1000 * limit for cost in costs)
    for place in ("search", "retrain"):

        def stumble(event: dict[str, Any], place: str = place) -> None:
            if event["kind"] == place and event["step"] == 3:
                raise Stop

        with pytest.raises(Stop):
            search("wine", max_latency_ms=limit, out=tmp_path / place, listen=stumble, **QUICK)
    # On a machine that has become a thousand times slower, which is measured no more.
    monkeypatch.setattr(tabular, "microseconds", lambda timed: dict.fromkeys(timed, 10**6))
    for place in ("search", "retrain"):
        again = meritnas.resume(tmp_path / place)
        assert again.architecture == whole.architecture
        assert again.test == whole.test
        for name in ("latency.json", "events.jsonl", "model.safetensors", "retrain.json"):
            assert (again.run / name).read_bytes() == (whole.run / name).read_bytes()
    (tmp_path / "search" / "latency.json").write_text('{"constant": 1}')
    with pytest.raises(StoreError, match=r"latency\.json is damaged"):
        meritnas.resume(tmp_path / "search")


def test_a_limit_below_the_cheapest_names_it(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"limit of 0\.001 ms a row.*\d-\d+ with 0\.\d+"):
        search("wine", max_latency_ms=0.001, out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()
