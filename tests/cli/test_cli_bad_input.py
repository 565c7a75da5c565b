from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import SHORT, Outcome, table

from unchecked import unchecked_copy

Command = Callable[..., Outcome]


def refused(outcome: Outcome, *words: str) -> None:
    """One line that says what is wrong, exit code 2, nothing on standard output."""
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def test_a_missing_file(meritnas: Command) -> None:
    refused(meritnas("search", "nowhere.csv", "--target", "y"), "no file nowhere.csv", "digits")
    assert not Path("runs").exists()


def test_a_misspelt_bundled_name(meritnas: Command) -> None:
    refused(meritnas("search", "digit"), "did you mean 'digits'?")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--target", "chrun"], ["did you mean 'churn'?", "height"]),
        ([], ["--target", "height"]),
        (["--target", "churn", "--strategy", "tabnsa"], ["did you mean 'tabnas'?", "evolution"]),
        (["--target", "churn", "--space", "tabluar"], ["did you mean 'tabular'?"]),
        (["--target", "churn", "--strategy", "random", "--beta", "-1"], ["no option 'beta'"]),
        (["--target", "churn", "--population", "5"], ["no option 'population'", "evolution"]),
        (["--target", "churn", "--epochs", "3", "--minutes", "1"], ["either epochs or minutes"]),
        (["--target", "churn", "--epochs", "0"], ["epochs must be at least 1, got 0"]),
        (["--target", "churn", "--retrain-epochs", "0"], ["retrain_epochs must be at least 1"]),
        (["--target", "churn", "--retrain-seeds", "0"], ["retrain_seeds must be at least 1"]),
        (["--target", "churn", "--threads", "0"], ["threads must be at least 1"]),
        (["--target", "churn", "--batch-size", "0"], ["batch_size must be at least 2, got 0"]),
        (["--target", "churn", "--minutes", "0"], ["minutes must be above 0"]),
        (["--target", "churn", "--minutes", "inf"], ["minutes must be above 0 and finite"]),
        (["--target", "churn", "--learning-rate", "nan"], ["learning rate must be above 0"]),
        (["--target", "churn", "--policy-rate", "-1"], ["learning rate must be above 0"]),
        (["--target", "churn", "--samples", "0"], ["samples", "at least 1, got 0", "got 0"]),
        (
            ["--target", "churn", "--sampling", "monte-carlo", "--mc-samples", "0"],
            ["mc_samples must be at least 1"],
        ),
        (["--target", "churn", "--seed", "-1"], ["seed must be at least 0"]),
        (["--target", "churn", "--seed", "99999999999999999999"], ["seed must be below 2**32"]),
        (["--target", "churn", "--layers", "0"], ["at least one hidden layer", "layers=0"]),
        (["--target", "churn", "--widths", "8,few"], ["cannot read the widths '8,few'"]),
        (["--target", "churn", "--widths", "8,,16"], ["cannot read the widths"]),
        (["--target", "churn", "--widths", "0,8"], ["widths of at least 2", "[0, 8]"]),
        (["--target", "churn", "--widths", "8;16", "--layers", "3"], ["3 layers", "2 lists"]),
        (["--target", "churn", "--embedding", "0"], ["embedding must be at least 1"]),
        (["--target", "churn", "--layers", "100000"], ["layers must be at most 1,000"]),
        (["--target", "churn", "--widths", "1000000000"], ["widths must be at most 1,000,000"]),
        (["--target", "churn", "--widths", "1000000"], ["GB to train", "offer smaller sizes"]),
        (["--target", "churn", "--threads", "100000"], ["threads must be at most", "leave it"]),
        (["--target", "churn", "--epochs", "1000000000"], ["epochs must be at most 1,000,000"]),
        (["--target", "churn", "--finalists", "1000000"], ["finalists must be at most 1,000"]),
        (["--target", "churn", "--strategy", ".:x"], ["no strategy '.:x': write module:function"]),
        (["--target", "churn", "--space", "x:"], ["no space 'x:': write module:function"]),
        (["--target", "churn", "--strategy", "os:system"], ["os:system must be a function or a c"]),
        (["--target", "churn", "--device", "cuda:77"], ["device 'cuda:77'", "try cpu"]),
        (["--target", "churn", "--device", "abacus"], ["device 'abacus'", "try cpu"]),
        (["--target", "churn", "--max-params", "50"], ["below the cheapest network, 8-8-8 with"]),
        (["--target", "churn", "--max-params", "-50"], ["below the cheapest network, 8-8-8 with"]),
        (["--target", "churn", "--max-flops", "-1"], ["multiply-adds is below the cheapest"]),
        (["--target", "churn", "--max-size-kb", "0"], ["max_size_kb must be above 0", "got 0"]),
        (["--target", "churn", "--max-size-kb", "nan"], ["max_size_kb must be above 0 and finite"]),
        (["--target", "churn", "--max-size-kb", "0.2"], ["0.200 kB", "8-8-8 with"]),
        (["--target", "churn", "--max-latency-ms", "-1"], ["max_latency_ms must be above 0"]),
        (
            ["--target", "churn", "--max-latency-ms", "0.001", "--widths", "4,8"],
            ["0.001 ms", "cheapest"],
        ),
        (["--target", "churn", "--weight-decay", "-1"], ["weight_decay must be at least 0"]),
        (["--target", "churn", "--weight-decay", "200"], ["below 1 when multiplied"]),
        (["--target", "churn", "--dropout", "1"], ["dropout must be from 0 to below 1, got 1"]),
        (["--target", "churn", "--finalists", "0"], ["finalists must be at least 1"]),
        (["--target", "height", "--class-weight", "balanced"], ["'height' is a number"]),
        (["--target", "churn", "--strategy", "mnasnet"], ["needs a limit", "--max-params"]),
        (["--target", "churn", "--task", "regression"], ["'churn'", "no number"]),
    ],
)
def test_settings_that_cannot_be(
    meritnas: Command, sales: Path, arguments: list[str], words: list[str]
) -> None:
    refused(meritnas("search", sales, *arguments), *words)
    assert [path.name for path in Path().iterdir()] == ["sales.csv"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", ["is empty"]),
        (b"a,churn\n", ["no rows"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" * 20, ["binary, not text"]),
        (b"a,churn\n1,2\n1,2,3\n", ["line 3", "3 fields", "header has 2"]),
        (b"a,churn\n" + b"1,yes\n2,yes\n" * 20, ["one class 'yes'", "nothing to learn"]),
        (b"a,churn\n" + b"1,yes\n2,no\n" * 20 + b"3,\n", ["'churn' is missing in 1 of 41"]),
        (b"a,churn\n" + b"1,yes\n2,no\n" * 20 + b"inf,no\n" * 9, ["'a'", "inf"]),
        (b"a,churn\n" + b"1,2.5\n2,0.5\n" * 20 + b"3,inf\n", ["'churn'", "inf"]),
        (b"a,churn\n" + b"1,yes\n1,no\n" * 20, ["no column is left to learn from", "'a'"]),
        (b"churn\n" + b"yes\nno\n" * 20, ["no column is left to learn from"]),
        (b"a,churn\n1,yes\n2,no\n", ["1 rows", "at least 3"]),
        (b"a,churn\n1,2.5\n2,3.5\n", ["2 rows are too few"]),
    ],
)
def test_tables_that_cannot_be_learned_from(
    meritnas: Command, content: bytes, words: list[str]
) -> None:
    Path("bad.csv").write_bytes(content)
    refused(meritnas("search", "bad.csv", "--target", "churn"), *words)
    assert [path.name for path in Path().iterdir()] == ["bad.csv"]


@pytest.mark.parametrize("name", ["bad.parquet", "bad.csv.gz"])
def test_a_file_that_is_not_what_its_name_says(meritnas: Command, name: str) -> None:
    Path(name).write_bytes(b"a,churn\n1,2\n")
    refused(meritnas("search", name, "--target", "churn"), name, "not a")


def test_a_folder_and_an_unknown_ending(meritnas: Command) -> None:
    Path("photos").mkdir()
    Path("notes.docx").write_text("hello")
    refused(meritnas("search", "photos", "--target", "y"), "is a folder")
    refused(meritnas("search", "notes.docx", "--target", "y"), "format", ".parquet")


def test_nothing_to_search_on(meritnas: Command) -> None:
    refused(meritnas("search"), "name data to search on", "--resume RUN")


def test_an_output_folder_that_exists(meritnas: Command, sales: Path) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.tex").write_text("years of work")
    refused(
        meritnas("search", sales, "--target", "churn", "--out", "mine", *SHORT),
        "output folder mine exists",
        "--resume mine",
    )
    assert [path.name for path in Path("mine").iterdir()] == ["thesis.tex"]


def test_an_output_folder_that_cannot_be_made(meritnas: Command, sales: Path) -> None:
    refused(
        meritnas("search", sales, "--target", "churn", "--out", f"{sales}/run", *SHORT),
        "cannot write to",
    )


def test_training_that_diverges(meritnas: Command, sales: Path) -> None:
    outcome = meritnas(
        *("search", sales, "--target", "churn", "--quiet", *SHORT),
        *("--learning-rate", "1e30", "--weight-decay", "0"),
    )
    refused(outcome, "diverged", "smaller learning rate")


def test_folders_that_are_no_runs(meritnas: Command) -> None:
    Path("mine").mkdir()
    refused(meritnas("search", "--resume", "mine"), "mine is empty", "--out mine")
    Path("mine/notes.txt").write_text("mine")
    refused(meritnas("search", "--resume", "mine"), "not a run of MeritNAS", "config.json")
    Path("mine/notes.txt").unlink()
    refused(meritnas("search", "--resume", "nowhere"), "no run folder nowhere")
    for name in ("mine", "nowhere"):
        refused(meritnas("retrain", name), f"{name} is no run", "--architecture")
    Path("mine/config.json").write_text('{"a": 1}')
    for command in (["search", "--resume"], ["retrain"]):
        refused(meritnas(*command, "mine"), "not written by MeritNAS")
    assert [path.name for path in Path("mine").iterdir()] == ["config.json"]


def test_a_run_of_another_format(meritnas: Command) -> None:
    Path("mine").mkdir()
    Path("mine/config.json").write_text('{"format": "meritnas-run", "version": 99}')
    refused(meritnas("search", "--resume", "mine"), "run format 99")


def unfinished(trained: Path) -> Path:
    """A copy of a run as if it had been killed before its end."""
    unchecked_copy(trained, "run")
    for name in ("result.json", "architecture.json", "retrain.json", "model.safetensors"):
        Path("run", name).unlink()
    return Path("run")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("config.json", b'{"format": "meritnas-run", ', ["config.json is damaged"]),
        ("config.json", b'{"format": "meritnas-run", "version": 1}', ["damaged"]),
        ("config.json", b"\xff\xfe\x00", ["config.json is damaged"]),
        ("preprocessing.json", b"{}", ["preprocessing.json", "damaged"]),
        ("plan.json", b"[", ["plan.json is damaged"]),
        ("plan.json", b"{}", ["plan.json", "damaged"]),
        ("checkpoint.pt", b"PK\x03\x04 cut off", ["checkpoint.pt is damaged", "delete this file"]),
        ("checkpoint.pt", b"", ["checkpoint.pt is damaged", "delete this file"]),
    ],
)
def test_resuming_a_damaged_run(
    meritnas: Command, trained: Path, name: str, content: bytes, words: list[str]
) -> None:
    run = unfinished(trained)
    (run / name).write_bytes(content)
    refused(meritnas("search", "--resume", run, "--quiet"), *words)
    assert (run / name).read_bytes() == content


