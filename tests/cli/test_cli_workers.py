"""Searches on several processes, as a user starts and ends them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from cli_helpers import EVENTS, Forked, Outcome, finish, table
from test_cli_process import LONGER, assert_same_run, wait_for

from meritnas.cli.main import main
from meritnas.engine import loop
from meritnas.run import local_ranks

Command = Callable[..., Outcome]

SHARED = (*LONGER, "--workers", "2")

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes")


@pytest.fixture(scope="module", autouse=True)
def many_events() -> Iterator[None]:
    """As many as the processes of `Forked` have, so that logs can be compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
        yield


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sales.csv"
    table(1000).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def on_one_rank(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must end like."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_ranks, "cores", lambda: 1)
        with pytest.raises(SystemExit) as ended:
            main(["search", str(rows), *SHARED, "--out", str(run)])
    assert not ended.value.code
    return run


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(words[1]) == pid and words[0] != "Z":
            found.append(int(place.parent.name))
    return found


def gone(pid: int) -> bool:
    until = time.monotonic() + 20.0
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def started(rows: Path, run: Path) -> tuple[Forked, int]:
    """A search on two ranks that has taken some steps, and the other rank's process."""
    process = Forked("search", rows, *SHARED, "--out", run)
    wait_for(run / "checkpoint.pt", process)
    (rank,) = children(process.pid)
    return process, rank


def test_killed_on_two_ranks_a_run_ends_on_one_as_if_it_had_begun_there(
    meritnas: Command, monkeypatch: pytest.MonkeyPatch, rows: Path, on_one_rank: Path
) -> None:
    run = Path("run")
    process, rank = started(rows, run)
    process.kill()
    process.communicate()
    assert gone(rank)
    assert not (run / "architecture.json").exists()
    monkeypatch.setattr(local_ranks, "cores", lambda: 1)
    assert meritnas("search", "--resume", run, "--quiet").code == 0
    assert_same_run(run, on_one_rank)


def test_a_rank_that_is_killed_ends_all_with_one_message(
    meritnas: Command, monkeypatch: pytest.MonkeyPatch, rows: Path, on_one_rank: Path
) -> None:
    run = Path("run")
    process, rank = started(rows, run)
    os.kill(rank, signal.SIGKILL)
    outcome = finish(process)
    assert outcome.code == 2
    assert outcome.err == (
        "error: process 1 of the search has ended: it was killed by SIGKILL, perhaps for lack of "
        "memory; all processes of the search were ended: continue it with --resume RUN, or start "
        "it again\n"
    )
    assert gone(rank)
    monkeypatch.setattr(local_ranks, "cores", lambda: 2)
    assert meritnas("search", "--resume", run, "--quiet").code == 0
    assert_same_run(run, on_one_rank)


def test_an_interrupt_ends_all_ranks(rows: Path) -> None:
    process, rank = started(rows, Path("run"))
    os.kill(rank, signal.SIGINT)  # a terminal sends it to all
    process.send_signal(signal.SIGINT)
    outcome = finish(process)
    assert outcome.code == 130
    assert outcome.err == "interrupted; continue with: meritnas search --resume run\n"
    assert gone(rank)


WORDS = (
    *("--space", "recurrent", "--width", "8", "--nodes", "2", "--workers", "2", "--quiet"),
    *("--epochs", "2", "--retrain-epochs", "1", "--candidates", "2", "--finalists", "1"),
    *("--no-plain", "--window", "5", "--batch-size", "4"),
)


def test_what_networks_remember_of_a_text_is_the_same_on_one_process_and_on_two(
    meritnas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("book.txt").write_text("a b c d e a c f g h " * 60)
    for cores in (1, 2):
        monkeypatch.setattr(local_ranks, "cores", lambda cores=cores: cores)
        outcome = meritnas("search", "book.txt", *WORDS, "--out", f"on-{cores}")
        assert outcome.code == 0, outcome.err
    assert_same_run(Path("on-1"), Path("on-2"))


def test_a_text_has_no_more_workers_than_windows(meritnas: Command) -> None:
    Path("book.txt").write_text("a b c d e f g " * 400)
    outcome = meritnas("search", "book.txt", "--space", "recurrent", "--workers", "500")
    assert outcome.code == 2
    assert "workers must be at most" in outcome.err
    assert "give fewer workers" in outcome.err
    assert not Path("runs").exists()


@pytest.mark.parametrize("given", ["0", "-1", "100000"])
def test_a_number_of_workers_that_makes_no_sense_is_refused(
    meritnas: Command, rows: Path, given: str
) -> None:
    outcome = meritnas("search", rows, "--target", "churn", "--workers", given)
    assert outcome.code == 2
    assert "workers must be" in outcome.err
