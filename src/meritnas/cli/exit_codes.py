"""Errors and interrupts of a command as one line and an exit code."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

import typer

from meritnas.cli.messages import say, say_error
from meritnas.errors import MeritNASError, lacks_memory

UNANSWERED = 1
"""Of `predict`: all was written, but some rows have no answer."""
BAD_INPUT = 2
INTERRUPTED = 130
NOBODY_READS = 141
"""What shells report for a program that lost its reader: 128 + SIGPIPE."""


@contextmanager
def plain_outcome(hint: Callable[[], str]) -> Iterator[None]:
    """Turn what can end a command early into one line and an exit code.

    Args:
        hint: asked after an interruption: how to go on.
    """
    try:
        with _terminate_like_ctrl_c():
            yield
    except MeritNASError as error:
        say_error(str(error))
        raise typer.Exit(BAD_INPUT) from error
    except BrokenPipeError as error:
        # Python flushes standard output once more at its end and would complain then.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(NOBODY_READS) from error
    except OSError as error:
        name = f" ({error.filename})" if error.filename else ""
        say_error(f"{error.strerror or error}{name}; check the path, or give another")
        raise typer.Exit(BAD_INPUT) from error
    except (MemoryError, RuntimeError) as error:
        if not lacks_memory(error):
            raise
        say_error(f"there is not enough memory ({error}); give less data or smaller networks")
        raise typer.Exit(BAD_INPUT) from error
    except KeyboardInterrupt as error:
        say(f"interrupted; {hint()}")
        raise typer.Exit(INTERRUPTED) from error


@contextmanager
def _terminate_like_ctrl_c() -> Iterator[None]:
    """A polite kill ends a command like Ctrl-C does, with the hint how to go on."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        del number, frame
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
