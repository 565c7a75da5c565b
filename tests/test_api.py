from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import meritnas
from flat_search import search
from meritnas import (
    DataError,
    InfeasibleError,
    MeritNASError,
    SpaceError,
    StoreError,
    TableInputs,
    UsageError,
    tabular_space,
)
from meritnas.clock import Clock
from meritnas.data.stream import Batch, BatchStream
from meritnas.engine import loop
from meritnas.engine.loop import Search

QUICK: dict[str, Any] = {
    "layers": 2,
    "widths": (2, 4, 8, 16),
    "epochs": 3,
    "retrain_epochs": 3,
    "retrain_seeds": 2,
    "batch_size": 16,
    "scaling": "standard",
    "threads": 1,
}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=150), "b": rng.normal(size=150)})
    frame["kind"] = rng.choice(["p", "q", "r"], size=150)
    frame["y"] = np.where(frame["a"] + frame["b"] > 0, "up", "down")
    return frame


def test_a_search_on_bundled_data(tmp_path: Path) -> None:
    result = search("wine", max_params=200, out=tmp_path / "run", **QUICK)
    assert result.space.cost(result.architecture, "params") <= 200
    assert result.run == tmp_path / "run"
    assert result.architecture == result.space.parse(str(result.architecture))
    steps = [event["step"] for event in result.history]
    assert steps == sorted(steps)
    assert steps[-1] == result.history[-1]["steps"] > 0
    assert set(result.test) == {"accuracy", "balanced_error", "log_loss"}
    summary = result.summary
    assert summary["params"] == result.space.cost(result.architecture)
    assert summary["limits"] == {"params": 200}
    assert summary["feasible_share"] == result.space.feasible(max_params=200).share()
    assert summary["test"].keys() == summary["test_spread"].keys()
    assert summary["architecture"] == str(result.architecture)
    assert sum(p.numel() for p in result.module.parameters()) == summary["params"]


def test_a_search_on_a_data_frame(tmp_path: Path) -> None:
    frame = table()
    quick = {**QUICK, "learning_rate": 0.03, "retrain_epochs": 15}
    result = search(frame, target="y", max_params=120, out=tmp_path / "run", **quick)
    assert result.space.cost(result.architecture, "params") <= 120
    assert result.test["roc_auc"] > 0.6
    answers = result.predict(frame.drop(columns="y"))
    assert set(answers) <= {"up", "down"}
    assert (answers == frame["y"]).mean() > 0.6
    pd.testing.assert_frame_equal(frame, table())  # the caller's table is not touched


def test_a_search_in_a_given_space(tmp_path: Path) -> None:
    space = tabular_space(TableInputs(2, (4,), embedding=2), 1, 2, ((2, 4), (3, 5, 8)))
    probe = search(table(), target="y", out=tmp_path / "probe", embedding=2, **QUICK)
    needed = probe.space.inputs  # type: ignore[attr-defined]
    space = tabular_space(needed, 1, 2, ((2, 4), (3, 5, 8)))
    quick = {key: value for key, value in QUICK.items() if key not in ("layers", "widths")}
    result = search(table(), target="y", space=space, max_params=60, out=tmp_path / "run", **quick)
    assert result.space == space
    assert space.cost(result.architecture) <= 60
    assert meritnas.resume(tmp_path / "run", table()).architecture == result.architecture
    wrong = tabular_space(5, 1, 2, (2, 4))
    with pytest.raises(UsageError, match="does not fit the data, which need"):
        search(table(), target="y", space=wrong, out=tmp_path / "wrong", **quick)
    assert not (tmp_path / "wrong").exists()


def test_several_limits_and_regression(tmp_path: Path) -> None:
    limits = {"max_params": 200, "max_flops": 150}
    result = search("diabetes", **limits, out=tmp_path / "run", **QUICK)
    assert result.space.cost(result.architecture, "params") <= 200
    assert result.space.cost(result.architecture, "flops") <= 150
    assert set(result.test) == {"r2", "rmse"}
    assert result.summary["limits"] == {"params": 200, "flops": 150}


