from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import SHORT, Outcome, table

import meritnas as library
from meritnas.comparison import _against_best, _compared

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
    assert Path("both/compare.png").read_bytes().startswith(b"\x89PNG")
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


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--strategies", "tabnas"], "at least 2 strategies"),
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


def test_equal_scores_differ_by_chance() -> None:
    scores = pd.DataFrame({"a": [0.5, 0.6], "b": [0.5, 0.6], "c": [0.4, 0.5]})
    assert _against_best(scores)[1:] == [1.0, 0.0]
