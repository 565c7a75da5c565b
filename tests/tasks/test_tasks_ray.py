"""Tasks that a local Ray cluster does; `pip install 'meritnas[ray]'` has them tested."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tasks_to_do import Failing, Killed, Square
from test_tasks_crew import EXPECTED, PLUS, SQUARES, done

from meritnas.errors import StoreError, UsageError, WorkersError
from meritnas.settings.request import RunOptions
from meritnas.tasks.crew import TRIES, Hired
from meritnas.tasks.hire import hired
from meritnas.tasks.ray_workers import RayWorkers
from meritnas.tasks.task import Material

HAS_RAY = importlib.util.find_spec("ray") is not None
needs_ray = pytest.mark.skipif(not HAS_RAY, reason="needs Ray: pip install 'meritnas[ray]'")


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_way_to_it_is_said() -> None:
    with pytest.raises(UsageError, match=r"pip install 'meritnas\[ray\]', or give jobs"):
        RayWorkers()
    with pytest.raises(UsageError, match="not installed"), hired(RunOptions(ray="local")):
        pass


@needs_ray
def test_an_address_where_nobody_is_is_refused() -> None:
    with pytest.raises(UsageError, match=r"there is no Ray at '127.0.0.1:1'"):
        RayWorkers("127.0.0.1:1")


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RayWorkers]:
    with pytest.MonkeyPatch.context() as patch:
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        with RayWorkers("local", 2) as found:
            yield found
        assert list(home.iterdir()) == []  # no token, no log
        assert "RAY_AUTH_TOKEN" not in os.environ


@needs_ray
def test_ray_comes_to_what_one_comes_to_and_tells_how_far_it_is(workers: RayWorkers) -> None:
    heard: list[object] = []
    assert workers.size == 2
    found = done(Hired(workers, 1), [*SQUARES], PLUS, heard)
    assert [each[0] for each in found] == EXPECTED
    assert sorted(map(str, heard)) == sorted(
        str((word, each.number)) for each in SQUARES for word in ("half", "whole")
    )
    assert list(workers.map(abs, [-1, 2])) == [1, 2]


@needs_ray
def test_a_worker_of_ray_that_is_killed_costs_one_task(workers: RayWorkers, tmp_path: Path) -> None:
    tasks = [Square(2), Killed(str(tmp_path), TRIES - 1)]
    found = done(Hired(workers, 1), tasks, PLUS, [])
    assert found[0][0] == 104
    assert found[1] == f"begun {TRIES} times"


@needs_ray
def test_errors_of_ray_are_those_of_tasks(workers: RayWorkers, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="the disk is full"):
        done(Hired(workers, 1), [Failing("store")], Material(None), [])
    with pytest.raises(ZeroDivisionError, match="a bug"):
        done(Hired(workers, 1), [Failing("bug")], Material(None), [])
    with pytest.raises(WorkersError, match=r"was begun 3 times.*Ray says"):
        done(Hired(workers, 1), [Killed(str(tmp_path), 99)], Material(None), [])