def test_a_search_is_decided_by_its_seed(tmp_path: Path) -> None:
    def files(name: str, seed: int) -> dict[str, bytes]:
        search("wine", max_params=200, seed=seed, out=tmp_path / name, **QUICK)
        kept = ("events.jsonl", "model.safetensors", "retrain.json")
        return {kind: (tmp_path / name / kind).read_bytes() for kind in kept}

    first = files("first", 1)
    assert files("again", 1) == first
    assert files("other", 2) != first


class Stop(Exception):
    """Raised by a listener in the middle of a run."""


@pytest.mark.parametrize("strategy", ["tabnas", "evolution"])
def test_a_stopped_run_resumes_to_the_same_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: str
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", 0.02)
    arguments: dict[str, Any] = {
        "target": "y",
        "max_params": 120,
        "strategy": strategy,
        **QUICK,
        "epochs": 6,
    }
    whole = search(table(), out=tmp_path / "whole", **arguments)
    steps = whole.history[-1]["steps"]
    for number, place in enumerate([1, steps // 3, steps, "retrain"]):
        run = tmp_path / str(number)

        def stumble(event: dict[str, Any], place: int | str = place) -> None:
            if place == "retrain" and event["kind"] == "retrain" and event["step"] == 4:
                raise Stop
            if event["kind"] == "search" and event["step"] == place:
                raise Stop

        with pytest.raises(Stop):
            search(table(), out=run, listen=stumble, **arguments)
        moved = tmp_path / f"copy of {number}"
        shutil.copytree(run, moved)  # a run may be moved between machines' folders
        told: list[dict[str, Any]] = []
        resumed = meritnas.resume(moved, table(), listen=told.append)
        assert resumed.architecture == whole.architecture
        assert resumed.test == whole.test
        assert resumed.run == moved
        for name in ("events.jsonl", "model.safetensors", "retrain.json", "plan.json"):
            assert (moved / name).read_bytes() == (whole.run / name).read_bytes()
        ours = torch.load(moved / "checkpoint.pt", weights_only=True)
        theirs = torch.load(whole.run / "checkpoint.pt", weights_only=True)
        for key, tensor in theirs["supernet"].items():
            assert torch.equal(ours["supernet"][key], tensor)
        if place == "retrain":
            assert not any(event["kind"] == "search" for event in told)


def test_a_finished_run_resumes_to_its_result_without_work(tmp_path: Path) -> None:
    result = search("wine", max_params=200, out=tmp_path / "run", **QUICK)
    before = {path.name: path.read_bytes() for path in result.run.iterdir()}
    again = meritnas.resume(result.run)
    assert again.summary == result.summary
    assert {path.name: path.read_bytes() for path in result.run.iterdir()} == before


def test_a_run_cannot_be_resumed_on_other_data(tmp_path: Path) -> None:
    search(table(), target="y", out=tmp_path / "run", **QUICK)
    with pytest.raises(UsageError, match="started with data in memory"):
        meritnas.resume(tmp_path / "run")
    with pytest.raises(DataError, match="has changed"):
        meritnas.resume(tmp_path / "run", table().assign(a=0.5))


@pytest.mark.parametrize("name", ["config.json", "preprocessing.json", "checkpoint.pt"])
def test_a_damaged_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)

    def stumble(event: dict[str, Any]) -> None:
        if event.get("step") == 5:
            raise Stop

    with pytest.raises(Stop):
        search("wine", out=tmp_path / "run", listen=stumble, **QUICK)
    path = tmp_path / "run" / name
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(StoreError, match="damaged"):
        meritnas.resume(tmp_path / "run")


def test_minutes_are_kept_roughly(tmp_path: Path) -> None:
    quick = {**QUICK, "epochs": None, "retrain_epochs": None}
    begun = time.perf_counter()
    result = search("wine", minutes=0.05, max_params=200, out=tmp_path / "run", **quick)
    spent = time.perf_counter() - begun
    assert 0.5 < spent < 9.0
    assert result.history[-1]["steps"] > 20
    plan = (tmp_path / "run" / "plan.json").read_bytes()
    assert meritnas.resume(tmp_path / "run").architecture == result.architecture
    assert (tmp_path / "run" / "plan.json").read_bytes() == plan


def test_minutes_are_kept_where_steps_are_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Finding out how long things take must not take longer than the things themselves."""
    step, next_batch = Search.weight_step, BatchStream.next
    waited = []

    def wait(seconds: float) -> None:
        time.sleep(seconds)
        waited.append(seconds)

    def slow_step(search: Search, clock: Clock) -> torch.Tensor:
        wait(0.1)
        return step(search, clock)

    def slow_batch(stream: BatchStream) -> Batch:
        wait(0.02)
        return next_batch(stream)

    monkeypatch.setattr(Search, "weight_step", slow_step)
    monkeypatch.setattr(BatchStream, "next", slow_batch)
    quick = {**QUICK, "epochs": None, "retrain_epochs": None, "batch_size": 4}
    result = search("wine", minutes=0.1, max_params=200, out=tmp_path / "run", **quick)
    assert sum(waited) < 60 * 0.1
    assert result.summary["seconds"] >= sum(waited)


def test_retraining_another_architecture(tmp_path: Path) -> None:
    result = search("wine", max_params=200, out=tmp_path / "run", **QUICK)
    again = meritnas.retrain(result.run, architecture="4-8", epochs=2, seeds=1)
    assert str(again.architecture) == "4-8"
    assert again.summary["retrain_seeds"] == 1
    assert again.module[0].out_features == 4  # type: ignore[index]
    chosen = meritnas.retrain(result.run)
    assert chosen.architecture == result.architecture
    assert chosen.test == result.test
    before = (result.run / "model.safetensors").read_bytes()
    with pytest.raises(UsageError, match="16-16 breaks the run's limits"):
        meritnas.retrain(result.run, architecture="16-16")
    with pytest.raises(SpaceError, match="'5' is no option"):
        meritnas.retrain(result.run, architecture="4-5")
    assert (result.run / "model.safetensors").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"data": "wine", "max_params": 10}, InfeasibleError, "2-2 with"),
        ({"data": "wine", "strategy": "tabnsa"}, UsageError, "tabnas"),
        ({"data": "wine", "strategy_options": {"beta": 1}}, UsageError, "no option 'beta'"),
        ({"data": "wine", "strategy_options": {"final": "best"}}, UsageError, "ranked, largest"),
        (
            {"data": "wine", "strategy_options": {"samples": 0}},
            UsageError,
            "must be at least 1, got 0",
        ),
        ({"data": "wine", "strategy": "mnasnet"}, UsageError, "needs a limit"),
        ({"data": "wine", "minutes": 1}, UsageError, "either epochs or minutes"),
        ({"data": "wine", "epochs": -1}, UsageError, "epochs must be at least 1"),
        ({"data": "wine", "space": "tabluar"}, UsageError, "no space 'tabluar'"),
        ({"data": "wine", "device": "abacus"}, UsageError, "device 'abacus'"),
        ({"data": "wine", "target": "targte"}, DataError, "target"),
        ({"data": "whine"}, DataError, "wine"),
        ({"data": "wine", "widths": []}, SpaceError, "widths"),
        ({"data": "wine", "learning_rate": -1.0}, UsageError, "learning rate"),
    ],
)
def test_what_cannot_work_is_said_before_anything_is_written(
    tmp_path: Path, arguments: dict[str, Any], error: type[MeritNASError], says: str
) -> None:
    with pytest.raises(error, match=says):
        search(**{**QUICK, "out": tmp_path / "run", **arguments})
    assert list(tmp_path.iterdir()) == []


def test_an_output_folder_that_exists_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(StoreError, match="exists already"):
        search("wine", out=tmp_path, **QUICK)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_without_a_folder_runs_are_numbered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    quick = {**QUICK, "epochs": 1, "retrain_epochs": 1, "retrain_seeds": 1}
    first = search("wine", strategy="random", **quick)
    second = search("wine", strategy="random", **quick)
    assert first.run != second.run
    assert first.run.parent == second.run.parent == Path("runs")


def test_the_front_door_has_all_that_it_promises() -> None:
    for name in meritnas.__all__:
        assert getattr(meritnas, name) is not None
    assert callable(meritnas.search)
    assert set(meritnas.__all__) <= set(dir(meritnas))
    with pytest.raises(AttributeError):
        _ = meritnas.nothing


def test_a_lost_or_damaged_network_can_be_trained_anew(tmp_path: Path) -> None:
    result = search("wine", max_params=200, out=tmp_path / "run", **QUICK)
    path = result.run / "model.safetensors"
    whole = path.read_bytes()
    path.write_bytes(whole[:50])
    meritnas.retrain(result.run)
    assert path.read_bytes() == whole
    path.unlink()
    meritnas.resume(result.run)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("plan.json", '{"search": {"foo": 1}}'),
        ("plan.json", "3"),
        ("retrain.json", '{"plan": {}, "results": []}'),
        ("architecture.json", '{"chosen": {}, "seconds": 1}'),
        ("config.json", '{"format": "meritnas-run", "version": 1}'),
        ("config.json", '{"format": "meritnas-run", "version": 1, "settings": {}, "data": null}'),
    ],
)
def test_damaged_files_of_a_run_are_named(tmp_path: Path, name: str, text: str) -> None:
    result = search("wine", max_params=200, out=tmp_path / "run", **QUICK)
    order = ("plan.json", "architecture.json", "retrain.json", "result.json")
    for later in order[order.index(name) + 1 :] if name in order else ():
        (result.run / later).unlink()
    (result.run / name).write_text(text)
    with pytest.raises(StoreError, match="damaged"):
        meritnas.resume(result.run)


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    quick = {**QUICK, "seed": np.int64(1), "widths": np.array([[4, 8], [2, 4]]), "layers": 2}
    result = search("wine", max_params=np.int64(200), out=tmp_path / "run", **quick)
    assert result.summary["params"] <= 200


@pytest.mark.parametrize("name", ["retrain_epochs", "retrain_seeds", "batch_size"])
def test_halves_are_refused_before_anything_is_written(tmp_path: Path, name: str) -> None:
    quick = {**QUICK, name: 2.5}
    with pytest.raises(UsageError, match=f"{name} must be a whole number, got 2.5"):
        search("wine", out=tmp_path / "run", **quick)
    assert not (tmp_path / "run").exists()


def test_finalists_and_dropouts_race_and_the_winner_is_the_result(tmp_path: Path) -> None:
    quick = {**QUICK, "finalists": 3, "retrain_seeds": 3}
    result = search("wine", max_params=200, out=tmp_path / "run", **quick)
    kept = json.loads((result.run / "retrain.json").read_text())
    favourites = json.loads((result.run / "architecture.json").read_text())["ranked"]
    race = result.summary["race"]
    assert kept["plan"] == race
    assert race["finalists"] == favourites[:3]
    count = len(race["dropouts"]) + len(race["finalists"]) - 1 + 2
    assert len(kept["results"]) == count
    first = [one for one in kept["results"] if one["seed"] == race["seeds"][0]]
    winner = min(first, key=lambda one: one["valid_loss"])
    assert result.summary["architecture"] == winner["architecture"]
    alone = search(
        "wine", max_params=200, out=tmp_path / "one", dropout=0.2, **{**quick, "finalists": 1}
    )
    kept = json.loads((alone.run / "retrain.json").read_text())
    assert [one["dropout"] for one in kept["results"]] == [0.2] * 3
    assert {one["architecture"] for one in kept["results"]} == {favourites[0]}


@pytest.mark.parametrize(
    "arguments",
    [
        {"max_size_kb": 0.0},
        {"max_latency_ms": float("nan")},
        {"max_params": 99.5},
        {"weight_decay": -1.0},
        {"dropout": 1.0},
        {"finalists": 0},
        {"scaling": "log"},
    ],
)
def test_new_settings_that_make_no_sense_are_refused(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    (name,) = arguments
    with pytest.raises(ValueError, match=name):
        search("wine", out=tmp_path / "run", **{**QUICK, **arguments})
    assert list(tmp_path.iterdir()) == []


def test_a_space_of_ones_own_is_searched_as_it_is_under_a_limit(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"n": rng.normal(size=300), "c": rng.choice(list("abcdefgh"), 300)})
    frame["y"] = rng.choice(["u", "v"], 300)
    space = meritnas.tabular_space(meritnas.TableInputs(1, (9,)), 1, 2, (4, 8))
    result = search(frame, "y", space=space, max_params=59, out=tmp_path / "run", **QUICK)
    assert result.space == space
    assert result.summary["params"] <= 59
