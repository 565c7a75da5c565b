"""What a settings class says about its fields: types, defaults, and a line for each."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_ENTRY = re.compile(r"^(\w+): (.*)$")


@dataclass(frozen=True)
class Setting:
    """One thing that a user may decide.

    Attributes:
        name: the field's.
        kind: its type, without None.
        default: what it is unless given; None where that is found out later.
        help: its line of the docstring.
        flag: its name on the command line, without dashes.
        also: an older name there, which still works.
        usual: in words, what a default of None stands for.
        metavar: what its value is called in help; empty for the type's own name.
        hidden: whether it is no flag at all.
        optional: whether it may be None.
        least: the smallest value, of a whole number; None for any.
        most: the largest.
    """

    name: str
    kind: Any
    default: Any
    help: str
    flag: str
    usual: str = ""
    metavar: str = ""
    hidden: bool = False
    optional: bool = False
    least: int | None = None
    most: int | None = None
    also: str = ""

    @property
    def called(self) -> str:
        """Its name in messages, which tells `epochs` of a training alone from those of a search."""
        flag = self.flag.replace("-", "_")
        return flag if flag.endswith(f"_{self.name}") else self.name

    @property
    def choices(self) -> tuple[Any, ...]:
        """The values there are, where these can be listed."""
        return get_args(self.kind) if get_origin(self.kind) is Literal else ()


def shown(
    *,
    flag: str = "",
    also: str = "",
    usual: str = "",
    metavar: str = "",
    hidden: bool = False,
    least: int | None = None,
    most: int | None = None,
) -> Mapping[str, Any]:
    """Metadata of a field, for what its type and docstring do not say; see `Setting`."""
    told = {"flag": flag, "usual": usual, "metavar": metavar, "hidden": hidden}
    return {**told, "least": least, "most": most, "also": also}


def settings_of(owner: type | Callable[..., Any]) -> tuple[Setting, ...]:
    """The settings of a frozen dataclass, or of a function: its keyword-only parameters."""
    return _settings_of(owner)


@cache
def _settings_of(owner: Any) -> tuple[Setting, ...]:
    lines = field_lines(owner)
    hints = get_type_hints(owner)
    if is_dataclass(owner):
        return tuple(
            _setting(f.name, hints[f.name], _default(f), lines, f.metadata)
            for f in sorted(
                fields(owner), key=lambda f: f.kw_only is True
            )  # as the constructor has them
            if f.init
        )
    return tuple(
        _setting(p.name, hints.get(p.name, str), p.default, lines, {})
        for p in inspect.signature(owner).parameters.values()
        if p.kind is inspect.Parameter.KEYWORD_ONLY
    )


def _default(field: Any) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return None if field.default is MISSING else field.default


def _setting(
    name: str, hint: Any, default: Any, lines: Mapping[str, str], more: Mapping[str, Any]
) -> Setting:
    flag = more.get("flag") or name.replace("_", "-")
    return Setting(
        name,
        without_none(hint),
        None if default is inspect.Parameter.empty else default,
        lines.get(name, ""),
        flag,
        more.get("usual", ""),
        more.get("metavar", ""),
        more.get("hidden", False),
        default is None or NoneType in get_args(hint),
        more.get("least"),
        more.get("most"),
        more.get("also", ""),
    )


def without_none(hint: Any) -> Any:
    """A type without `| None`."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    kinds = [kind for kind in get_args(hint) if kind is not NoneType]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def first_line(owner: type | Callable[..., Any]) -> str:
    """What a class or a function says about itself in one line."""
    return (inspect.getdoc(owner) or "").partition("\n")[0]


def field_lines(owner: type | Callable[..., Any]) -> dict[str, str]:
    """The entries of `Attributes:` or `Args:` in a docstring, each as one line."""
    found: dict[str, str] = {}
    classes = owner.__mro__ if isinstance(owner, type) else (owner,)
    for one in reversed(classes):
        found |= _entries(inspect.cleandoc(one.__doc__ or ""))
    return found


def _entries(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    inside, name = False, ""
    for line in text.splitlines():
        if line in ("Attributes:", "Args:"):
            inside = True
        elif inside and line and not line.startswith(" "):
            inside = False
        elif inside and (match := _ENTRY.match(line[4:])) and not line.startswith("     "):
            name, found[match[1]] = match[1], match[2]
        elif inside and name and line.strip():
            found[name] += " " + line.strip()
    return found
