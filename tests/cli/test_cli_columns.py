from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from cli_helpers import Outcome, table

Command = Callable[..., Outcome]


def lines(outcome: Outcome) -> dict[str, str]:
    """The rows of the table: column -> the rest of the line."""
    assert outcome.code == 0
    cells = [line.split(maxsplit=1) for line in outcome.out.splitlines() if " " in line.strip()]
    return {cell[0]: " ".join(cell[1].split()) for cell in cells}


def decided(outcome: Outcome) -> dict[str, str]:
    assert outcome.code == 0
    found = json.loads(outcome.out)["columns"]
    assert all(set(row) == {"column", "taken_as", "details"} for row in found)
    return {row["column"]: row["taken_as"] for row in found}


def test_a_file(meritnas: Command) -> None:
    days = pd.date_range("2024-01-01", periods=60).strftime("%d.%m.%Y")
    table().assign(day=days, same=1).to_csv("sales.csv", sep=";", decimal=",")
    found = lines(meritnas("columns", "sales.csv", "--target", "churn"))
    assert found["height"].startswith("number mean 17")
    assert found["city"] == "category 3 kept"
    assert found["day"].startswith("date 2024-01-01 to 2024-02-29")
    assert found["churn"] == "target 2 classes: no, yes"
    assert found["same"] == "left out constant, 1 in every row"
    assert "left out row numbers" in found["Unnamed:"]


def test_a_file_as_json_in_its_own_order(meritnas: Command, sales: Path) -> None:
    found = decided(meritnas("columns", sales, "--json"))
    assert list(found) == ["height", "income", "city", "churn"]
    assert found == {
        "height": "number",
        "income": "number",
        "city": "category",
        "churn": "category",
    }
    assert decided(meritnas("columns", sales, "--target", "income", "--json"))["income"] == "target"


@pytest.mark.parametrize("name", ["wine", "diabetes"])
def test_bundled_data_has_its_target(meritnas: Command, name: str) -> None:
    Path(name).mkdir()
    assert decided(meritnas("columns", name, "--json"))["target"] == "target"


def test_a_run(meritnas: Command, trained: Path) -> None:
    found = decided(meritnas("columns", trained, "--json"))
    assert found == {
        "height": "number",
        "income": "number",
        "city": "category",
        "churn": "target",
    }
    assert lines(meritnas("columns", trained))["churn"] == "target 2 classes: no, yes"


def test_a_target_that_cannot_be_learned_is_shown(meritnas: Command) -> None:
    Path("t.csv").write_text("a,y\n1,p\n2,p\n5,q\n")
    outcome = meritnas("columns", "t.csv", "--target", "y", "--json")
    assert decided(outcome) == {"a": "category", "y": "target"}
    assert "cannot be learned: the class 'q'" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv"], "no file nowhere.csv"),
        (["wien"], "did you mean 'wine'?"),
        (["sales.csv", "--target", "chrun"], "did you mean 'churn'?"),
        (["."], "is not a run of MeritNAS"),
        ([".", "--target", "y"], "a run has its own target; leave out --target"),
        (["same.csv"], "no column is left to learn from"),
        (["wide.csv"], "line 3 of wide.csv has 3 fields but the header has 2"),
    ],
)
def test_bad_input(meritnas: Command, sales: Path, arguments: list[str], words: str) -> None:
    Path("same.csv").write_text("a,b\n1,2\n1,2\n")
    Path("wide.csv").write_text("a,b\n1,2\n1,2,3\n")
    outcome = meritnas("columns", *arguments)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith("error: ")
    assert words in outcome.err
    assert sales.exists()


def test_predict_tells_what_is_unfamiliar(meritnas: Command, trained: Path) -> None:
    new = table(30, seed=1).drop(columns="churn").assign(city="Atlantis", income=None)
    new["height"] += 1000
    new.to_csv("new.csv")
    outcome = meritnas("predict", trained, "new.csv")
    assert outcome.code == 0
    notes = outcome.err.splitlines()
    assert len(notes) == 3
    assert all(note.startswith("note: column '") for note in notes)
    assert "30 of 30 values are no category that was trained on" in outcome.err
    assert meritnas("predict", trained, "new.csv", "--quiet").err == ""


