"""Who hears of a search that was called without saying who listens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

from meritnas.progress.listener import Listener
from meritnas.progress.notebook import NotebookProgress
from meritnas.progress.progress import Progress

Hears: TypeAlias = Callable[[dict[str, Any]], None]


def nobody(event: dict[str, Any]) -> None:
    """The listener that does not listen."""
    del event


@contextmanager
def heard(listen: Hears | None) -> Iterator[Hears]:
    """Who listens while this is entered.

    Args:
        listen: them; None for a bar where somebody looks, and for nobody elsewhere.
    """
    progress = _where_somebody_looks() if listen is None else None
    if listen is not None:
        yield listen
    elif progress is None:
        yield nobody
    else:
        with Listener(progress) as own:
            yield own


def _where_somebody_looks() -> Progress | None:
    """A bar in a notebook or on a terminal; None in a script whose output goes elsewhere."""
    if _in_notebook():
        return NotebookProgress(_display)
    # Standard error alone says little: of `python script.py | less` it is the terminal, too.
    if not all(map(_is_terminal, (sys.stdout, sys.stderr))):
        return None
    from meritnas.progress.bar import BarProgress  # here: imports of the library need not wait

    return BarProgress()


def _is_terminal(stream: Any) -> bool:
    """Whether somebody sees what is written to a stream, of which scripts make their own.

    There is None without a console, and what copies to a file often has no more than `write`.
    """
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):  # of one that is closed
        return False


def _in_notebook() -> bool:
    """Whether a notebook's kernel runs this; it has imported IPython, nobody else need."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def _display(shown: object) -> Any:
    from IPython.display import display  # there is none but in a notebook

    return display(shown, display_id=True)
