"""Tasks that processes and executors do: what is told, lost, done again, and left behind."""

from __future__ import annotations

import multiprocessing
import time
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tasks_to_do import Failing, Jealous, Killed, Slow, Square

from meritnas.errors import DivergedError, StoreError, UsageError, WorkersError
from meritnas.settings.request import RunOptions
from meritnas.tasks.any_executor import AnyExecutor
from meritnas.tasks.crew import TRIES, Alone, Crew, Hired, all_do
from meritnas.tasks.hire import hired
from meritnas.tasks.processes import LocalProcesses
from meritnas.tasks.task import Material


def done(crew: Crew, tasks: list[Any], material: Material, heard: list[Any]) -> list[Any]:
    """What tasks come to, in their order."""
    found: dict[int, Any] = {}
    waiting = [*tasks]
    flying = 0
    while waiting or flying:
        while waiting and flying < crew.size:
            crew.begin(waiting.pop(0), material, heard.append)
            flying += 1
        task, outcome = crew.wait()
        found[tasks.index(task)] = outcome
        flying -= 1
    return [found[number] for number in range(len(tasks))]


SQUARES = [Square(number) for number in range(6)]
PLUS = Material({"plus": 100})
EXPECTED = [100, 101, 104, 109, 116, 125]


def test_processes_come_to_what_one_comes_to_and_tell_how_far_they_are() -> None:
    alone: list[Any] = []
    assert [each[0] for each in done(Alone(), [*SQUARES], PLUS, alone)] == EXPECTED
    heard: list[Any] = []
    with LocalProcesses(2) as processes:
        found = done(Hired(processes, 1), [*SQUARES], PLUS, heard)
        again = done(Hired(processes, 1), [Square(9)], Material({"plus": 0}), [])
    assert [each[0] for each in found] == EXPECTED
    assert again[0][0] == 81
    assert sorted(heard) == sorted(alone)
    workers = {each[1] for each in found}
    assert len(workers) == 2
    # Each has read the material once, and had it at hand from then on.
    assert len({each[1:] for each in found}) == 2
    assert all(gone(number) for number in workers)


def gone(number: int) -> bool:
    until = time.monotonic() + 10.0
    while time.monotonic() < until:
        if not Path(f"/proc/{number}").exists():
            return True
        time.sleep(0.02)
    return False


def test_a_process_that_is_killed_costs_one_task_and_no_other(tmp_path: Path) -> None:
    (tmp_path / "killed").mkdir()
    (tmp_path / "slow").mkdir()
    heard: list[Any] = []
    tasks = [Slow(str(tmp_path / "slow"), 2.0), Killed(str(tmp_path / "killed"), TRIES - 1)]
    with LocalProcesses(2) as processes:
        slow, killed = done(Hired(processes, 1), tasks, Material(None), heard)
    assert killed == f"begun {TRIES} times"
    assert [path.name for path in (tmp_path / "slow").iterdir()] == [str(slow)]  # begun once
    assert heard == ["it lives"]


def test_a_task_that_is_lost_each_time_is_named(tmp_path: Path) -> None:
    with LocalProcesses(1) as processes:
        said = r"the one that is killed was begun 3 times.*SIGKILL, perhaps for lack of memory"
        with pytest.raises(WorkersError, match=said):
            done(Hired(processes, 1), [Killed(str(tmp_path), 99)], Material(None), [])
    assert len(list(tmp_path.iterdir())) == TRIES


@pytest.mark.parametrize(
    ("kind", "error"),
    [("diverged", DivergedError), ("store", StoreError), ("bug", ZeroDivisionError)],
)
def test_an_error_comes_back_as_it_was(kind: str, error: type[Exception]) -> None:
    with pytest.raises(error) as alone:
        done(Alone(), [Failing(kind)], Material(None), [])
    with (
        LocalProcesses(1) as processes,
        pytest.raises(error) as elsewhere,
    ):
        done(Hired(processes, 1), [Failing(kind)], Material(None), [])
    assert str(elsewhere.value) == str(alone.value)


def test_an_error_ends_processes_at_once(tmp_path: Path) -> None:
    begun = time.monotonic()

    def interrupted() -> None:
        with hired(RunOptions(jobs=2)) as crew:
            for _ in range(2):
                crew.begin(Slow(str(tmp_path), 60.0), Material(None), print)
            while len(list(tmp_path.iterdir())) < 2:
                time.sleep(0.02)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert time.monotonic() - begun < 30.0
    assert all(gone(int(path.name)) for path in tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["threads", "processes"])
def test_any_executor_will_do(kind: str) -> None:
    context = multiprocessing.get_context("spawn")
    executor: Executor = (
        ThreadPoolExecutor(2) if kind == "threads" else ProcessPoolExecutor(2, context)
    )
    with executor:
        crew = Hired(AnyExecutor(executor), 1)
        assert crew.size == 2
        assert [each[0] for each in done(crew, [*SQUARES], PLUS, [])] == EXPECTED


def test_in_one_process_tasks_take_turns() -> None:
    """Trainings draw from a generator of the process."""
    with ThreadPoolExecutor(4) as threads:
        crew = Hired(AnyExecutor(threads), 1)
        assert (
            done(crew, [Jealous(number) for number in range(4)], Material(None), [])
            == ["alone"] * 4
        )


def test_an_executor_that_is_broken_is_said(tmp_path: Path) -> None:
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        crew = Hired(AnyExecutor(pool), 1)
        with pytest.raises(WorkersError, match="nobody is left for the one that is killed"):
            done(crew, [Killed(str(tmp_path), 99)], Material(None), [])


def test_what_cannot_be_given_to_others_is_said() -> None:
    with LocalProcesses(1) as processes, pytest.raises(UsageError, match="at the top of a module"):
        done(Hired(processes, 1), [Square(1)], Material(lambda: 0), [])


def test_all_do_the_same_at_the_same_time() -> None:
    with LocalProcesses(2) as processes:
        found = all_do(Hired(processes, 1), Square(3), PLUS)
    assert [each[0] for each in found] == [109, 109]
    assert found[0][1] != found[1][1]
    assert all_do(Alone(), Square(3), PLUS)[0][0] == 109


def test_processes_are_an_executor() -> None:
    with LocalProcesses(2) as processes:
        assert list(processes.map(abs, [-1, 2, -3])) == [1, 2, 3]
        with pytest.raises(ZeroDivisionError):
            processes.submit(divmod, 1, 0).result()
    with pytest.raises(RuntimeError, match="nothing more can be submitted"):
        processes.submit(abs, 1)


def test_nothing_is_started_before_there_is_something_to_do() -> None:
    before = len(multiprocessing.active_children())
    with hired(RunOptions(jobs=2, threads=3)) as crew:
        assert (crew.size, crew.threads) == (2, 3)
        assert len(multiprocessing.active_children()) == before
    with hired(RunOptions(jobs=1)) as crew:
        assert isinstance(crew, Alone)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"jobs": 0}, "jobs must be at least 1, got 0"),
        ({"jobs": 10_000}, "jobs must be at most 256"),
        ({"executor": "pool"}, "executor must be a Executor, got 'pool'"),
    ],
)
def test_bad_options(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        RunOptions(**options)
    with ThreadPoolExecutor(1) as pool, pytest.raises(UsageError, match="either an executor or"):
        RunOptions(jobs=2, executor=pool)
