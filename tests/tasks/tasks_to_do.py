"""What workers are asked to do in tests; they import it from here."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meritnas.errors import DivergedError, MeritNASError, StoreError
from meritnas.tasks.task import Tell


@dataclass(frozen=True)
class Square:
    """Tells twice, and says who did it."""

    number: int

    @property
    def name(self) -> str:
        return f"the square of {self.number}"

    def __call__(self, material: Any, tell: Tell) -> Any:
        tell(("half", self.number))
        tell(("whole", self.number))
        return self.number**2 + material["plus"], os.getpid(), id(material)


@dataclass(frozen=True)
class Killed:
    """Ends with its process so many times; a file counts."""

    place: str
    times: int

    @property
    def name(self) -> str:
        return "the one that is killed"

    def __call__(self, material: Any, tell: Tell) -> str:
        del material
        begun = len(list(Path(self.place).iterdir()))
        (Path(self.place) / str(begun)).touch()
        if begun < self.times:
            os.kill(os.getpid(), signal.SIGKILL)
        tell("it lives")
        return f"begun {begun + 1} times"


@dataclass(frozen=True)
class Slow:
    """Takes its time, and notes its process."""

    place: str
    seconds: float

    @property
    def name(self) -> str:
        return "the slow one"

    def __call__(self, material: Any, tell: Tell) -> int:
        del material, tell
        (Path(self.place) / f"{os.getpid()}").touch()
        time.sleep(self.seconds)
        return os.getpid()


@dataclass(frozen=True)
class Failing:
    """Ends with an error."""

    kind: str

    @property
    def name(self) -> str:
        return "the one that fails"

    def __call__(self, material: Any, tell: Tell) -> None:
        del material, tell
        errors: dict[str, Exception] = {
            "diverged": DivergedError(),
            "store": StoreError("the disk is full"),
            "bug": ZeroDivisionError("a bug"),
        }
        raise errors[self.kind]


_AT_ONCE = threading.Semaphore(1)


@dataclass(frozen=True)
class Jealous:
    """Complains where another one is at work in the same process."""

    number: int

    @property
    def name(self) -> str:
        return "the jealous one"

    def __call__(self, material: Any, tell: Tell) -> str:
        del material, tell
        if not _AT_ONCE.acquire(blocking=False):
            raise MeritNASError("somebody else is here")
        time.sleep(0.02)
        _AT_ONCE.release()
        return "alone"