def test_predict_reads_numbers_as_the_search_did(meritnas: Command, trained: Path) -> None:
    frame = table(30, seed=1).drop(columns="churn")
    frame.to_csv("new.csv", index=False)
    frame.to_csv("comma.csv", sep=";", decimal=",")
    assert (
        meritnas("predict", trained, "comma.csv").out == meritnas("predict", trained, "new.csv").out
    )


_WITHOUT_TORCH = """
import sys
from meritnas.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    assert not ended.code, ended.code
assert "torch" not in sys.modules
"""


def without_torch(*arguments: object) -> str:
    """What a command says in a process of its own, which must not have imported torch."""
    line = [sys.executable, "-c", _WITHOUT_TORCH, *map(str, arguments)]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_table_is_shown_without_torch(sales: Path) -> None:
    assert "churn" in without_torch("columns", sales, "--target", "churn")


def test_a_run_is_shown_without_torch(trained: Path) -> None:
    assert "churn" in without_torch("columns", trained)


def messy() -> pd.DataFrame:
    frame = table(120)
    frame["height"] = [f"{value:.1f} cm" for value in frame["height"]]
    frame["income"] = frame["income"].map("${:,.2f}".format)
    frame.loc[[3, 9], "income"] = ["tall", "unknown"]
    frame["day"] = pd.date_range("2024-01-01", periods=120).strftime("%d.%m.%Y")
    frame["customer_id"] = range(1000, 1120)
    return frame


def test_columns_takes_the_flags_of_a_search_and_shows_what_it_does(meritnas: Command) -> None:
    messy().to_csv("messy.csv", index=False)
    how = ("--target", "churn", "--split", "time=day", "--drop", "customer_id")
    shown = json.loads(meritnas("columns", "messy.csv", *how, "--json").out)
    run = meritnas(
        *("search", "messy.csv", *how, "--scaling", "standard", "--epochs", "2", "--json"),
        *("--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "1", "--out", "run"),
    )
    assert run.code == 0
    decided = json.loads(meritnas("columns", "run", "--json").out)["columns"]
    assert sorted(map(str, shown["columns"])) == sorted(map(str, decided))
    rows = {row["column"]: row for row in decided}
    assert rows["height"]["details"].startswith("in cm, mean 17")
    assert "2 cells count as missing, such as 'tall'" in rows["income"]["details"]
    assert rows["customer_id"]["taken_as"] == "left out"
    notes = json.loads(run.out)["notes"]
    assert [note for note in shown["notes"] if "standardised" not in note] == [
        note for note in notes if note in shown["notes"]
    ]
    assert any("split by 'day': trained on the earliest 72" in note for note in notes)
    messy().drop(columns=["churn", "customer_id"]).to_csv("new.csv", index=False)
    answers = meritnas("predict", "run", "new.csv", "--keep", "day", "--json")
    assert json.loads(answers.out)["predictions"][0]["day"] == "01.01.2024"
    assert "column 'income': 2 values are no numbers" in answers.err


def test_columns_names_what_makes_scores_better(meritnas: Command) -> None:
    messy().assign(kept=lambda f: f["churn"].map({"no": "stays", "yes": "goes"})).to_csv("m.csv")
    outcome = meritnas("columns", "m.csv", "--target", "churn", "--date", "day")
    assert "column 'customer_id' has another whole number in every row" in outcome.err
    assert "column 'day' holds dates and rows are split at random" in outcome.err
    assert "column 'kept' alone tells 100 %" in outcome.err
    for arguments, words in (
        (["m.csv", "--drop", "nothing"], "no column 'nothing'"),
        (["m.csv", "--split", "later"], "split must be random, time=COLUMN or group=COLUMN"),
        (["m.csv", "--numeric", "city", "--target", "churn"], "'city' cannot be taken as numbers"),
    ):
        bad = meritnas("columns", *arguments)
        assert (bad.code, bad.out, words in bad.err) == (2, "", True)
