"""Functions and classes of the user's own, named as `module:function`, and who may name them."""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from meritnas.errors import StoreError, UsageError

Trusted: TypeAlias = str | Callable[..., Any] | Iterable[str | Callable[..., Any]]
"""`module:name`, or a function or class itself; or several of them."""


def is_own(name: str) -> bool:
    """Whether a name is of a function of the user's: `module:function`."""
    return ":" in name


def importable_name(given: str | Callable[..., Any], what: str) -> str:
    """The name `module:function` of a function, by which another process finds it; or as given.

    Args:
        given: a function or class, or its name.
        what: it makes, for messages.
    """
    if isinstance(given, str):
        return given
    module = getattr(given, "__module__", "")
    function = getattr(given, "__qualname__", "")
    if module in ("", "__main__") or not function.isidentifier():
        raise UsageError(
            f"a {what} must be a function or a class in a module of its own, so that a run finds "
            f"it again, got {given!r}; move it to a file, and give it or its name module:function"
        )
    return f"{module}:{function}"


@dataclass(frozen=True)
class Trust:
    """The functions and classes of a user's own that an existing run may have imported.

    A run's folder is data that may come from anybody. What it names is imported only where the
    user has named it again.

    Attributes:
        names: as `module:name`.
    """

    names: frozenset[str] = frozenset()

    @classmethod
    def of(cls, given: Trusted) -> Trust:
        """The trust in what is given: names, or the functions and classes themselves."""
        each = [given] if isinstance(given, str) or callable(given) else given
        return cls(frozenset(importable_name(own, "trusted thing") for own in each))

    def check(self, wanted: Iterable[str], run: object) -> None:
        """Complain where a run wants more than that to be imported.

        Args:
            wanted: names that the run's files have.
            run: its folder, for the message.

        Raises:
            StoreError: It does; nothing has been imported.
        """
        others = sorted(set(wanted) - self.names)
        if others:
            flags = " ".join(f"--trust {shlex.quote(name)}" for name in others)
            raise StoreError(
                f"run {run} asks to import {', '.join(others)}, and a run's folder may be "
                f"anybody's; if you know that code, name it again with {flags} (in Python "
                f"trust={others})"
            )


NOBODY = Trust()
"""For who only looks at a run."""


def load_own(name: str, what: str) -> Callable[..., Any]:
    """The function that `module:function` names; modules are found as Python finds them, and here.

    Args:
        name: such a name.
        what: it makes, for messages.
    """
    module, _, function = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a program that pip installed does not look in the current folder
        sys.path.append(here)
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(
            f"no {what} '{name}': {error}; write module:function, of a module that Python finds"
        ) from error
    if not callable(found):
        raise UsageError(f"{name} must be a function that makes a {what}, got {found!r}")
    made: Callable[..., Any] = found
    return made
