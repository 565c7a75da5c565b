"""Huge numbers and numbers that are none, from the table to the answer."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cli_helpers import SHORT, Outcome, run, table
from safetensors import safe_open
from safetensors.torch import save_file

import meritnas as library
from meritnas.errors import DataError
from unchecked import unchecked

Command = Callable[..., Outcome]


def regression(rows: int = 60) -> pd.DataFrame:
    frame = table(rows).drop(columns="churn")
    return frame.assign(price=0.1 * frame.height + np.log(frame.income))


@pytest.fixture(scope="module")
def broken(trained: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose network says nothing about rows from Bonn."""
    folder = tmp_path_factory.mktemp("broken") / "run"
    shutil.copytree(trained, folder)
    path = str(folder / "model.safetensors")
    with safe_open(path, "pt") as file:
        about, weights = file.metadata(), {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    weights["inputs.tables.0"][1] = float("nan")
    save_file(weights, path, about)
    return unchecked(folder)


@pytest.mark.parametrize("cell", ["1e30", "9.969209968386869e36", str(10**30), "-1.7e308"])
@pytest.mark.parametrize("target", ["churn", "price"])
def test_a_fill_value_in_the_table_is_named_and_does_no_harm(
    meritnas: Command, cell: str, target: str
) -> None:
    plain = table() if target == "churn" else regression()
    for name, value in (("fill", cell), ("gap", "")):
        frame = plain.astype(object)
        frame.loc[5, "height"] = value
        frame.to_csv(f"{name}.csv", index=False)
    outcomes = [
        meritnas("search", f"{name}.csv", "--target", target, *SHORT, "--json", "--out", name)
        for name in ("fill", "gap")
    ]
    assert [outcome.code for outcome in outcomes] == [0, 0]
    notes = f"note: column 'height': 1 value from 1e+15 on, such as {float(cell):g}, counts as"
    assert notes in outcomes[0].err
    found, other = (json.loads(outcome.out) for outcome in outcomes)
    assert found["test"] == other["test"]  # as if the cell were empty
    assert any(notes[6:] in note for note in found["notes"])
    again = meritnas("search", "--resume", "fill", "--json")
    assert json.loads(again.out)["test"] == found["test"]
    shown = json.loads(meritnas("columns", "fill.csv", "--target", target, "--json").out)
    (row,) = [row for row in shown["columns"] if row["column"] == "height"]
    assert "1 from 1e+15 on count as missing" in row["details"]


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400", "1" + "0" * 400])
def test_infinite_cells_are_refused(meritnas: Command, cell: str, trained: Path) -> None:
    frame = table().astype(object)
    frame.loc[5, "income"] = cell
    frame.to_csv("new.csv", index=False)
    for arguments in (("search", "new.csv", "--target", "churn"), ("predict", trained, "new.csv")):
        outcome = meritnas(*arguments)
        assert (outcome.code, outcome.out) == (2, "")
        assert "column 'income' holds infinite values, 1 among 60 rows" in outcome.err
    assert not Path("runs").exists()


def test_a_fill_value_in_the_target_is_refused_with_its_row(meritnas: Command) -> None:
    frame = regression()
    frame.loc[7, "price"] = 1e30
    frame.to_csv("new.csv", index=False)
    outcome = meritnas("search", "new.csv", "--target", "price")
    assert outcome.code == 2
    assert "'price' holds 1e+30 in row 8" in outcome.err
    assert "correct or drop these rows" in outcome.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("cell", ["1e30", "-1e39", "1e308", "-9.97e36"])
def test_a_huge_cell_is_bounded_and_named_in_predictions(
    meritnas: Command, trained: Path, cell: str
) -> None:
    frame = table(20, seed=1).drop(columns="churn").astype(object)
    frame.to_csv("plain.csv", index=False)
    frame.loc[4, "height"] = cell
    frame.to_csv("new.csv", index=False)
    outcome, plain = (meritnas("predict", trained, name) for name in ("new.csv", "plain.csv"))
    assert outcome.code == 0
    assert "note: column 'height'" in outcome.err
    assert f": 1, such as {float(cell):g}" in outcome.err
    lines, others = outcome.out.splitlines(), plain.out.splitlines()
    assert "such as" not in plain.err
    assert all(lines[5].split(","))  # an answer, and its probabilities
    assert [*lines[:5], *lines[6:]] == [*others[:5], *others[6:]]


def test_rows_without_an_answer_stay_empty_and_are_named(meritnas: Command, broken: Path) -> None:
    frame = table(12, seed=1)
    frame.to_csv("new.csv", index=False)
    lacking = [k + 1 for k in np.flatnonzero(frame.city == "Bonn")]
    assert 0 < len(lacking) < 10
    outcome = meritnas("predict", broken, "new.csv")
    assert outcome.code == 1
    lines = outcome.out.splitlines()
    assert [k for k, line in enumerate(lines) if line == ",,"] == lacking
    told = f"error: the network has no answer for {len(lacking)} of 12 rows"
    assert told in outcome.err
    assert f"counted from 1: {', '.join(map(str, lacking))};" in outcome.err
    assert f"{12 - len(lacking)} rows with known 'churn': accuracy" in outcome.err
    quiet = meritnas("predict", broken, "new.csv", "--quiet", "--out", "answers.csv")
    assert quiet.code == 1
    assert quiet.err.startswith(told)
    assert Path("answers.csv").read_text() == outcome.out
    found = json.loads(meritnas("predict", broken, "new.csv", "--json").out)
    assert found["unanswered"] == lacking
    nothing: dict[str, Any] = dict.fromkeys(
        ["predicted_churn", "probability_no", "probability_yes"]
    )
    assert [k + 1 for k, one in enumerate(found["predictions"]) if one == nothing] == lacking


def test_in_python_rows_without_an_answer_are_an_error(broken: Path) -> None:
    predictor, frame = library.load_predictor(broken), table(12, seed=1)
    for ask in (predictor.predict, predictor.table):
        with pytest.raises(DataError, match=r"no answer for \d of 12 rows.*counted from 1"):
            ask(frame)
    others = frame[frame.city != "Bonn"]
    assert set(predictor.predict(others)) <= {"yes", "no"}


def test_rows_whose_answer_is_known_are_scored(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1)
    frame.loc[20:].to_csv("known.csv", index=False)
    frame.loc[:19, "churn"] = None
    frame.to_csv("new.csv", index=False)
    known, some = (meritnas("predict", trained, name) for name in ("known.csv", "new.csv"))
    scores = known.err.splitlines()[-1]
    assert scores.startswith("10 rows with known 'churn': accuracy")
    assert scores in some.err
    assert "note: 20 rows have no 'churn' and are in no score" in some.err
    one, other = (
        json.loads(meritnas("predict", trained, name, "--json").out)
        for name in ("known.csv", "new.csv")
    )
    assert (one["scored"], one["without_target"]) == (10, 0)
    assert (other["scored"], other["without_target"]) == (10, 20)
    assert one["scores"] == other["scores"]
    frame.assign(churn=None).to_csv("none.csv", index=False)
    outcome = meritnas("predict", trained, "none.csv")
    assert outcome.code == 0
    assert "note: not scored: 0 rows with an answer and a known 'churn' are too few" in outcome.err


@pytest.mark.parametrize("target", ["churn", "price"])
def test_a_network_of_no_use_is_called_so(meritnas: Command, target: str) -> None:
    frame = table() if target == "churn" else regression()
    frame.to_csv("new.csv", index=False)
    wild = ("--learning-rate", "1000", "--weight-decay", "0")
    outcome = meritnas("search", "new.csv", "--target", target, *SHORT, *wild, "--json")
    assert outcome.code == 0
    found = json.loads(outcome.out)
    (note,) = [text for text in found["notes"] if "no better than" in text]
    always = "the most frequent class (accuracy" if target == "churn" else "the mean (R2 -"
    assert f"no better than always answering {always}" in note
    assert "smaller learning rate" in note
    assert outcome.err.splitlines()[-1] == f"note: {note}"
    page = Path(found["run"], "report.html").read_text()
    assert note.replace("'", "&#39;") in re.sub(r'<span class="whole">([^<]*)</span>', r"\1", page)


def test_a_network_of_some_use_is_not() -> None:
    frame = table(300)
    frame.assign(churn=np.where(frame.height > 170, "yes", "no")).to_csv("new.csv", index=False)
    more = ("--epochs", "5", "--retrain-epochs", "40", "--retrain-seeds", "1", "--widths", "8,16")
    outcome = run("search", "new.csv", "--target", "churn", *more, "--json", "--quiet")
    assert not [note for note in json.loads(outcome.out)["notes"] if "no better" in note]


def test_where_all_trainings_diverge_resuming_says_the_same(meritnas: Command) -> None:
    table().to_csv("new.csv", index=False)
    wild = ("--learning-rate", "1e30", "--weight-decay", "0", "--epochs", "2", "--out", "run")
    first = meritnas("retrain", "new.csv", "--target", "churn", "--architecture", "4-4", *wild)
    again = meritnas("search", "--resume", "run")
    error = "error: training has diverged"
    for outcome in (first, again):
        assert outcome.code == 2
        assert outcome.err.splitlines()[-1].startswith(error)
    assert first.err.splitlines()[-1] == again.err.splitlines()[-1]
    assert not Path("run/result.json").exists()
    assert not Path("run/model.safetensors").exists()
    assert "all diverged" in meritnas("show", "run").out
