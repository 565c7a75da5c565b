from __future__ import annotations

import io
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meritnas.cli.main import main
from meritnas.engine import loop
from meritnas.run import local_ranks

SHORT = ("--epochs", "2", "--retrain-epochs", "2", "--retrain-seeds", "1", "--widths", "4,8,16")

EVENTS = 400


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str | Path) -> Outcome:
    """A command in this process, which saves the seconds that torch takes to load."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    return Outcome(int(ended.value.code or 0), out.getvalue(), err.getvalue())


@pytest.fixture
def meritnas() -> Callable[..., Outcome]:
    return run


def start(*arguments: str | Path) -> subprocess.Popen[str]:
    """A command in an interpreter of its own, as it is installed; loading torch takes seconds."""
    return subprocess.Popen(
        [sys.executable, "-m", "meritnas.cli.main", *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
    )


class Forked:
    """A command in a process of its own, forked from one that has torch loaded.

    It makes checkpoints after every step, so that a kill finds one without waiting; a log that
    grows larger than they are; and hears Ctrl-C even where the tests run in the background. It
    has two cores, whatever this machine has. Its
    disk is full as soon as a file grows beyond `full_disk_at` bytes (0 for never). Its environment
    is changed, and `before` called, before it begins.
    """

    def __init__(
        self,
        *arguments: str | Path,
        full_disk_at: int = 0,
        environment: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
        program: Callable[[list[str]], None] = main,
    ) -> None:
        pipes = [_PROCESSES.Pipe(duplex=False) for _ in range(2)]
        self._readers = [reader for reader, _ in pipes]
        given = [str(argument) for argument in arguments]
        writers = [writer for _, writer in pipes]
        more = full_disk_at, dict(environment or {}), before, program
        self._process = _PROCESSES.Process(target=_run, args=(given, *more, *writers))
        with pytest.MonkeyPatch.context() as patch:  # for the process that all are forked from
            patch.setenv("OMP_NUM_THREADS", "1")
            self._process.start()
        for writer in writers:
            writer.close()

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.exitcode

    def kill(self) -> None:
        self._process.kill()

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Waits; what it said fits into pipes."""
        self._process.join(timeout)
        if self._process.exitcode is None:
            self._process.kill()
            raise TimeoutError(f"the process still ran after {timeout} seconds")
        said = []
        for reader in self._readers:
            with os.fdopen(reader.fileno(), closefd=False) as file:
                said.append(file.read())
        return said[0], said[1]


def _run(
    given: list[str],
    full_disk_at: int,
    environment: dict[str, str],
    before: Callable[[], None] | None,
    program: Callable[[list[str]], None],
    out: Connection,
    err: Connection,
) -> None:
    for connection, number in ((out, 1), (err, 2)):
        os.dup2(connection.fileno(), number)
        connection.close()
    os.environ |= {"COLUMNS": "80", **environment}
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loop._SECONDS_BETWEEN_CHECKPOINTS = 0.0
    loop._EVENTS_A_SEARCH = EVENTS
    local_ranks.cores = lambda: 2
    if full_disk_at:
        resource.setrlimit(resource.RLIMIT_FSIZE, (full_disk_at,) * 2)
    if before is not None:
        before()
    program(given)


_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(["cli_helpers", "meritnas.api", "torch._dynamo"])


def finish(process: subprocess.Popen[str] | Forked) -> Outcome:
    """Waits for a process."""
    out, err = process.communicate(timeout=60)
    assert process.returncode is not None
    return Outcome(process.returncode, out, err)


def table(rows: int = 60, seed: int = 0) -> pd.DataFrame:
    """Two numbers, a category and a class that depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 10, rows).round(2),
            "income": rng.lognormal(10, 1, rows).round(2),
            "city": rng.choice(["Bonn", "Rome", "Ulm"], rows),
        }
    )
    frame["churn"] = np.where((frame.height > 170) ^ (frame.city == "Ulm"), "yes", "no")
    return frame


@pytest.fixture
def sales(tmp_path: Path) -> Path:
    """A small table file."""
    path = tmp_path / "sales.csv"
    table().to_csv(path, index=False)
    return path


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run on the small table; not to be changed."""
    folder = tmp_path_factory.mktemp("trained")
    table().to_csv(folder / "sales.csv", index=False)
    with pytest.raises(SystemExit) as ended:
        main(
            f"search {folder}/sales.csv --target churn --max-params 300 --quiet --json "
            f"--out {folder}/run".split()
            + list(SHORT)
        )
    assert not ended.value.code
    return folder / "run"
