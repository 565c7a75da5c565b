"""Messages on standard error, and the commands that they suggest."""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from meritnas.wording import visible


def say(text: str) -> None:
    """A line for people; standard output is kept for results."""
    typer.echo(visible(text), err=True)


def tell(text: str) -> None:
    """A line of a result, for people; programs ask for JSON."""
    typer.echo(visible(text))


def say_error(text: str) -> None:
    """What went wrong, on one line."""
    say("error: " + " ".join(text.split()))


def resume_command(run: Path | str) -> str:
    """What to type to continue a run."""
    return f"meritnas search --resume {shlex.quote(str(run))}"


def predict_command(run: Path | str, given: str) -> str:
    """What to type to use a run's network on a file, or with a prompt."""
    return f"meritnas predict {shlex.quote(str(run))} {given}"
