"""Searches of processes that torchrun has started, or something that says what torchrun says."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_helpers import EVENTS, Forked, Outcome, finish, table
from test_cli_process import LONGER, assert_same_run, wait_for
from test_cli_workers import children, gone

from meritnas.cli.main import main
from meritnas.engine import loop, search_together
from meritnas.run import joined_ranks, local_ranks, processes
from meritnas.run.joined_ranks import JoinedRanks
from meritnas.workers.launch import launched
from meritnas.workers.torch_workers import LOOPBACK, opened_store

Command = Callable[..., Outcome]

SHARED = (*LONGER, "--workers", "4")

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes")


@pytest.fixture(scope="module", autouse=True)
def many_events() -> Iterator[None]:
    """As many as the processes of `Forked` have, so that logs can be compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
        patch.setattr(local_ranks, "cores", lambda: 1)
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
    with pytest.raises(SystemExit) as ended:
        main(["search", str(rows), *SHARED, "--out", str(run)])
    assert not ended.value.code
    return run


def _environment(rank: int, size: int, port: int, machines: int = 1) -> dict[str, str]:
    """What torchrun tells a process; the machines have a network of their own."""
    here = size // machines
    return {
        **{"TORCHELASTIC_RUN_ID": "test", "TORCHELASTIC_USE_AGENT_STORE": "True"},
        **{"RANK": str(rank), "WORLD_SIZE": str(size)},
        **{"LOCAL_RANK": str(rank % here), "LOCAL_WORLD_SIZE": str(here)},
        **{"MASTER_ADDR": LOOPBACK, "MASTER_PORT": str(port), "GLOO_SOCKET_IFNAME": "lo"},
    }


class Group:
    """Processes of one group, without torchrun, which takes seconds to load.

    Args:
        size: how many.
        arguments: of the command.
        machines: on how many machines they seem to be.
        before: called before one of them begins, by its rank.
        full_disk_at: of the first.
    """

    def __init__(
        self,
        size: int,
        *arguments: str | Path,
        machines: int = 1,
        before: dict[int, Callable[[], None]] | None = None,
        full_disk_at: int = 0,
    ) -> None:
        self._store, port = opened_store()  # as torchrun keeps one for its processes
        self.ranks = []
        for rank in range(size):
            environment = _environment(rank, size, port, machines)
            room = 0 if rank else full_disk_at
            own = (before or {}).get(rank)
            self.ranks.append(
                Forked(*arguments, full_disk_at=room, environment=environment, before=own)
            )

    def outcome(self) -> Outcome:
        """How the first ends; then the others are ended, as torchrun does, all well if it did."""
        found = finish(self.ranks[0])
        for rank in self.ranks[1:]:
            if found.code:
                rank.kill()
            assert finish(rank).code == 0 or found.code
            assert gone(rank.pid)
        return found


@pytest.mark.parametrize(("size", "machines"), [(2, 2), (4, 1)])
def test_runs_end_alike_on_any_number_of_ranks(
    rows: Path, on_one_rank: Path, size: int, machines: int
) -> None:
    group = Group(size, "search", rows, *SHARED, "--out", "run", machines=machines)
    outcome = group.outcome()
    assert (outcome.code, outcome.err) == (0, "")
    assert_same_run(Path("run"), on_one_rank)


def torchrun(given: list[str]) -> None:
    """What the program torchrun does, with two processes that need not load torch again."""
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=2,
        run_id="test",
        rdzv_backend="c10d",
        rdzv_endpoint=f"{LOOPBACK}:0",
        local_addr=LOOPBACK,
        max_restarts=1,
        start_method="fork",
    )
    elastic_launch(config, _started_by_torchrun)(given)


def _started_by_torchrun(given: list[str]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "_exit", sys.exit)  # torchrun waits for what a function returns
        try:
            main(given)
        except SystemExit as end:
            if end.code:
                raise


def test_torchrun_starts_all_again_and_they_go_on_where_they_were(
    rows: Path, on_one_rank: Path
) -> None:
    process = Forked("search", rows, *SHARED, "--out", "run", program=torchrun)
    wait_for(Path("run/checkpoint.pt"), process)
    first, second = sorted(children(process.pid))
    os.kill(second, signal.SIGKILL)
    assert finish(process).code == 0
    assert gone(first)
    assert_same_run(Path("run"), on_one_rank)


def test_a_killed_rank_is_named_and_the_run_is_resumed_on_one(
    meritnas: Command, rows: Path, on_one_rank: Path
) -> None:
    group = Group(2, "search", rows, *SHARED, "--out", "run")
    wait_for(Path("run/checkpoint.pt"), group.ranks[0])
    group.ranks[1].kill()
    outcome = group.outcome()
    assert outcome.code == 2
    assert outcome.err.startswith("error: the connection to process 1 of the search broke (")
    assert outcome.err.count("\n") == 1
    assert not Path("run/architecture.json").exists()
    assert meritnas("search", "--resume", "run", "--quiet").code == 0
    assert_same_run(Path("run"), on_one_rank)


