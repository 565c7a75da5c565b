from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meritnas.cli.main import main

SHORT = ("--epochs", "2", "--retrain-epochs", "2", "--retrain-seeds", "1", "--widths", "4,8,16")

EVENTS = 400

# Checkpoints after every step, so that a kill finds one without waiting; a log that grows larger
# than they are; Ctrl-C heard even where the tests run in the background; and a disk that is full
# as soon as a file grows beyond so many bytes.
DRIVER = f"""
import resource, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from meritnas.search import loop
from meritnas.cli.main import main
loop._SECONDS_BETWEEN_CHECKPOINTS = 0.0
loop._EVENTS_A_SEARCH = {EVENTS}
if int(sys.argv[1]):
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
main(sys.argv[2:])
"""


@dataclass(frozen=True)
class Outcome:
    """How a command ended and what it said."""

    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def meritnas(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Runs a command in this process, which saves the seconds that torch takes to load."""

    def run(*arguments: str | Path) -> Outcome:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return Outcome(int(ended.value.code or 0), said.out, said.err)

    return run


def start(*arguments: str | Path, full_disk_at: int | None = None) -> subprocess.Popen[str]:
    """A command in a process of its own; with `full_disk_at` (0 for never) under the driver."""
    begin = ["-m", "meritnas.cli.main"]
    if full_disk_at is not None:
        begin = ["-c", DRIVER, str(full_disk_at)]
    return subprocess.Popen(
        [sys.executable, *begin, *(str(argument) for argument in arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "80"},
    )


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Waits for a process."""
    out, err = process.communicate(timeout=60)
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
