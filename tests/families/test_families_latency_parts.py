"""Latencies of networks but for tables: sums over parts that are timed once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import meritnas
from flat_search import search
from meritnas import darts_space, fusion_space, nasbench201_space, recurrent_space
from meritnas.errors import StoreError
from meritnas.families import latency
from meritnas.families.convnet.family import convnet_space
from meritnas.families.counting import parameters
from meritnas.families.family import Family
from meritnas.families.fusion.joint import joint_space
from unchecked import unchecked_copy

FAMILIES: dict[str, Family] = {
    "convnet": convnet_space(10, (1, 16, 16), ("plain3", "residual5", "inverted3x4se")),
    "nasbench201": nasbench201_space(10, 4, 2, image=(3, 8, 8)),
    "darts": darts_space(10, 4, 6, image=(3, 8, 8)),
    "darts-unique": darts_space(10, 4, 3, "unique", image=(3, 8, 8)),
    "recurrent": recurrent_space(30, 8),
    "recurrent, one predecessor": recurrent_space(30, 8, 4, 1, known_cells=False),
    "fusion": fusion_space(
        {"image": [(2, 4, 4)], "sound": [(3, 6), (5,)]}, 3, 2, 2, 8, 4, backbones={"image": "conv"}
    ),
}
FAMILIES["fusion and heads"] = joint_space(
    fusion_space({"image": [(1, 8, 8)], "sound": [(5,)]}, 3, backbones={"image": "conv"}), (3, 6)
)


def weights_for_a_clock(timed: Any, rounds: int = 0) -> dict[Any, int]:
    """As many microseconds as a part has weights."""
    del rounds
    for module, given in timed.values():
        assert not module.training
        module(*((given,) if isinstance(given, torch.Tensor) else given))  # it reads that
    return {key: parameters(module) for key, (module, _) in timed.items()}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_weight_is_in_one_part(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "microseconds", weights_for_a_clock)
    family = FAMILIES[name].timed()
    for seed in range(12):
        one = family.random(seed)
        assert family.cost(one, "latency") == family.cost(one, "params")


@pytest.mark.parametrize("name", FAMILIES)
def test_a_limit_is_kept_and_fewer_options_cost_the_same(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(latency, "microseconds", weights_for_a_clock)
    family = FAMILIES[name].timed().useful
    limit = int(np.median([family.cost(family.random(seed), "latency") for seed in range(9)]))
    feasible = family.within({"latency": limit})
    uniform = [np.zeros(size) for size in feasible.space.sizes]
    assert all(family.cost(one, "latency") <= limit for one in feasible.sample(uniform, 20, 0))
    kept = [np.arange(size)[: max(1, size - 1)] for size in family.space.sizes]
    if name == "convnet":
        fewer = family.restrict(kept)
        one = fewer.random(0)
        assert fewer.cost(one, "latency") == family.cost(one, "latency")


def test_the_sum_is_about_what_the_whole_network_takes() -> None:
    family = convnet_space(10, (1, 16, 16), ("plain3", "residual3"), ((16, 32), (32, 64)))
    timed = family.timed()
    one = timed.parse("16x16 residual3(32x3) plain3(64x2)")
    whole = latency.microseconds_on(
        {"whole": (timed.child(one), torch.zeros(1, 1, 16, 16))}, "cpu", 20
    )["whole"]
    assert 0.3 * whole < timed.cost(one, "latency") < 3 * whole


def test_a_run_keeps_what_was_measured(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        **{"space": "nasbench201", "channels": 4, "cells": 1, "supernet_channels": 4},
        **{"supernet_cells": 1, "epochs": 1, "retrain_epochs": 1, "retrain_seeds": 1},
        **{"finalists": 1, "candidates": 1, "threads": 1, "plain": True},
    }
    result = search("digits", out=tmp_path / "run", max_latency_ms=50.0, **options)
    assert 0 < result.summary["costs"]["latency"] <= 50_000
    assert result.summary["measured_latency"] > 0
    plain = result.summary["plain"]["architecture"]
    assert plain.startswith("8x8 ")
    assert 0 < result.space.cost(plain, "latency") <= 50_000
    kept = json.loads((tmp_path / "run" / "latency.json").read_text())
    assert kept["unit"] == "ms an image"
    (tmp_path / "run" / "result.json").unlink()
    assert meritnas.resume(tmp_path / "run").summary["costs"] == result.summary["costs"]
    fewer = unchecked_copy(tmp_path / "run", tmp_path / "other")
    (fewer / "latency.json").write_text(json.dumps({**kept, "sizes": [*kept["sizes"], 2]}))
    with pytest.raises(StoreError, match="is about other decisions than this version"):
        meritnas.resume(fewer)
