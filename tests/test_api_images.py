from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import meritnas
from flat_search import search, train
from meritnas import DataError, UsageError, darts_space, nasbench201_space
from meritnas.families.nasbench201.child import CellNetwork
from meritnas.families.presets.images import image_recipe
from meritnas.prediction.predictor import load_predictor
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore

TINY: dict[str, Any] = {
    "space": "nasbench201",
    "channels": 4,
    "cells": 1,
    "supernet_channels": 4,
    "supernet_cells": 1,
    "epochs": 2,
    "retrain_epochs": 1,
    "batch_size": 16,
    "threads": 1,
}
LENGTH = {name: TINY[name] for name in ("epochs", "retrain_epochs", "batch_size", "threads")}
CELL = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


def arrays(shade: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Noise with a bright left or right half, which is the class."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 120, (90, 8, 8), dtype=np.uint8)
    labels = np.array(["left", "right", "none"] * 30)
    images[labels == "left", :, :4] += 120
    images[labels == "right", :, 4:] += 120
    images[0, 0, 0] = shade
    return images, labels


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> meritnas.SearchResult:
    """A search on arrays under a limit, trained twice; not to be changed."""
    torch.set_num_threads(1)
    out = tmp_path_factory.mktemp("arrays") / "run"
    return search(arrays(), max_params=9_000, retrain_seeds=2, out=out, **TINY)


def kept(run: Path) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads((run / "config.json").read_text())["settings"]
    return settings


def test_a_search_on_arrays_keeps_its_limit(found: meritnas.SearchResult) -> None:
    assert found.summary["params"] <= 9_000
    assert sum(p.numel() for p in found.module.parameters()) == found.summary["params"]
    assert found.summary["space"] == "nasbench201"
    assert found.summary["strategy"] == "manas-ls"
    assert set(found.test) == {"accuracy", "balanced_error", "log_loss"}
    kept = json.loads((found.run / "architecture.json").read_text())["candidates"]
    judged = [one["architecture"] for one in kept]
    assert {found.history[-1]["leader"], str(found.architecture)} <= set(judged)
    assert set(kept[0]["said"]) == {"one-shot", "beliefs", "size", "patterns", "gradients"}
    few, many = found.summary["feasible_count"], found.summary["space_count"]
    assert found.summary["feasible_share"] == few / many < 1
    assert many == nasbench201_space().useful.space.count() < 5**6


def test_the_best_of_several_trainings_is_the_one_with_the_smallest_validation_loss(
    found: meritnas.SearchResult,
) -> None:
    every = json.loads((found.run / "retrain.json").read_text())["results"]
    results = [one for one in every if one["architecture"] == str(found.architecture)]
    assert [one["seed"] for one in results] == [0, 1]
    best = min(results, key=lambda one: one["valid_loss"])
    assert found.summary["test_best"] == best["test"]
    mean = np.mean([one["test"]["accuracy"] for one in results])
    assert found.test["accuracy"] == pytest.approx(mean)


def test_answers_for_arrays_and_for_folders(found: meritnas.SearchResult, tmp_path: Path) -> None:
    images, labels = arrays()
    answers = found.predict(images)
    assert answers.shape == labels.shape
    assert set(answers) <= set(labels)
    for number in range(5):
        Image.fromarray(images[number]).save(tmp_path / f"{number}.png")
    assert found.predict(tmp_path).tolist() == answers[:5].tolist()
    assert found.predict(tmp_path / "3.png").tolist() == answers[3:4].tolist()
    with pytest.raises(UsageError, match="give it images, not a table"):
        found.predict(pd.DataFrame({"a": [1]}))


def test_the_same_seed_gives_the_same_result(found: meritnas.SearchResult, tmp_path: Path) -> None:
    again, other = (
        search(arrays(), max_params=9_000, retrain_seeds=2, seed=seed, out=tmp_path / name, **TINY)
        for seed, name in ((0, "again"), (1, "other"))
    )
    for name in ("events.jsonl", "model.safetensors", "retrain.json"):
        assert (again.run / name).read_bytes() == (found.run / name).read_bytes()
    assert (other.run / "events.jsonl").read_bytes() != (found.run / "events.jsonl").read_bytes()


class Stop(Exception):
    """Raised by a listener in the middle of a run."""


def test_a_stopped_run_on_arrays_resumes_to_the_same_result(
    found: meritnas.SearchResult, tmp_path: Path
) -> None:
    def stumble(event: dict[str, Any]) -> None:
        if event["kind"] == "retrain" and event["step"] == 2:
            raise Stop

    run = tmp_path / "run"
    with pytest.raises(Stop):
        search(arrays(), max_params=9_000, retrain_seeds=2, out=run, listen=stumble, **TINY)
    with pytest.raises(UsageError, match="started with data in memory"):
        meritnas.resume(run)
    with pytest.raises(UsageError, match="was made on images, not on a table"):
        meritnas.resume(run, pd.DataFrame({"a": [1]}))
    with pytest.raises(DataError, match="has changed"):
        meritnas.resume(run, arrays(shade=255))
    assert meritnas.resume(run, arrays()).test == found.test
    name = "model.safetensors"
    assert (run / name).read_bytes() == (found.run / name).read_bytes()
    once = meritnas.retrain(
        run,
        architecture=CELL.replace("3x3~", "1x1~").replace("avg_pool_1x1", "avg_pool_3x3"),
        seeds=1,
        data=arrays(),
    )
    assert once.summary["retrain_seeds"] == 1


def test_a_given_network_is_trained_without_a_search(tmp_path: Path) -> None:
    result = train(
        arrays(),
        architecture=CELL,
        space="nasbench201",
        channels=4,
        cells=1,
        epochs=1,
        seeds=2,
        batch_size=16,
        threads=1,
        out=tmp_path / "run",
    )
    assert str(result.architecture) == CELL
    assert result.summary["strategy"] == "given"
    assert result.summary["retrain_seeds"] == 2
    assert result.predict(arrays()[0]).shape == (90,)


@pytest.mark.parametrize("space", ["nasbench201", "darts"])
def test_a_space_of_ones_own(tmp_path: Path, space: str) -> None:
    if space == "darts":
        own: Any = darts_space(3, 4, 3, "s2", (1, 8, 8))
        wrong: Any = darts_space(10, 4, 3, "s2", (1, 8, 8))
    else:
        own = nasbench201_space(3, 4, 1, zero=False, image=(1, 8, 8))
        wrong = nasbench201_space(3, 4, 1, zero=False, image=(3, 8, 8))
    small = {"supernet_channels": 4, "supernet_cells": 3, "retrain_epochs": 1}
    run = tmp_path / "run"
    result = search(arrays(), space=own, out=run, **{**LENGTH, **small, "epochs": 1})
    assert result.space == own
    assert own.cost(result.architecture) == result.summary["params"]
    assert kept(run)["space"]["name"] == ("darts-s2" if space == "darts" else "nasbench201")
    with pytest.raises(UsageError, match="does not fit the data, which need"):
        search(arrays(), space=wrong, out=tmp_path / "wrong", **LENGTH)
    assert not (tmp_path / "wrong").exists()


def test_costs_as_the_benchmark_counts_have_limits_too(tmp_path: Path) -> None:
    limits = {"max_params_paper": 9_000, "max_flops_paper": 90_000}
    result = search(arrays(), out=tmp_path / "run", **limits, **TINY)
    kept = {"params-paper": 9_000, "flops-paper": 90_000}
    assert result.summary["limits"] == kept
    assert all(result.summary["costs"][name] <= most for name, most in kept.items())
    darts = {**TINY, "space": "darts", "cells": 3, "supernet_cells": 3, "max_flops_paper": 9}
    with pytest.raises(UsageError, match="'darts' has no limit on flops-paper; for images limit"):
        search(arrays(), out=tmp_path / "none", **darts)


def test_a_cell_with_dead_operations_costs_what_is_built(
    found: meritnas.SearchResult, tmp_path: Path
) -> None:
    """It keeps a limit that its live part keeps, is explained, and weights of 0.1 still fit it."""
    run = tmp_path / "run"
    shutil.copytree(found.run, run)
    space = nasbench201_space(3, 4, 1, image=(1, 8, 8))
    dead = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_1x1~0|nor_conv_1x1~1|none~2|"
    assert space.cost(dead) <= 9_000 < space.cost(dead, "params-paper")
    again = meritnas.retrain(run, data=arrays(), architecture=dead, epochs=1, seeds=1)
    assert str(again.architecture) == dead
    assert again.summary["params"] == space.cost(dead)
    assert again.summary["costs"]["params-paper"] == space.cost(dead, "params-paper")
    explained = meritnas.explain(run, data=arrays())
    assert explained.architecture == dead
    assert [part.decision for part in explained.parts] == ["edge1<-0", "edge3<-0", "edge3<-1"]
    images = arrays()[0][:5]
    expected = again.predict(images)
    whole = CellNetwork(space.parse(dead).options, **space._sizes()).state_dict()
    store = RunStore.open(run)
    weights, about = store.read_weights("model.safetensors")
    with RunStore.take(run) as store:
        store.write_weights("model.safetensors", {**whole, **weights}, about)
    kept = load_predictor(run)
    assert (kept.predict(images) == expected).all()
    assert set(kept.module.state_dict()) == set(weights) < set(whole)


def test_what_is_not_given_comes_from_the_preset(tmp_path: Path) -> None:
    def stop(_: dict[str, Any]) -> None:
        raise Stop

    def settings(**asked: Any) -> dict[str, Any]:
        run = tmp_path / str(len(list(tmp_path.iterdir())))
        with pytest.raises(Stop):
            search(arrays(), out=run, threads=1, listen=stop, **asked)
        return kept(run)

    quick = settings(space="nasbench201")
    preset = image_recipe("quick", "nasbench201", images=54, colour=False, side=8)
    assert quick["preset"] == "quick"
    assert quick["space"] == {
        "name": "nasbench201",
        "channels": preset.channels,
        "cells": preset.cells,
        "zero": True,
        "supernet_channels": preset.supernet_channels,
        "supernet_cells": preset.supernet_cells,
        "partial_channels": 1,
    }
    assert (quick["epochs"], quick["warmup"]) == (preset.search_epochs, preset.warmup_share)
    assert (quick["retrain_epochs"], quick["retrain_seeds"]) == (preset.retrain_epochs, 1)
    assert TrainRecipe(**quick["recipe"]) == preset.search
    assert TrainRecipe(**quick["child_recipe"]) == preset.retrain
    assert not quick["recipe"]["augment"]["flip"]  # these images are grey
    paper = settings(space="darts", preset="paper", cutout=8, batch_size=32)
    assert (paper["epochs"], paper["retrain_epochs"], paper["warmup"]) == (50, 600, 0.0)
    cells = paper["space"]
    assert (cells["channels"], cells["cells"]) == (36, 20)
    assert (cells["supernet_channels"], cells["supernet_cells"]) == (16, 8)
    assert paper["child_recipe"]["auxiliary"] == 0.4
    assert paper["child_recipe"]["dropout"] == 0.2
    assert paper["child_recipe"]["augment"]["cutout"] == 8
    assert paper["recipe"]["auxiliary"] == paper["recipe"]["dropout"] == 0.0
    assert paper["recipe"]["final_rate"] == 0.001
    assert {paper["recipe"]["batch_size"], paper["child_recipe"]["batch_size"]} == {32}


def test_a_pair_that_is_no_images_and_a_table_for_cells_are_refused(tmp_path: Path) -> None:
    images, labels = arrays()
    flat = images.reshape(90, 64)
    with pytest.raises(UsageError, match="a pair of arrays is taken for images"):
        search((flat, labels), out=tmp_path / "run")
    with pytest.raises(UsageError, match="a table cannot be searched with a space for images"):
        search(pd.DataFrame(flat), space="darts", out=tmp_path / "run")
    with pytest.raises(UsageError, match="the space tabular is for tables"):
        search((images, labels), space="tabular", out=tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_an_auxiliary_head_that_cannot_be_is_refused_before_the_search(tmp_path: Path) -> None:
    images, labels = arrays()
    narrow = images[:, :, :4]
    with pytest.raises(UsageError, match="square map"):
        search((narrow, labels), space="darts", auxiliary=0.4, out=tmp_path / "run", threads=1)
    assert list(tmp_path.iterdir()) == []
