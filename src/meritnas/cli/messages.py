"""Messages on standard error, and the commands that they suggest."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from meritnas.wording import shortened, visible_line

_LONGEST = 2_000
"""Letters of an error: what a file holds may be of any length."""


def say(text: str) -> None:
    """A line for people; standard output is kept for results."""
    typer.echo(visible_line(text), err=True)


def tell(text: str) -> None:
    """A line of a result, for people; programs ask for JSON."""
    typer.echo(visible_line(text))


def say_error(text: str) -> None:
    """What went wrong, on one line, of which the end has the way out."""
    say("error: " + shortened(" ".join(text.split()), _LONGEST))


def resume_command(run: Path | str) -> str:
    """What to type to continue a run."""
    return f"meritnas search --resume {shlex.quote(str(run))}"


def predict_command(run: Path | str, given: str) -> str:
    """What to type to use a run's network on a file, or with a prompt."""
    return f"meritnas predict {shlex.quote(str(run))} {given}"
