"""Trainings by several processes, as a user starts and ends them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_helpers import EVENTS, SHORT, Forked, Outcome, finish, table
from test_cli_process import assert_same_run, wait_for
from test_cli_workers import children, gone

from meritnas.cli.main import main
from meritnas.cli.who_trains import with_address
from meritnas.engine import loop

Command = Callable[..., Outcome]

_SPACE = ("--max-params", "500", "--widths", "4,8,12,16", "--scaling", "standard")
_LENGTH = ("--epochs", "2", "--retrain-epochs", "20", "--retrain-seeds", "2", "--finalists", "2")
ASKED = ("--target", "churn", *_SPACE, *_LENGTH, "--dropout", "0", "--seed", "3", "--quiet")

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
def by_one(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all others must end like."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    torch.set_num_threads(1)
    with pytest.raises(SystemExit) as ended:
        main(["search", str(rows), *ASKED, "--out", str(run)])
    assert not ended.value.code
    return run


def training(rows: Path, until: str) -> tuple[Forked, list[int]]:
    """A search by two processes that has come to a file and has begun them, and these."""
    process = Forked("search", rows, *ASKED, "--jobs", "2", "--out", "run")
    wait_for(Path("run") / until, process)
    found: list[int] = []
    while len(found) < 2:
        assert process.poll() is None, process.communicate()
        found = children(process.pid)
    return process, found


def results() -> list[Any]:
    found: list[Any] = json.loads(Path("run/retrain.json").read_text())["results"]
    return found


def test_killed_among_jobs_a_run_ends_on_one_as_if_it_had_begun_there(
    meritnas: Command, rows: Path, by_one: Path
) -> None:
    process, workers = training(rows, "retrain.json")
    while not results():  # written next
        assert process.poll() is None
    process.kill()
    process.communicate()
    assert all(map(gone, workers))
    assert not Path("run/result.json").exists()
    kept = results()
    assert meritnas("search", "--resume", "run", "--quiet").code == 0
    assert 0 < len(kept) < len(results())
    assert all(one in results() for one in kept)
    assert_same_run(Path("run"), by_one)


def test_an_interrupt_ends_all_jobs(meritnas: Command, rows: Path, by_one: Path) -> None:
    process, workers = training(rows, "retrain.json")
    for worker in workers:
        os.kill(worker, signal.SIGINT)  # a terminal sends it to all
    process.send_signal(signal.SIGINT)
    outcome = finish(process)
    assert outcome.code == 130
    assert outcome.err == "interrupted; continue with: meritnas search --resume run\n"
    assert all(map(gone, workers))
    assert meritnas("search", "--resume", "run", "--jobs", "1", "--quiet").code == 0
    assert_same_run(Path("run"), by_one)


def test_jobs_are_no_part_of_a_run(meritnas: Command, sales: Path) -> None:
    asked = ("--target", "churn", *SHORT, "--max-params", "300", "--quiet")
    assert meritnas("search", sales, *asked, "--out", "run", "--jobs", "1").code == 0
    assert not {"jobs", "ray", "executor"} & set(json.loads(config())["settings"])
    again = meritnas("retrain", "run", "--seeds", "1", "--jobs", "1", "--quiet", "--json")
    assert again.code == 0, again.err
    assert len(json.loads(again.out)["race"]["seeds"]) == 1
    for words in (("retrain", "run"), ("search", "--resume", "run")):
        refused = meritnas(*words, "--jobs", "2", "--threads", "3")
        assert refused.code == 2
        assert "leave out --threads" in refused.err


def config() -> str:
    return Path("run/config.json").read_text()


@pytest.mark.parametrize("given", ["0", "-2", "1000", "many"])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(meritnas: Command, given: str) -> None:
    for words in (("search", "wine"), ("search", "--resume", "run")):
        outcome = meritnas(*words, "--jobs", given)
        assert outcome.code == 2
        assert "jobs" in outcome.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("search a.csv --ray", "search a.csv --ray=local"),
        ("search --ray a.csv", "search --ray=local a.csv"),
        ("search --ray --quiet", "search --ray=local --quiet"),
        ("search --ray auto a.csv", "search --ray auto a.csv"),
        ("search --ray 10.0.0.1:6379", "search --ray 10.0.0.1:6379"),
        ("search --ray=ray://head:10001", "search --ray=ray://head:10001"),
        ("search a:b", "search a:b"),
    ],
)
def test_ray_without_an_address_is_of_this_machine(words: str, expected: str) -> None:
    assert with_address(words.split()) == expected.split()
