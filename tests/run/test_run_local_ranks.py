from __future__ import annotations

import pickle
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import rank_tasks
import torch

from meritnas import TableReading, Tabnas, Tabular, Training
from meritnas.engine.loop import Search
from meritnas.errors import UsageError, WorkersError
from meritnas.families.catalogue import space_spec
from meritnas.run import local_ranks
from meritnas.run.begin import begin
from meritnas.run.local_ranks import LocalRanks, ranks_here
from meritnas.settings.request import Request
from meritnas.settings.settings import SearchSettings
from meritnas.workers.workers import ONE, Workers


@pytest.fixture(autouse=True)
def _nobody_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


def children() -> set[str]:
    """The numbers of this process' own processes; other tests may have left theirs to go on."""
    tasks = Path("/proc/self/task").glob("*/children")
    return {number for task in tasks for number in task.read_text().split()}


def test_searches_come_to_the_same_bits_on_one_and_on_two_ranks() -> None:
    alone = rank_tasks.searches(ONE)
    with LocalRanks(2, 1, rank_tasks.send_searches) as ranks:
        told = rank_tasks.tell(rank_tasks.searches(ranks), ranks)
    assert told == [repr(alone)] * 2
    assert len(set(alone.values())) == len(alone)


@pytest.mark.parametrize(
    ("task", "said"),
    [
        (rank_tasks.killed, "process 1 .* was killed by SIGKILL, perhaps for lack of memory; all"),
        (rank_tasks.failing, "process 1 of the search has ended: ValueError: these are its last w"),
        (rank_tasks.starving, "process 1 of the search has ended: there is not enough memory for"),
    ],
)
def test_a_rank_that_ends_ends_all_with_a_word(task: Callable[[Workers], Any], said: str) -> None:
    with pytest.raises(WorkersError, match=said):
        meet_and_wait(task)


def meet_and_wait(task: Callable[[Workers], Any], patience: float = 300.0) -> None:
    """Start another rank, meet it, and wait for it once more; not long, whatever happens."""
    begun = None
    try:
        with LocalRanks(2, 1, task, patience) as ranks:
            ranks.barrier()
            begun = time.monotonic()
            ranks.gather(torch.zeros(3), [3, 3])
    finally:
        assert begun is not None
        assert time.monotonic() - begun < 20


def test_a_rank_that_does_not_answer_is_not_waited_for_for_ever() -> None:
    said = "process 1 of the search has not answered for 1 seconds; all processes"
    with pytest.raises(WorkersError, match=said):
        meet_and_wait(rank_tasks.silent, patience=1.0)


def test_an_interrupt_is_heard_while_a_rank_does_not_answer() -> None:
    """Ctrl-C reaches a process that waits for another."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with LocalRanks(2, 1, rank_tasks.silent) as ranks:
            ranks.barrier()
            begun = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            with pytest.raises(KeyboardInterrupt):
                ranks.barrier()
            assert time.monotonic() - begun < 20
    finally:
        signal.signal(signal.SIGALRM, before)


def test_time_is_measured_on_all_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_ranks, "cores", lambda: 2)
    request = Request(space=Tabular(layers=2, widths=(4, 8)), minutes=3.0, workers=2)
    begun = time.monotonic()
    job, _ = begin("wine", None, request)
    search, planning = job.planned_search()
    assert 0 < planning <= time.monotonic() - begun
    assert planning < 0.35 * 60 * 3.0  # some time is left to search in
    assert search.plan.weight_steps > 20
    assert search.ranks.size == 1  # they are started again for the search


def test_a_task_that_cannot_be_sent_is_refused() -> None:
    with (
        pytest.raises(UsageError, match="at the top of a module, or search with workers=1"),
        LocalRanks(2, 1, lambda _: None),
    ):
        pass


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="where Linux lists its sockets")
def test_ranks_listen_on_the_loopback_address_alone() -> None:
    def listening() -> set[str]:
        found = set()
        for file in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in Path(file).read_text().splitlines()[1:]:
                words = line.split()
                if words[3] == "0A" and words[9] in own:
                    found.add(words[1].split(":")[0])
        return found

    with LocalRanks(2, 1, rank_tasks.silent) as ranks:
        ranks.barrier()
        own = {
            str(place.readlink()).removeprefix("socket:[").removesuffix("]")
            for place in Path("/proc/self/fd").iterdir()
            if place.is_symlink()
        }
        assert listening() == {socket.inet_aton("127.0.0.1")[::-1].hex().upper()}


@pytest.mark.parametrize(
    ("workers", "threads", "cores", "device", "size"),
    [
        (1, 1, 8, "cpu", 1),
        (2, 1, 8, "cpu", 2),
        (8, 1, 2, "cpu", 2),
        (3, 1, 2, "cpu", 1),
        (6, 1, 4, "cpu", 3),
        (4, 2, 4, "cpu", 2),
        (4, 4, 2, "cpu", 1),
        (4, 1, 4, "cuda", 1),
    ],
)
def test_there_are_as_many_processes_as_cores_and_workers_allow(
    monkeypatch: pytest.MonkeyPatch,
    workers: int,
    threads: int,
    cores: int,
    device: str,
    size: int,
) -> None:
    monkeypatch.setattr(local_ranks, "cores", lambda: cores)
    settings = SearchSettings(
        *(Tabular(), Tabnas(), TableReading()), workers=workers, threads=threads, device=device
    )
    assert ranks_here(settings) == size


def test_a_space_of_ones_own_can_be_given_to_other_processes() -> None:
    spec = space_spec("rank_tasks:own_tables", {"layers": 2})
    assert pickle.loads(pickle.dumps(spec)) == spec
    job, _ = begin("wine", None, Request(space=spec, epochs=1, workers=2))
    back = pickle.loads(pickle.dumps((job.settings, job.ground)))
    assert back[0] == job.settings
    assert back[1].searched.space == job.ground.searched.space


def test_norms_that_keep_statistics_have_one_worker() -> None:
    request = Request(space="rank_tasks:own_with_statistics", epochs=1, workers=2)
    job, _ = begin("wine", None, request)
    with pytest.raises(UsageError, match=r"running statistics, as norm does: .* track_running_st"):
        job.planned_search()


def test_an_epoch_is_a_pass_over_the_data_however_many_workers_there_are() -> None:
    def search(workers: int) -> Search:
        space = Tabular(layers=1, widths=(4, 8))
        training = Training(batch_size=16)
        asked = Request(space=space, strategy="random", epochs=6, workers=workers)
        return begin("wine", None, replace(asked, training=training))[0].planned_search()[0]

    one, three = search(1), search(3)
    assert three.plan.weight_steps == -(-one.plan.weight_steps // 3)
    assert three.probe.epoch_steps == one.probe.epoch_steps // 3
    assert abs(three.plan.frozen - one.plan.frozen) <= 1
