from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SHORT, Outcome

Command = Callable[..., Outcome]

NOWHERE = ["file/there", "x" * 300, "file/deep/there", ""]


def refused(outcome: Outcome) -> None:
    assert outcome.code == 2, outcome
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert "another" in outcome.err
    assert "space" not in outcome.err


@pytest.mark.parametrize("place", NOWHERE)
def test_a_search_says_why_its_folder_cannot_be_made(
    meritnas: Command, sales: Path, place: str
) -> None:
    Path("file").write_text("mine")
    refused(meritnas("search", sales, "--target", "churn", "--out", place, "--quiet", *SHORT))
    assert sorted(path.name for path in Path().iterdir()) == ["file", "sales.csv"]


@pytest.mark.parametrize("place", NOWHERE)
def test_a_comparison_says_why_its_folder_cannot_be_made(
    meritnas: Command, sales: Path, place: str
) -> None:
    Path("file").write_text("mine")
    given = ["--target", "churn", "--strategies", "random,tabnas", "--seeds", "1", "--quiet"]
    refused(meritnas("compare", sales, *given, "--out", place, *SHORT))
    assert sorted(path.name for path in Path().iterdir()) == ["file", "sales.csv"]


@pytest.mark.parametrize("place", [*NOWHERE, "."])
@pytest.mark.parametrize("command", ["report", "predict"])
def test_a_file_that_cannot_be_written_is_said(
    meritnas: Command, trained: Path, command: str, place: str
) -> None:
    Path("file").write_text("mine")
    given = [trained.parent / "sales.csv", "--quiet"] if command == "predict" else []
    refused(meritnas(command, trained, *given, "--out", place, "--force"))
    assert [path.name for path in Path().iterdir()] == ["file"]


@pytest.mark.parametrize("place", NOWHERE[:-1])
def test_an_export_says_why_its_folder_cannot_be_made(
    meritnas: Command, trained: Path, place: str
) -> None:
    Path("file").write_text("mine")
    refused(meritnas("export", trained, "--to", "python", "--out", place, "--force"))
    assert [path.name for path in Path().iterdir()] == ["file"]
