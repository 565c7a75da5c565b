from __future__ import annotations

import itertools
import json
import shutil
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import meritnas
from flat_search import search
from meritnas import UsageError, load_predictor
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import load_source
from meritnas.engine import loop
from meritnas.families.tabular.family import tabular_space
from meritnas.result import SearchResult
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import Alone
from meritnas.tasks.task import Material
from meritnas.training.one_training import Ground
from meritnas.training.race import Race
from meritnas.training.rungs import mark_best, train_rungs

SVG = "{http://www.w3.org/2000/svg}"
LIMIT = 450
QUICK: dict[str, Any] = {
    "max_params": LIMIT,
    "max_flops": 400,
    "layers": 2,
    "widths": (2, 3, 4, 8, 16),
    "epochs": 3,
    "retrain_epochs": 2,
    "retrain_seeds": 2,
    "finalists": 1,
    "dropout": 0.0,
    "scaling": "standard",
    "threads": 1,
    "pareto": True,
}


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> SearchResult:
    """A finished run with a trade-off curve; not to be changed."""
    torch.set_num_threads(1)
    return search("wine", out=tmp_path_factory.mktemp("pareto") / "run", **QUICK)


def test_the_curve_goes_down_from_the_runs_own_limit(result: SearchResult) -> None:
    own, *rungs = result.summary["pareto"]
    assert (own["limit"], own["architecture"]) == (LIMIT, result.architecture.text)
    assert own["test"] == result.test
    assert len(rungs) >= 2
    limits = [row["limit"] for row in (own, *rungs)]
    assert all(small <= large / 2 for large, small in itertools.pairwise(limits))


def test_every_point_keeps_its_limit_as_counted_in_its_weights(result: SearchResult) -> None:
    frame = load_source("wine", None).frame
    answers = {}
    for row in result.summary["pareto"]:
        weights, metadata = RunStore(result.run / row["folder"], {}).read_weights(
            "model.safetensors"
        )
        counted = sum(weight.numel() for weight in weights.values())
        assert counted == row["params"] <= row["limit"]
        assert metadata["architecture"] == row["architecture"]
        assert result.space.cost(row["architecture"], "flops") <= QUICK["max_flops"]
        predictor = load_predictor(result.run, network=row["architecture"])
        assert sum(p.numel() for p in predictor.module.parameters()) == row["params"]
        for name, param in predictor.module.state_dict().items():
            assert torch.equal(param, weights[name])
        answers[row["architecture"]] = predictor.outputs(frame)
        assert set(row["test"]) == set(row["test_spread"]) == set(result.test)
        assert any(row["test_spread"].values())
    first, *others = answers.values()
    assert all(not torch.equal(first, other) for other in others)
    assert torch.equal(load_predictor(result.run).outputs(frame), first)


def test_a_network_that_is_not_on_the_curve_is_refused(
    result: SearchResult, tmp_path: Path
) -> None:
    known = ", ".join(dict.fromkeys(row["architecture"] for row in result.summary["pareto"]).keys())
    with pytest.raises(UsageError, match=f"no network 9-9 on the curve of .*; there are {known}"):
        load_predictor(result.run, network="9-9")
    plain = search("wine", out=tmp_path / "plain", **{**QUICK, "pareto": False})
    assert "pareto" not in plain.summary
    assert not (plain.run / "pareto.svg").exists()
    assert not list(plain.run.glob("rung*"))
    with pytest.raises(UsageError, match="made without --pareto"):
        load_predictor(plain.run, network=plain.architecture.text)


def test_a_curve_without_any_smaller_limit_says_why(tmp_path: Path) -> None:
    heard: list[str] = []
    few = {**QUICK, "widths": (2, 3), "max_params": 60, "epochs": 1, "retrain_epochs": 1}
    found = search(
        *("wine",),
        listen=lambda event: heard.append(event["text"]) if event["kind"] == "note" else None,
        out=tmp_path / "run",
        **few,
    )
    assert "pareto" not in found.summary
    (note,) = [text for text in heard if "no trade-off curve" in text]
    assert "at most 30 parameters" in note
    assert note in found.summary["notes"]
    plain = search("wine", out=tmp_path / "plain", **{**few, "pareto": False})
    assert not any("curve" in text for text in plain.summary["notes"])


def test_the_curve_is_drawn(result: SearchResult) -> None:
    picture = ElementTree.parse(result.run / "pareto.svg").getroot()
    assert min(float(picture.attrib[side]) for side in ("width", "height")) > 400
    chart = next(each for each in picture.iter(f"{SVG}svg") if "role" in each.attrib)
    drawn = [each.findtext(f"{SVG}title") for each in chart.iter(f"{SVG}circle")]
    assert sorted(map(str, drawn)) == sorted(
        row["architecture"] for row in result.summary["pareto"]
    )
    assert "test accuracy" in [each.text for each in chart.iter(f"{SVG}text")]


def untimed(path: Path) -> dict[str, Any]:
    summary = json.loads(path.read_text())
    timed = ("seconds", "seconds_needed", "spent", "run")
    return {name: value for name, value in summary.items() if name not in timed}