def test_an_interrupt_ends_all(rows: Path) -> None:
    group = Group(2, "search", rows, *SHARED, "--out", "run")
    wait_for(Path("run/checkpoint.pt"), group.ranks[0])
    for rank in group.ranks:  # torchrun passes it on to all
        rank.send_signal(signal.SIGINT)
    outcome = finish(group.ranks[0])
    assert outcome.code == 130
    assert outcome.err == "interrupted; continue with: meritnas search --resume run\n"
    assert finish(group.ranks[1]).code == 130
    assert finish(group.ranks[1]).err == ""


def _another_version() -> None:
    joined_ranks.__version__ = "0.0.1"  # type: ignore[attr-defined]


def _short_of_memory() -> None:
    def make(*_: Any) -> None:
        torch.empty(10**16)

    search_together.make_search = make  # type: ignore[assignment]


def _impatient() -> None:
    processes.JoinedRanks = partial(JoinedRanks, patience=4.0)  # type: ignore[misc, assignment]


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (_another_version, "process 1 of the search runs meritnas 0.0.1, torch "),
        (_short_of_memory, "process 1 of the search has ended: there is not enough memory for "),
    ],
)
def test_what_is_wrong_with_a_rank_is_said_once(
    rows: Path, before: Callable[[], None], said: str
) -> None:
    group = Group(2, "search", rows, *SHARED, "--out", "run", before={1: before})
    first = finish(group.ranks[0])
    assert first.code == 2
    assert first.err.startswith(f"error: {said}")
    assert first.err.count("\n") == 1
    assert finish(group.ranks[1]) == Outcome(3, "", "")


def test_a_rank_that_hangs_is_named_within_its_patience(rows: Path) -> None:
    impatient = dict.fromkeys(range(4), _impatient)
    group = Group(4, "search", rows, *SHARED, "--out", "run", before=impatient)
    wait_for(Path("run/checkpoint.pt"), group.ranks[0])
    group.ranks[2].send_signal(signal.SIGSTOP)
    begun = time.monotonic()
    outcome = group.outcome()
    assert time.monotonic() - begun < 20.0
    assert outcome.code == 2
    said = "error: process 2 of the search has not answered for 4 seconds; all processes"
    assert outcome.err.startswith(said)


def test_a_full_disk_of_the_first_ends_all_and_loses_nothing(
    meritnas: Command, rows: Path, on_one_rank: Path
) -> None:
    room = (on_one_rank / "events.jsonl").stat().st_size * 3 // 4
    group = Group(2, "search", rows, *SHARED, "--out", "run", full_disk_at=room)
    outcome = finish(group.ranks[0])
    assert outcome.code == 2
    assert outcome.err.startswith("error: cannot write to run: File too large; free some space")
    assert outcome.err.count("\n") == 1
    assert finish(group.ranks[1]).err == ""
    assert meritnas("search", "--resume", "run", "--quiet").code == 0
    assert_same_run(Path("run"), on_one_rank)


@pytest.fixture
def as_first(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process seems to be the first of two that torchrun has started, and may again."""
    store, port = opened_store()
    for name, value in {**_environment(0, 2, port), "TORCHELASTIC_MAX_RESTARTS": "2"}.items():
        monkeypatch.setenv(name, value)
    yield
    del store


@pytest.mark.usefixtures("as_first")
@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--workers", "3"], "has started 2 processes, and --workers 3 cannot be dealt out even"),
        ([], "has started 2 processes, and --workers 1 cannot be dealt out evenly"),
        (["--workers", "4"], "which then goes on where it was: name its folder with --out"),
        (["--workers", "4", "--seed", "4", "--out", "run"], "the output folder run exists already"),
    ],
)
def test_what_torchrun_cannot_start_is_refused(
    meritnas: Command, rows: Path, on_one_rank: Path, given: list[str], said: str
) -> None:
    Path("run").mkdir()
    Path("run/config.json").write_bytes((on_one_rank / "config.json").read_bytes())
    outcome = meritnas("search", rows, *LONGER, *given)
    assert outcome.code == 2
    assert said in outcome.err
    assert not Path("runs").exists()
    assert [path.name for path in Path("run").iterdir()] == ["config.json"]


def test_other_programs_that_number_their_processes_are_no_group() -> None:
    slurm = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}
    assert launched(slurm) is None
    assert launched({**slurm, "TORCHELASTIC_RUN_ID": "a", "WORLD_SIZE": "1"}) is None