def test_resuming_with_the_checkpoint_of_another_run(meritnas: Command, trained: Path) -> None:
    run = unfinished(trained)
    other = ("search", "wine", "--out", "other", "--layers", "2", "--quiet", *SHORT)
    assert meritnas(*other).code == 0
    shutil.copy("other/checkpoint.pt", run)
    refused(meritnas("search", "--resume", run, "--quiet"), "does not belong to this run")


@pytest.mark.parametrize("name", ["architecture.json", "retrain.json", "result.json"])
def test_resuming_with_a_damaged_result(meritnas: Command, trained: Path, name: str) -> None:
    unchecked_copy(trained, "run")
    for later in ("result.json", "retrain.json"):
        Path("run", later).unlink()
    Path("run", name).write_text("{}")
    refused(meritnas("search", "--resume", "run", "--quiet"), name, "damaged")


def test_resuming_after_the_data_changed(meritnas: Command, sales: Path) -> None:
    made = ("search", sales, "--target", "churn", "--out", "run", "--quiet", *SHORT)
    assert meritnas(*made).code == 0
    table(seed=1).to_csv(sales, index=False)
    Path("run/result.json").unlink()
    refused(meritnas("search", "--resume", "run"), "has changed since", "start a new run")
    sales.unlink()
    refused(meritnas("search", "--resume", "run"), "no file", "sales.csv")


