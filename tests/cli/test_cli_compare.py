from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from cli_helpers import SHORT, Outcome, table
from rich.console import Console

import meritnas as library
from meritnas.comparison.comparison import _against_best, _compared
from meritnas.report.charts.comparison_figure import comparison_file, is_worse
from meritnas.report.terminal.comparison_table import comparison_table

Command = Callable[..., Outcome]


def test_a_comparison_is_a_table_a_figure_and_json_and_goes_on(
    sales: Path, meritnas: Command
) -> None:
    asked = [
        *["compare", sales, "--target", "churn", "--max-params", "300", "--seeds", "2"],
        *["--strategies", "tabnas, random", "--out", "both", *SHORT],
    ]
    outcome = meritnas(*asked)
    assert outcome.code == 0, outcome.err
    assert "mean rank" in outcome.out
    assert "run 4 of 4: random, seed 1" in outcome.err
    assert "note:" not in outcome.err
    picture = ElementTree.parse("both/comparison.svg")
    shown = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert {"tabnas", "random", "test accuracy", "seconds for search and training"} <= set(shown)
    runs = sorted(path.name for path in Path("both").iterdir() if path.is_dir())
    assert runs == ["random-0", "random-1", "tabnas-0", "tabnas-1"]
    kept = json.loads(Path("both/random-1/result.json").read_text())
    # One run is lost half way; the others are taken as they are.
    for name in ("result.json", "model.safetensors", "retrain.json"):
        Path("both/random-1", name).unlink()
    before = Path("both/tabnas-0/result.json").stat().st_mtime_ns
    again = meritnas(*asked, "--json", "--quiet")
    assert again.code == 0, again.err
    found = json.loads(again.out)
    assert Path("both/tabnas-0/result.json").stat().st_mtime_ns == before
    assert json.loads(Path("both/random-1/result.json").read_text())["test"] == kept["test"]
    assert {row["strategy"] for row in found["table"]} == {"tabnas", "random"}
    assert all(run["params"] <= 300 and run["passes"] > 0 for run in found["runs"])
    assert found["differ"] is None
    other = meritnas(*asked, "--epochs", "3")
    assert other.code == 2
    assert "holds another comparison" in other.err


def test_a_strategy_may_be_compared_with_itself_by_its_options(
    sales: Path, meritnas: Command
) -> None:
    asked = [
        *["compare", sales, "--target", "churn", "--max-params", "0.3k", "--seeds", "1"],
        *["--strategies", "tabnas,tabnas(sampling=rejection, samples=2),random"],
        *["--out", "three", "--json", "--quiet", *SHORT],
    ]
    outcome = meritnas(*asked)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    labels = {"tabnas", "tabnas(sampling=rejection,samples=2)", "random"}
    assert {row["strategy"] for row in found["table"]} == labels
    runs = {path.name for path in Path("three").iterdir() if path.is_dir()}
    assert runs == {f"{label}-0" for label in labels}
    kept = json.loads(Path("three/tabnas(sampling=rejection,samples=2)-0/config.json").read_text())
    assert kept["settings"]["strategy"]["sampling"] == "rejection"
    assert kept["settings"]["strategy"]["samples"] == 2
    before = Path("three/random-0/result.json").stat().st_mtime_ns
    Path("three/tabnas(sampling=rejection,samples=2)-0/result.json").unlink()
    again = meritnas(*asked)
    assert again.code == 0, again.err
    assert Path("three/random-0/result.json").stat().st_mtime_ns == before
    scores = [
        {row["strategy"]: row["score"] for row in json.loads(o.out)["table"]}
        for o in (outcome, again)
    ]
    assert scores[0] == scores[1]


def test_flags_that_all_strategies_have(sales: Path, meritnas: Command) -> None:
    asked = ["compare", sales, "--target", "churn", "--seeds", "1", "--quiet", "--out", "both"]
    listed = ["--strategies", "tabnas,reinforce(samples=4)", "--samples", "2"]
    text = meritnas("compare", *listed, "--help").out
    assert "─ All strategies ─" in text
    assert "--samples" in text
    assert "--mc-samples" not in text
    outcome = meritnas(*asked, *listed, *SHORT)
    assert outcome.code == 0, outcome.err
    samples = {
        path.parent.name: json.loads(path.read_text())["settings"]["strategy"]["samples"]
        for path in Path("both").glob("*/config.json")
    }
    assert samples == {"tabnas(samples=2)-0": 2, "reinforce(samples=4)-0": 4}


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--strategies", "tabnas", "--seeds", "1"], "2 strategies, or one with several seeds"),
        (["--strategies", "tabnas,tabnas"], "at least 2 strategies"),
        (["--strategies", "tabnas,random(samples=2)"], "'random' has no option 'samples'"),
        (["--strategies", "tabnas(samples=few),random"], "samples: 'few' is no whole number"),
        (["--strategies", "tabnas(policy-rate=fast),random"], "policy_rate must be a number"),
        (["--strategies", "tabnas(samples),random"], "written name=value; got 'samples'"),
        (["--strategies", "random,tabnas(samples=2"], "stand in parentheses, as in a(b=c)"),
        (["--strategies", "pc-darts(edge-normalisation=1),random"], "must be true or false"),
        (["--strategies", "tabnas(sampling=rejct),random"], "sampling must be one of"),
        (["--strategies", "tabnas,random", "--population", "3"], "has no option 'population'"),
        (["--strategies", "tabnas,random", "--channels", "3"], "channels is for images"),
        (["--strategies", "tabnas,randm"], "did you mean 'random'"),
        (["--strategies", "tabnas,random", "--seeds", "0"], "seeds must be at least 1, got 0"),
        (["--strategies", "tabnas,random", "--beta", "-1"], "has no option 'beta'"),
    ],
)
def test_bad_input(sales: Path, flags: list[str], says: str, meritnas: Command) -> None:
    outcome = meritnas("compare", sales, "--target", "churn", *flags)
    assert outcome.code == 2
    assert says in outcome.err
    assert not Path("runs").exists()


