"""The commands together, whose complaints about a command line obey nothing in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.core import TyperGroup

from meritnas.wording import visible_line


class PlainGroup(TyperGroup):
    """Commands; a name of a file in what Typer says about it is shown as it is."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        """Read what stands before the command's name."""
        with _seen():
            return super().make_context(*given, **more)

    def invoke(self, *given: Any, **more: Any) -> Any:
        """Read the rest, and run the command."""
        with _seen():
            return super().invoke(*given, **more)


@contextmanager
def _seen() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = getattr(error, "message", None)  # of Typer's errors, which it prints
        if isinstance(message, str):
            error.message = visible_line(message)  # type: ignore[attr-defined]
        raise
