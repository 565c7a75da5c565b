from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Outcome, run

Command = Callable[..., Outcome]

TINY = [
    *["--space", "recurrent", "--width", "6", "--batch-size", "4", "--window", "5"],
    *["--epochs", "1", "--retrain-epochs", "1", "--threads", "1", "--finalists", "1"],
]
LIMIT = 600


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    lines = [f"{a} saw {b}, and {b} saw {a}." for a, b in rng.choice(["he", "she"], (40, 2))]
    file = tmp_path_factory.mktemp("text") / "book.txt"
    file.write_text("\n".join(lines))
    return file


@pytest.fixture(scope="module")
def searched(book: Path) -> tuple[Outcome, Path]:
    """A search under a limit; not to be changed."""
    folder = book.parent / "run"
    outcome = run("search", book, "--max-params", str(LIMIT), "--out", folder, *TINY)
    assert outcome.code == 0, outcome.err
    return outcome, folder


def test_a_search_ends_with_perplexity_within_the_limit(searched: tuple[Outcome, Path]) -> None:
    outcome, run = searched
    assert "test perplexity" in outcome.out
    assert "held-out words" in outcome.out
    assert "meritnas predict" in outcome.out
    result = json.loads((run / "result.json").read_text())
    assert result["params"] <= LIMIT
    assert result["test"]["perplexity"] == pytest.approx(np.exp(result["test"]["log_loss"]))
    assert 1.0 < result["test"]["perplexity"] < 12.0


def test_the_found_model_writes_on_and_the_seed_decides(
    searched: tuple[Outcome, Path], meritnas: Command
) -> None:
    _, run = searched
    asked = ("predict", run, "--prompt", "He saw", "--words", "12")
    first, again = meritnas(*asked), meritnas(*asked)
    assert first.code == 0, first.err
    assert first.out == again.out
    assert first.out.startswith("he saw")
    assert meritnas(*asked, "--seed", "5").out != first.out
    assert "<unk>" not in first.out
    likely = meritnas(*asked, "--temperature", "0", "--json")
    assert meritnas(*asked, "--temperature", "0", "--seed", "9", "--json").out == likely.out
    assert json.loads(likely.out)["text"].startswith("he saw")


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--words", "0"], "words must be at least 1, got 0"),
        (["--words", "1000000000"], "words must be at most 1,000,000, got 1000000000"),
        (["--seed", "-1"], "seed must be at least 0, got -1"),
        (["--temperature", "nan"], "temperature must be at least 0 and finite, got nan"),
    ],
)
def test_numbers_that_write_nothing_are_refused(
    searched: tuple[Outcome, Path], meritnas: Command, flags: list[str], says: str
) -> None:
    outcome = meritnas("predict", searched[1], "--prompt", "He saw", *flags)
    assert (outcome.code, outcome.err) == (2, f"error: {says}\n")


def test_nothing_before_the_text_is_shown_without_a_prompt(
    searched: tuple[Outcome, Path], meritnas: Command
) -> None:
    outcome = meritnas("predict", searched[1], "--words", "3", "--out", "new.txt")
    assert outcome.code == 0, outcome.err
    assert Path("new.txt").read_text().strip()


def test_an_interrupted_search_goes_on_to_the_same_result(
    searched: tuple[Outcome, Path], book: Path, meritnas: Command
) -> None:
    """All but the checkpoint of the first half is gone."""
    whole = json.loads((searched[1] / "result.json").read_text())
    outcome = meritnas("search", book, "--max-params", str(LIMIT), "--out", "again", *TINY)
    assert outcome.code == 0, outcome.err
    for name in ("result.json", "retrain.json", "architecture.json", "model.safetensors"):
        (Path("again") / name).unlink()
    outcome = meritnas("search", "--resume", "again")
    assert outcome.code == 0, outcome.err
    found = json.loads(Path("again/result.json").read_text())
    assert found["architecture"] == whole["architecture"]
    assert found["test"] == whole["test"]


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--widths", "4,8"], "widths is for tables, and this is a text"),
        (["--channels", "4"], "channels is for images, and this is a text"),
        (["--target", "y"], "target is for tables"),
        (["--nodes", "9"], "nodes must be at most 8, got 9"),
        (["--vocabulary", "1"], "vocabulary must be at least 2, got 1"),
        (["--max-size-kb", "0.1"], "the cheapest"),
        (["--max-params", "30"], "the cheapest"),
        (["--strategy", "pc-darts"], "language models have none; use 'darts'"),
    ],
)
def test_what_makes_no_sense_for_a_text(
    flags: list[str], says: str, book: Path, meritnas: Command
) -> None:
    outcome = meritnas("search", book, *TINY, *flags, "--out", "run")
    assert outcome.code == 2
    assert says in " ".join(outcome.err.split())
    assert not Path("run").exists()


def test_a_run_on_a_text_reads_no_file_and_others_take_no_prompt(
    searched: tuple[Outcome, Path], book: Path, meritnas: Command
) -> None:
    outcome = meritnas("predict", searched[1], book)
    assert outcome.code != 0
    assert "give a --prompt" in " ".join(outcome.err.split())
    outcome = meritnas("columns", searched[1])
    assert "a text, which has no columns" in " ".join(outcome.err.split())


@pytest.mark.parametrize("flags", [["--prompt", "a"], ["--words", "3"], ["--seed", "1"]])
def test_a_run_on_a_table_does_not_write(flags: list[str], meritnas: Command) -> None:
    asked = ("--epochs", "1", "--retrain-epochs", "1", "--widths", "4,8", "--retrain-seeds", "1")
    assert meritnas("search", "wine", *asked, "--finalists", "1", "--out", "run").code == 0
    outcome = meritnas("predict", "run", "wine", *flags)
    assert outcome.code == 2
    assert "run was not made on a text" in " ".join(outcome.err.split())


def test_text_flags_are_refused_for_tables(meritnas: Command) -> None:
    outcome = meritnas("search", "wine", "--vocabulary", "50")
    assert outcome.code != 0
    assert "vocabulary is for texts, and this is a table" in " ".join(outcome.err.split())


def test_a_given_cell_is_trained_on_a_text(book: Path, meritnas: Command) -> None:
    cell = "|tanh~0|+|relu~0|zero~1|"
    small = ["--width", "6", "--nodes", "2", "--window", "5", "--batch-size", "4"]
    outcome = meritnas(
        *["retrain", book, "--space", "recurrent", "--architecture", cell, *small],
        *["--epochs", "1", "--seeds", "1", "--json", "--quiet"],
    )
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["architecture"] == cell
    assert found["strategy"] == "given"
