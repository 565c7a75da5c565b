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
