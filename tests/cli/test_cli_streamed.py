"""Commands on Parquet files that are read in pieces."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from cli_helpers import EVENTS, Forked, Outcome, table
from test_cli_process import assert_same_run, wait_for

from meritnas.cli.main import main
from meritnas.data.files import parquet_table
from meritnas.data.tables import kind
from meritnas.engine import loop

Command = Callable[..., Outcome]

SEARCH = (
    *("--target", "churn", "--max-params", "400", "--widths", "4,8,12", "--epochs", "6"),
    *("--retrain-epochs", "4", "--retrain-seeds", "1", "--finalists", "1", "--batch-size", "32"),
    *("--scaling", "standard", "--dropout", "0", "--threads", "1", "--no-yardstick"),
    *("--stream", "--quiet"),
)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sales.parquet"
    table(700).to_parquet(path, row_group_size=100)
    return path


@pytest.fixture(scope="module")
def undisturbed(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
        with pytest.raises(SystemExit) as ended:
            main(["search", str(rows), *SEARCH, "--out", str(run)])
    assert not ended.value.code
    return run


def test_killed_a_search_on_streamed_rows_ends_like_an_undisturbed_one(
    meritnas: Command, rows: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Path("run")
    process = Forked("search", rows, *SEARCH, "--out", run)
    wait_for(run / "checkpoint.pt", process)
    process.kill()
    process.communicate()
    assert not (run / "architecture.json").exists()
    monkeypatch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
    assert meritnas("search", "--resume", run, "--quiet").code == 0
    assert_same_run(run, undisturbed)


def test_a_run_does_not_go_on_with_other_rows(meritnas: Command, undisturbed: Path) -> None:
    Path("run").mkdir()
    config = json.loads((undisturbed / "config.json").read_text())
    assert config["data"]["streamed"] is True
    other = Path("sales.parquet").resolve()
    table(700, seed=1).to_parquet(other, row_group_size=100)
    config["data"]["location"] = str(other)
    Path("run/config.json").write_text(json.dumps(config))
    done = meritnas("search", "--resume", "run", "--quiet")
    assert done.code == 2
    assert "sales has changed since run" in done.err


@pytest.mark.parametrize("shape", ["file", "folder"])
def test_columns_of_a_large_table_are_those_of_the_table(
    meritnas: Command, rows: Path, shape: str
) -> None:
    data = rows
    if shape == "folder":
        data = Path("sales")
        data.mkdir()
        for part in range(2):
            table(700)[350 * part :][:350].to_parquet(data / f"{part}.parquet")
    whole = meritnas("columns", rows, "--no-stream")
    found = meritnas("columns", data, "--stream")
    assert (found.code, found.out) == (0, whole.out)
    assert meritnas("columns", data).out == whole.out
    shown = [
        json.loads(meritnas("columns", data, "--target", "churn", "--json", *ways).out)
        for ways in (["--stream"], ["--no-stream"])
    ]
    names = [[(row["column"], row["taken_as"]) for row in one["columns"]] for one in shown]
    assert names[0] == names[1]  # other rows are for training, so numbers differ
    assert shown[0]["notes"] == shown[1]["notes"]
    wrong = meritnas("columns", data, "--target", "chum", "--stream")
    assert wrong.code == 2
    assert "did you mean 'churn'?" in wrong.err


def test_columns_without_a_target_that_can_be_learned(meritnas: Command) -> None:
    table(300).assign(churn="same").to_parquet("t.parquet", row_group_size=90)
    for ways in (["--stream"], []):
        found = meritnas("columns", "t.parquet", "--target", "churn", *ways)
        assert "cannot be learned: the target 'churn' has the one class" in found.out


def assert_close(one: pd.DataFrame, other: pd.DataFrame) -> None:
    """Equal but for the rounding of products of matrices of other sizes."""
    pd.testing.assert_frame_equal(one, other, rtol=1e-5)


def test_predictions_in_pieces_are_those_of_the_whole(
    meritnas: Command, rows: Path, undisturbed: Path
) -> None:
    whole = meritnas("predict", undisturbed, rows)
    for place in (["--stream"], ["--stream", "--out", "answers.csv"]):
        found = meritnas("predict", undisturbed, rows, *place)
        assert found.code == 0
        text = Path("answers.csv").read_text() if "--out" in place else found.out
        assert_close(pd.read_csv(io.StringIO(text)), pd.read_csv(io.StringIO(whole.out)))
        assert found.err.splitlines() == whole.err.splitlines()
    answers = json.loads(meritnas("predict", undisturbed, rows, "--stream", "--json").out)
    at_once = json.loads(meritnas("predict", undisturbed, rows, "--json").out)
    assert answers.keys() == at_once.keys()
    assert_close(*(pd.DataFrame(each["predictions"]) for each in (answers, at_once)))
    assert len(answers["predictions"]) == answers["scored"] == 700
    refused = meritnas("predict", undisturbed, rows, "--stream", "--out", "answers.csv")
    assert refused.code == 2
    assert "answers.csv exists already" in refused.err


def test_what_is_like_nothing_seen_is_noted_of_the_first_rows(
    meritnas: Command, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "_MOST_SCORED", 100)
    table(500).assign(city="Oslo").to_parquet("new.parquet", row_group_size=120)
    found = meritnas("predict", undisturbed, "new.parquet", "--stream", "--out", "new.csv")
    assert "of the first 120 of 500 rows: column 'city': 120 of 120 values are no" in found.err
    counted, said = found.err.splitlines()[-1].split(" rows with known 'churn', drawn at random: ")
    assert 70 < int(counted) < 130
    assert said.startswith("accuracy ")
    assert len(pd.read_csv("new.csv")) == 500


def test_a_damaged_group_leaves_nothing_half_written(
    meritnas: Command, rows: Path, undisturbed: Path
) -> None:
    content = bytearray(rows.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 3000] = bytes(3000)
    Path("bad.parquet").write_bytes(content)
    found = meritnas("predict", undisturbed, "bad.parquet", "--stream", "--out", "bad.csv")
    assert found.code == 2
    assert "bad.parquet is not a readable parquet file" in found.err
    assert [path.name for path in Path().iterdir()] == ["bad.parquet"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("search", "t.csv", "--target", "churn", "--stream"), "only Parquet files, or a folder"),
        (("columns", "wine", "--stream"), "only Parquet files, or a folder"),
        (("columns", "none.parquet", "--stream"), "no file none.parquet"),
        (("search", "mnist5k", "--stream"), "stream is for tables, and these are images"),
        (("search", "empty", "--target", "a", "--stream"), "only Parquet files"),
    ],
)
def test_what_cannot_be_streamed(meritnas: Command, arguments: tuple[str, ...], says: str) -> None:
    table().to_csv("t.csv", index=False)
    Path("empty").mkdir()
    found = meritnas(*arguments)
    assert found.code == 2
    assert says in found.err


def test_a_table_larger_than_a_share_of_memory_is_streamed_by_itself(
    meritnas: Command, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_table, "machine_memory", lambda: 50_000)
    short = [*SEARCH[:-2], "--epochs", "1", "--retrain-epochs", "1", "--json", "--out", "run"]
    notes = json.loads(meritnas("search", rows, *short).out)["notes"]
    assert any("700 rows are streamed from 7 row groups" in note for note in notes)
