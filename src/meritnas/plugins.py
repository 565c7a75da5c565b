"""Functions and classes of the user's own, named as `module:function`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from meritnas.errors import UsageError


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
