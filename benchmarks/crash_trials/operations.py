"""What a process is about to do to the files of a folder, and a kill right before one of it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_PATHS: dict[str, tuple[tuple[int, int | None], ...]] = {
    "os.rename": ((0, 2), (1, 3)),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.chmod": ((0, 2),),
    "os.utime": ((0, 3),),
    "os.truncate": ((0, None),),
    "open": ((0, None),),
    "fsync": ((0, None),),
    "shutil.copyfile": ((1, None),),
    "shutil.copymode": ((1, None),),
    "shutil.copystat": ((1, None),),
    "shutil.copytree": ((1, None),),
    "shutil.move": ((0, None), (1, None)),
    "shutil.rmtree": ((0, None),),
}
"""Events of Python's audit -> where the paths are among what they tell, and their folders."""


@dataclass(frozen=True)
class Operation:
    """One thing done to a file: opened to write or append, flushed, renamed, deleted, ..."""

    kind: str
    path: str

    @property
    def writes(self) -> bool:
        """Whether content comes after it."""
        return self.kind in ("write", "append")

    def __str__(self) -> str:
        return f"{self.kind} {self.path}"


@dataclass(frozen=True)
class Kill:
    """The end of a process right before its operation of this number, counted from 0.

    With `torn`, the file that was opened last holds only half of what was written to it since: the
    kill came in the middle of that.
    """

    before: int
    torn: bool = False


class Watch:
    """Counts the operations on files below a folder, in the process it is installed in."""

    def __init__(self, folder: Path, kill: Kill | None) -> None:
        self.seen: list[Operation] = []
        self._folder = folder.resolve()
        self._kill = kill
        self._opened: tuple[Path, int] | None = None

    def install(self) -> None:
        """From now on and for good; flushing is counted and not waited for."""
        sys.addaudithook(self._hear)
        os.fsync = self._flush

    def _flush(self, fd: Any) -> None:
        self._hear("fsync", (fd if isinstance(fd, int) else fd.fileno(),))

    def _hear(self, event: str, told: Sequence[Any]) -> None:
        if event not in _PATHS or (event == "open" and not told[2] & _WRITING):
            return
        found = [_resolved(told, k, folder) for k, folder in _PATHS[event]]
        inside = [path for path in found if self._folder in path.parents]
        if not inside:
            return
        kind = _kind_of_opening(told[2]) if event == "open" else event.removeprefix("os.")
        names = " -> ".join(str(path.relative_to(self._folder)) for path in inside)
        if self._kill is not None and self._kill.before == len(self.seen):
            self._die(Operation(kind, names))
        self.seen.append(Operation(kind, names))
        if event == "open":
            kept = not told[2] & os.O_TRUNC and inside[0].exists()
            self._opened = inside[0], inside[0].stat().st_size if kept else 0

    def _die(self, operation: Operation) -> None:
        kill, self._kill = self._kill, None  # tearing is an operation, too
        os.write(2, f"killed before {operation}\n".encode())
        if kill is not None and kill.torn and self._opened is not None:
            path, before = self._opened
            os.truncate(path, (before + path.stat().st_size) // 2)
        os.kill(os.getpid(), signal.SIGKILL)


def _kind_of_opening(flags: int) -> str:
    if flags & (os.O_TRUNC | os.O_EXCL):
        return "write"
    return "append" if flags & os.O_APPEND else "open"


def _resolved(told: Sequence[Any], k: int, folder: int | None) -> Path:
    """The k-th of what an event tells, a path or an open file, as an absolute path."""
    if isinstance(told[k], int):
        return Path(f"/proc/self/fd/{told[k]}").resolve()
    at = told[folder] if folder is not None and folder < len(told) else -1
    base = Path(f"/proc/self/fd/{at}") if at >= 0 else Path()
    return (base / os.fsdecode(told[k])).resolve()
