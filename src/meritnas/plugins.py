"""Functions and classes of the user's own, named as `module:function`, and who may name them."""

from __future__ import annotations

import importlib
import inspect
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from meritnas.errors import MeritNASError, StoreError, UsageError, told

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


def importable(given: object) -> bool:
    """Whether another process finds a function or a class by its name."""
    module, function = getattr(given, "__module__", None), getattr(given, "__qualname__", "")
    if module in (None, "__main__") or not function.isidentifier():
        return False
    return getattr(sys.modules.get(str(module)), function, None) is given


def shown_name(given: object) -> str:
    """`module:name` of any function or object, by which a run calls it; it may not be importable.

    Functions in a script or a notebook, and modules that were made, have such names, too: whoever
    uses a run of theirs later gives the object itself again.
    """
    if isinstance(given, str):
        return given
    named = given if hasattr(given, "__qualname__") else type(given)
    function = named.__qualname__.rpartition(".")[2].strip("<>")
    return f"{named.__module__ or '__main__'}:{function}"


@dataclass(frozen=True)
class Trust:
    """The functions and classes of a user's own that an existing run may have imported.

    A run's folder is data that may come from anybody. What it names is imported only where the
    user has named it again.

    Attributes:
        names: as `module:name`.
        given: what was given itself and cannot be found by its name, by that name.
    """

    names: frozenset[str] = frozenset()
    given: Mapping[str, Any] = field(default_factory=dict, compare=False)

    @classmethod
    def of(cls, given: Trusted) -> Trust:
        """The trust in what is given: names, or the functions and classes themselves."""
        each = [given] if isinstance(given, str) or callable(given) else list(given)
        held = {
            shown_name(own): own for own in each if not isinstance(own, str) and not importable(own)
        }
        return cls(frozenset(map(shown_name, each)), held)

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


def load_own(
    name: str, what: str, also: Callable[[object], bool] = lambda _: False
) -> Callable[..., Any]:
    """The function that `module:function` names; modules are found as Python finds them, and here.

    Args:
        name: such a name.
        what: it makes, for messages.
        also: whether something else than a function or a class will do.

    Raises:
        UsageError: There is none, its module cannot be imported, or it makes nothing.
    """
    if _NAME.fullmatch(name) is None:
        raise UsageError(
            f"no {what} '{name}': write module:function, such as my_module:my_function"
        )
    module, _, function = name.partition(":")
    here = str(Path.cwd())
    if here not in sys.path:  # a program that pip installed does not look in the current folder
        sys.path.append(here)
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UsageError(
            f"no {what} '{name}': {error}; write module:function, of a module that Python finds"
        ) from error
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"no {what} '{name}': its module cannot be imported ({_failure(error)}); mend it"
        ) from error
    if also(found):
        return found
    if not inspect.isclass(found) and not inspect.isfunction(inspect.unwrap(found)):
        raise UsageError(
            f"{name} must be a function or a class, written in Python, that makes a {what}, got "
            f"{told(found)}"
        )
    return found


def check_maker(found: Callable[..., Any], name: str, what: str, *takes: str) -> None:
    """Complain about a function that cannot be called with what makes something.

    Args:
        found: the function, or a class.
        name: its own.
        what: it makes, for messages.
        takes: what it is called with, in order.
    """
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError) as error:
        raise UsageError(f"{name} cannot be asked what it takes ({error})") from error
    several = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
    if not several and sum(each.kind in _BY_PLACE for each in parameters) < len(takes):
        raise UsageError(
            f"{name} must take ({', '.join(takes)}) to make a {what}, and takes "
            f"{inspect.signature(found)}"
        )


@contextmanager
def own_code(name: str) -> Iterator[None]:
    """Turn what fails inside a user's own function into a message that says what and where."""
    try:
        yield
    except MeritNASError:
        raise
    except Exception as error:
        raise UsageError(f"{name} failed with {_failure(error)}; mend it") from error


def _failure(error: BaseException) -> str:
    """An error of a user's own code in a line: what, and where it was raised."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    text = " ".join(str(error).split())
    if isinstance(error, SyntaxError):  # raised where it is read
        return f"SyntaxError: {text}"
    return f"{type(error).__name__}: {text}, at {place.filename}:{place.lineno}"


_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
