"""Activations that are alive at once: what is measured on networks, and what families count."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import meritnas
from flat_search import search
from meritnas import (
    InfeasibleError,
    TableInputs,
    darts_space,
    fusion_space,
    nasbench201_space,
    tabular_space,
)
from meritnas.families.convnet.family import convnet_space
from meritnas.families.family import Family
from meritnas.families.live_memory import moments, peak_bytes
from meritnas.families.recurrent.family import recurrent_space

VIEWS = {"image": [(2, 4, 4)], "sound": [(3, 6), (5,)]}
CHANNELS = ((4, 8), (8, 12), (8, 16))
X = torch.zeros(1, 6)


def joined(x: Tensor) -> Tensor:
    return torch.cat([x[:, :2], x], dim=1)


LINEAR = nn.Linear(6, 6)
WIDE = nn.Linear(6, 20)


def twice(x: Tensor) -> Tensor:
    return torch.relu(LINEAR(torch.relu(LINEAR(x))))


def residual(x: Tensor) -> Tensor:
    return torch.relu(x + LINEAR(torch.tanh(LINEAR(x))))


def both_kept(x: Tensor) -> Tensor:
    first, second = LINEAR(x), LINEAR(x)
    return torch.cat([first * second, first, second], dim=1)


def shapes_only(x: Tensor) -> Tensor:
    return torch.zeros_like(LINEAR(x)) + 1.0


def gated(x: Tensor) -> Tensor:
    one, other = WIDE(x).chunk(2, dim=1)
    return one * torch.sigmoid(other)


def weights_alone(x: Tensor) -> Tensor:
    return nn.functional.linear(x, LINEAR.weight @ LINEAR.weight)


def normed(x: Tensor) -> Tensor:
    return nn.functional.layer_norm(WIDE(x), [20]).softmax(1)


@pytest.mark.parametrize(
    ("run", "numbers"),
    [
        (nn.Identity(), 6),
        (twice, 6 + 6),  # activations work where they are
        (residual, 6 + 6 + 6),  # what comes in is kept for the sum, which makes nothing new
        (both_kept, 3 * 6 + 3 * 6),  # the product is new, and all three are read by the last
        (shapes_only, 6 + 6),  # what is only looked at for its shape is not read
        (gated, 20 + 10),  # a view is what it looks at, so the product finds no room
        (weights_alone, 6 + 6),  # a product of weights could have been made before
        (normed, 6 + 20),
        (joined, 6 + 8),
    ],
)
def test_what_is_alive_at_once(run: Callable[[Tensor], Tensor], numbers: int) -> None:
    assert peak_bytes(run, [X]) == 4 * numbers


def test_inputs_that_are_read_again_stay_and_are_not_written_into() -> None:
    x, y = torch.zeros(1, 3), torch.zeros(1, 3)
    assert [one.own for one in moments(torch.add, [x, y])] == [0]
    assert [one.own for one in moments(torch.add, [x, y], kept=[0])] == [0]
    assert moments(torch.add, [x, y], kept=[0, 1]) == [(12, (0, 1))]


def test_torchs_compiler_is_not_loaded() -> None:
    code = """
import sys, torch
from meritnas.families.live_memory import peak_bytes
assert peak_bytes(torch.nn.Linear(3, 2), [torch.zeros(1, 3)]) == 20
assert "torch._dynamo" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


FAMILIES: dict[str, Family] = {
    "tabular": tabular_space(TableInputs(3, (4, 9, 2)), 3, 3, (2, 5, 9, 30)),
    "convnet": convnet_space(3, (3, 9, 8), ("plain3se", "residual3", "inverted3x4se"), CHANNELS),
    "nasbench201": nasbench201_space(3, 4, 1, image=(3, 9, 8)),
    "darts": darts_space(2, 4, 3, image=(3, 9, 11)),
    "darts-unique": darts_space(2, 4, 2, "unique", (1, 8, 8)),
    "fusion": fusion_space(VIEWS, 3, channels=8, length=4, backbones={"image": "conv"}),
    "fusion, new inputs": fusion_space(
        {f"v{k}": [(3 + k,)] for k in range(4)}, 2, 2, 2, 4, 2, shared=True, new_inputs=True
    ),
    "recurrent": recurrent_space(7, 5),
    "recurrent, one predecessor": recurrent_space(3, 4, 4, 1, known_cells=False),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_limits_are_kept_by_all_networks_that_fit_and_by_no_others(name: str) -> None:
    family = FAMILIES[name].useful
    picks = np.array([family.space.picks(family.random(seed)) for seed in range(300)])
    values = np.array([family.cost(family.space.architecture(row), "peak") for row in picks])
    params = family.costs["params"].of(picks)
    for quantile in (0.1, 0.5, 0.9):
        most, weights = int(np.quantile(values, quantile)), int(np.median(params))
        feasible = family.feasible(max_peak_kb=most / 1000)
        assert feasible.exact
        assert (feasible.contains(picks) == (values <= most)).all()
        fits = values <= most
        assert feasible.share() == pytest.approx(fits.mean(), abs=0.15)
        law = feasible.condition([np.zeros(size) for size in family.space.sizes])
        drawn = law.sample(40, np.random.default_rng(0))
        assert (family.maxima["peak"].of(drawn) <= most).all()
        reached = feasible.reachable()
        for row, kept in zip(picks[fits].T, reached, strict=True):
            assert np.isin(row, kept).all()
        if (fits & (params <= weights)).any():
            both = family.feasible(max_peak_kb=most / 1000, max_params=weights)
            assert (both.contains(picks) == (fits & (params <= weights))).all()
            assert both.count() <= feasible.count()
    with pytest.raises(InfeasibleError, match="kB of activations is below the cheapest network"):
        family.feasible(max_peak_kb=0.004)


def test_a_search_keeps_the_limit_and_says_what_is_used(tmp_path: Path) -> None:
    options: dict[str, Any] = {"layers": 2, "widths": (2, 8, 32), "epochs": 2, "threads": 1}
    options |= {"retrain_epochs": 1, "retrain_seeds": 1, "scaling": "standard", "plain": True}
    result = search("wine", max_peak_kb=0.09, max_params=400, out=tmp_path / "run", **options)
    assert 0 < result.summary["costs"]["peak"] <= 90
    assert result.summary["limits"] == {"params": 400, "peak": 90}
    widths = [int(width) for width in result.architecture.text.split("-")]
    assert result.summary["costs"]["peak"] == 4 * max(13 + widths[0], sum(widths), widths[1] + 3)
    assert result.space.cost(result.summary["plain"]["architecture"], "peak") <= 90
    again = meritnas.retrain(tmp_path / "run", architecture="8-8")
    assert again.summary["costs"]["peak"] == 84
    with pytest.raises(meritnas.UsageError, match=r"breaks the run's limits.*peak 160"):
        meritnas.retrain(tmp_path / "run", architecture="8-32")


def test_names_that_search_does_not_know_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'max_parms'"):
        meritnas.search("wine", max_parms=3)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_that_know_it_go_to_other_processes(name: str) -> None:
    family = FAMILIES[name]
    one = family.random(0)
    cost = family.cost(one, "peak")
    assert pickle.loads(pickle.dumps(family)).cost(one, "peak") == cost