def test_resuming_takes_no_other_settings(meritnas: Command, trained: Path) -> None:
    outcome = meritnas("search", "digits", "--resume", trained, "--seed", "1", "--mc-samples", "5")
    refused(outcome, "leave out DATA, --seed, --mc-samples")


def test_predicting_with_columns_missing(meritnas: Command, trained: Path) -> None:
    table().drop(columns=["height", "city"]).to_csv("new.csv", index=False)
    refused(meritnas("predict", trained, "new.csv"), "lacks 2 columns", "height", "city", "income")


def test_predicting_from_bad_files(meritnas: Command, trained: Path) -> None:
    refused(meritnas("predict", trained, "nowhere.csv"), "no file nowhere.csv")
    Path("empty.csv").write_text("height,income,city\n")
    refused(meritnas("predict", trained, "empty.csv"), "no rows")
    frame = table(20)
    frame.loc[3, "height"] = np.inf
    frame.to_csv("inf.csv", index=False)
    refused(meritnas("predict", trained, "inf.csv"), "'height'", "inf")
    frame["height"] = "tall"
    frame.to_csv("text.csv", index=False)
    refused(meritnas("predict", trained, "text.csv"), "'height'", "tall")


def test_predicting_from_an_unfinished_run(meritnas: Command, trained: Path, sales: Path) -> None:
    run = unfinished(trained)
    refused(meritnas("predict", run, sales), "no trained network", f"--resume {run}")