def test_a_strategy_is_not_chosen_twice(tmp_path: Path) -> None:
    with pytest.raises(library.UsageError, match="seed is what a comparison goes through"):
        library.compare(
            table(), "churn", strategies=["tabnas", "random"], out=tmp_path / "c", seed=3
        )


def rows(scores: dict[str, list[float]], metric: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "strategy": name,
            "seed": seed,
            "metric": metric,
            "score": score,
            "valid_loss": float(seed != 1),
            "kept": score + 0.001,
            "params": 1,
            "passes": 10,
            "seconds": 1.0,
            "architecture": "",
        }
        for name, own in scores.items()
        for seed, score in enumerate(own)
    )


def test_ranks_and_significance() -> None:
    scores = {"a": [0.9, 0.92, 0.91], "b": [0.8, 0.81, 0.82], "c": [0.9, 0.91, 0.93]}
    found = _compared(rows(scores, "accuracy"), Path("nowhere"))
    assert found.table["strategy"].tolist() == ["c", "a", "b"]
    assert found.table["rank"].tolist() == pytest.approx([1.5, 1.5, 3.0])
    p = found.table["p"].tolist()
    assert np.isnan(p[0])
    assert p[1] > 0.5
    assert p[2] < 0.05
    assert 0 < found.differ < 0.2
    assert found.to_json()["table"][0]["p"] is None
    worse = _compared(rows(scores, "perplexity"), Path("nowhere"))
    assert worse.table["strategy"].tolist() == ["b", "a", "c"]


def test_of_several_runs_the_best_is_that_which_validation_favours() -> None:
    found = _compared(rows({"a": [0.9, 0.7, 0.8], "b": [0.5, 0.6, 0.4]}, "accuracy"), Path("x"))
    assert found.table["best"].tolist() == pytest.approx([0.701, 0.601])  # of seed 1
    assert "0.701" in printed(found.to_json())


def test_one_strategy_with_several_seeds_is_a_comparison_too() -> None:
    found = _compared(rows({"a": [0.9, 0.7, 0.8]}, "accuracy"), Path("nowhere"))
    assert found.table["best"].tolist() == pytest.approx([0.701])
    assert found.to_json()["table"][0]["p"] is None
    assert "mean rank 1.0" in comparison_file(found.to_json())


def test_a_gap_that_is_always_the_same_is_no_proof() -> None:
    scores = pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.4, 0.5]})
    assert _against_best(scores)[1:] == [1.0, 1.0]  # 1/2 for either, of two
    many = pd.DataFrame({"a": np.arange(12) / 7, "b": np.arange(12) / 7 - 0.1})
    assert _against_best(many)[1] == pytest.approx(2**-11)  # though gaps differ by rounding


@pytest.mark.filterwarnings("error")
def test_ties_of_all_leave_ranks_untested() -> None:
    tied = {name: [0.9, 0.8] for name in "abc"}
    found = _compared(rows(tied, "accuracy"), Path("nowhere")).to_json()
    assert found["differ"] is None
    assert "Friedman" not in printed(found)
    assert [row["p"] for row in found["table"]] == [None, 1.0, 1.0]


def printed(found: dict[str, Any]) -> str:
    file = io.StringIO()
    Console(file=file, width=80).print(comparison_table(found))
    return file.getvalue()


def test_chances_are_not_printed_as_nothing_and_names_are_not_cut(tmp_path: Path) -> None:
    noise = np.random.default_rng(0).normal(0, 1e-4, 8)
    name = "climbing:ClimbingFromManyPlacesAtOnceStrategy"
    scores = {"a": [0.9] * 8, name: list(0.1 + noise), "c": list(0.9 - abs(noise) / 50)}
    found = _compared(rows(scores, "accuracy"), tmp_path).to_json()
    shown = printed(found)
    assert "<0.001" in shown
    assert "…" not in shown
    assert name in "".join(line[1:].split(" ")[0] for line in shown.splitlines())
    assert [is_worse(row) for row in found["table"]][::2] == [False, True]
    picture = ElementTree.fromstring(comparison_file(found))
    written = [each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert written[0] == "Strategies compared (* worse than the best, p < 0.05)"
    assert f"{name} *" in written
    assert "mean rank 3.0" in written


def test_a_damaged_plan_is_said(sales: Path, meritnas: Command) -> None:
    Path("both").mkdir()
    for content in ("{", "\xff", "[" * 100_000):
        Path("both/compare.json").write_bytes(content.encode("latin-1"))
        asked = ["--target", "churn", "--strategies", "tabnas,random", "--out", "both"]
        outcome = meritnas("compare", sales, *asked)
        assert outcome.code == 2
        assert "compare.json is damaged" in outcome.err
        assert "give another --out" in outcome.err


def test_scores_that_are_all_the_same_have_no_spread() -> None:
    found = _compared(rows({"a": [0.1] * 3, "b": [0.3] * 3}, "accuracy"), Path("nowhere"))
    assert found.table["spread"].tolist() == [0.0, 0.0]
