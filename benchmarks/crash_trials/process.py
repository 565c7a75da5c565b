"""A command in a process of its own, forked from one that has torch loaded."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing import get_context, set_start_method
from multiprocessing.connection import wait
from pathlib import Path
from pkgutil import walk_packages
from threading import Lock
from unittest.mock import patch

import meritnas
from crash_trials.operations import Kill, Operation, Watch

_SECONDS = 60.0
"""A command that takes longer hangs."""

_MODULES = [module.name for module in walk_packages(meritnas.__path__, "meritnas.")]
_PROCESSES = get_context("forkserver")
_PROCESSES.set_forkserver_preload(
    [
        *(name for name in _MODULES if not name.endswith("__main__")),
        # What these in turn load only when it is used; what is not installed is passed over.
        *("torch._dynamo", "pyarrow.parquet", "pydantic.type_adapter", "typer._click.core"),
    ]
)
_ONE_AT_A_TIME = Lock()
"""Threads may each wait for a process of their own, but must not ask for others' exit codes."""


@dataclass(frozen=True)
class Outcome:
    """How a command ended, what it said and what it did to files.

    Attributes:
        code: its exit code; negative for the signal that ended it; None where it hung.
        out: standard output.
        err: standard error.
        operations: on files below its folder; none of a command that was killed.
    """

    code: int | None
    out: str
    err: str
    operations: tuple[Operation, ...] = ()


def run(arguments: Sequence[str], folder: Path, kill: Kill | None = None) -> Outcome:
    """Run `meritnas` with these arguments in a folder.

    In that process time stands still, so that files which tell how long something took can be
    compared as bytes, too; and a search makes a checkpoint after every step.
    """
    said = folder.with_name(f"{folder.name}.said")
    process = _PROCESSES.Process(target=_run, args=(list(arguments), folder, said, kill))
    alone = {"OMP_NUM_THREADS": "1", "COLUMNS": "80"}
    with _ONE_AT_A_TIME, patch.dict(os.environ, alone):
        process.start()
    ended = wait([process.sentinel], _SECONDS)
    with _ONE_AT_A_TIME:
        if not ended:
            process.kill()
        process.join()
        code = process.exitcode if ended else None
        process.close()
    out, err = (_taken(said.with_suffix(end)) for end in (".out", ".err"))
    done = json.loads(_taken(said.with_suffix(".operations")) or "[]")
    return Outcome(code, out, err, tuple(Operation(*one) for one in done))


def _midnight() -> float:
    return 0.0


def _taken(path: Path) -> str:
    """The text of a file, which is deleted."""
    if not path.exists():
        return ""
    text = path.read_text(encoding="utf-8", errors="replace")
    path.unlink()
    return text


def _run(arguments: list[str], folder: Path, said: Path, kill: Kill | None) -> None:
    from meritnas.cli.main import main
    from meritnas.engine import loop

    for end, number in ((".out", 1), (".err", 2)):
        os.dup2(os.open(said.with_suffix(end), os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    set_start_method("fork", force=True)  # as usual: else a kill leaves semaphores behind
    os.environ["COLUMNS"] = "80"
    os.chdir(folder)
    loop._SECONDS_BETWEEN_CHECKPOINTS = -1.0
    time.perf_counter = time.process_time = _midnight
    watch = Watch(folder, kill)
    watch.install()
    try:
        main(arguments)
    finally:
        sys.stdout.flush()
        done = [(one.kind, one.path) for one in watch.seen]
        said.with_suffix(".operations").write_text(json.dumps(done))