def test_predicting_with_damaged_weights(meritnas: Command, trained: Path, sales: Path) -> None:
    shutil.copytree(trained, "run")
    whole = Path("run/model.safetensors").read_bytes()
    Path("run/model.safetensors").write_bytes(whole[:-7])
    refused(meritnas("predict", "run", sales), "model.safetensors is damaged", "retrain run")


def test_predictions_do_not_replace_a_file_unasked(
    meritnas: Command, trained: Path, sales: Path
) -> None:
    Path("answers.csv").write_text("precious")
    refused(meritnas("predict", trained, sales, "--out", "answers.csv"), "exists", "--force")
    assert Path("answers.csv").read_text() == "precious"
    refused(meritnas("predict", trained, sales, "--out", "no/where.csv", "--quiet"), "cannot write")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--architecture", "5-5-5"], ["'5'"]),
        (["--architecture", "8-8"], ["2 decisions", "3"]),
        (["--architecture", "16-16-16"], ["breaks the run's limits", "300"]),
        (["--epochs", "0"], ["at least 1"]),
        (["--seeds", "0"], ["at least 1"]),
    ],
)
def test_retraining_what_cannot_be(
    meritnas: Command, trained: Path, arguments: list[str], words: list[str]
) -> None:
    before = {path: path.read_bytes() for path in trained.iterdir()}
    refused(meritnas("retrain", trained, "--quiet", *arguments), *words)
    assert {path: path.read_bytes() for path in trained.iterdir()} == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["serach"],
        ["search", "digits", "--max-param", "5"],
        ["search", "--epochs", "many"],
        ["list"],
    ],
)
def test_mistyped_commands(meritnas: Command, arguments: list[str]) -> None:
    outcome = meritnas(*arguments)
    assert outcome.code == 2
    assert "Traceback" not in outcome.err
