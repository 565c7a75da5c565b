"""Files that are damaged, hostile or merely odd, through the front door."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from bad_files.archives import ARCHIVES
from bad_files.case import Case
from bad_files.parquets import PARQUETS
from bad_files.tables import TABLES
from cli_helpers import Outcome

from meritnas.data.files.loaded import load_table
from meritnas.data.images.source import load_images

Command = Callable[..., Outcome]

_SECONDS = 60


@pytest.fixture(autouse=True)
def _nothing_hangs() -> Iterator[None]:
    """What is read forever ends as a failure."""

    def stop(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise TimeoutError("this file is read forever")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(_SECONDS)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def check(outcome: Outcome, case: Case) -> None:
    """An error is one line, and nothing is written."""
    assert outcome.code == 2, outcome
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert len(outcome.err) < 2_500
    assert "Traceback" not in outcome.err
    assert case.says in outcome.err
    assert outcome.err.strip().isprintable()


@pytest.mark.parametrize("name", TABLES)
def test_a_table(meritnas: Command, tmp_path: Path, name: str) -> None:
    case = TABLES[name]
    path = case.make(tmp_path)
    outcome = meritnas("columns", path, *case.options)
    if case.reads is None:
        check(outcome, case)
        return
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out
    assert "\u202e" not in outcome.out
    assert case.reads(load_table(path).frame)


@pytest.mark.parametrize("name", PARQUETS)
def test_a_parquet_file(meritnas: Command, tmp_path: Path, name: str) -> None:
    case = PARQUETS[name]
    path = case.make(tmp_path)
    outcome = meritnas("columns", path, *case.options)
    if case.reads is None:
        check(outcome, case)
        return
    assert outcome.code == 0, outcome.err
    assert "\x1b" not in outcome.out
    assert case.reads(load_table(path).frame)


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_of_images(meritnas: Command, tmp_path: Path, name: str) -> None:
    case = ARCHIVES[name]
    path = case.make(tmp_path)
    if case.reads is None:
        check(meritnas("search", path, *case.options), case)
    else:
        assert case.reads(load_images(path))