class Stop(Exception):
    """Raised by a listener in the middle of a run."""


@pytest.mark.parametrize("place", ["between", "within", "before"])
def test_killed_among_the_rungs_a_run_goes_on_to_the_same_curve(
    result: SearchResult, tmp_path: Path, place: str
) -> None:
    """The trainings of the second rung are the fifth and sixth of the run."""
    epochs, stop = QUICK["retrain_epochs"], {"before": 5, "within": 11, "between": 9}[place]
    heard: list[int] = []

    def stumble(event: dict[str, Any]) -> None:
        if event["kind"] == "retrain":
            heard.append(event["step"])
            if len(heard) == stop:
                raise Stop

    with pytest.raises(Stop):
        search("wine", out=tmp_path / "run", listen=stumble, **QUICK)
    assert not (tmp_path / "run" / "result.json").exists()
    told: list[dict[str, Any]] = []
    again = meritnas.resume(tmp_path / "run", listen=told.append)
    trained = [event for event in told if event["kind"] == "retrain"]
    rows = {row["folder"] for row in result.summary["pareto"]}
    assert len(trained) == epochs * (2 * len(rows) - (stop - 1) // epochs)
    assert not any(event["kind"] == "search" for event in told)
    assert untimed(again.run / "result.json") == untimed(result.run / "result.json")
    for path in sorted(result.run.rglob("*")):
        if path.is_file() and path.suffix in (".safetensors", ".svg", ".jsonl"):
            other = again.run / path.relative_to(result.run)
            assert other.read_bytes() == path.read_bytes(), path


def test_a_finished_run_is_not_trained_again(result: SearchResult, tmp_path: Path) -> None:
    shutil.copytree(result.run, tmp_path / "run")
    told: list[dict[str, Any]] = []
    again = meritnas.resume(tmp_path / "run", listen=told.append)
    assert told == []
    assert again.summary["pareto"] == result.summary["pareto"]


def test_retraining_for_longer_trains_the_whole_curve(result: SearchResult, tmp_path: Path) -> None:
    shutil.copytree(result.run, tmp_path / "run")
    again = meritnas.retrain(tmp_path / "run", epochs=4)
    for ours, theirs in zip(again.summary["pareto"], result.summary["pareto"], strict=True):
        assert ours["architecture"] == theirs["architecture"]
        assert ours["valid_loss"] != theirs["valid_loss"]


def test_small_networks_get_every_other_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw, drawn = loop.path_of_one, []

    def watched(*arguments: Any) -> list[int]:
        drawn.append(draw(*arguments))
        return drawn[-1]

    monkeypatch.setattr(loop, "path_of_one", watched)
    search("wine", out=tmp_path / "run", **QUICK)
    plan = json.loads((tmp_path / "run" / "plan.json").read_text())["search"]
    assert abs(len(drawn) - plan["joint"] / 2) <= 1
    assert len({tuple(picks) for picks in drawn}) > 1
    drawn.clear()
    search("wine", out=tmp_path / "plain", **{**QUICK, "pareto": False})
    assert drawn == []


def test_a_network_of_two_rungs_is_trained_once(tmp_path: Path) -> None:
    bundle = make_bundle(load_source("wine", None), seed=0)
    family = tabular_space(13, 3, 2, (2, 4))
    told: list[dict[str, Any]] = []
    ladder = [
        {"limit": 99, "architecture": "4-2"},
        {"limit": 90, "architecture": "2-4"},
        {"limit": 80, "architecture": "4-2"},
    ]
    rows = train_rungs(
        Alone(),
        Material(Ground(family, bundle)),
        ladder,
        Race(("4-4",), (0.0,), (0,), 1),
        TrainRecipe(),
        RunStore.create(tmp_path / "run", {}),
        told.append,
    )
    assert [event["architecture"] for event in told] == ["4-2", "2-4"]
    assert [row["limit"] for row in rows] == [99, 90, 80]
    assert rows[0]["folder"] == rows[2]["folder"] != rows[1]["folder"]
    assert {**rows[0], "limit": 80} == rows[2]


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=1, max_size=8))
def test_the_best_are_those_that_no_other_equals_with_less(points: list[tuple[int, int]]) -> None:
    rows = mark_best([{"params": p, "valid_loss": loss, "name": i}
                      for i, (p, loss) in enumerate(points)])  # fmt: skip
    assert [row["name"] for row in rows] == list(range(len(points)))
    best = {(row["params"], row["valid_loss"]) for row in rows if row["best"]}
    for row in rows:
        place = (row["params"], row["valid_loss"])
        assert row["best"] == (place in best)  # the same place is judged the same
        beaten = [p for p in best if p[0] <= place[0] and p[1] <= place[1] and p != place]
        assert row["best"] == (not beaten)
    # Along the line more parameters buy a smaller loss.
    line = sorted(best)
    assert [loss for _, loss in line] == sorted((loss for _, loss in line), reverse=True)
