"""Whether what was read from JSON has the types that its classes say."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST = 2**53
"""Of the integers up to which a float can hold all."""


def check_types(found: Any) -> None:
    """Complain about a field of a dataclass, or of one in it, that is of another type.

    JSON has one kind of number, so an integer that a float can hold will do for one.

    Raises:
        TypeError: There is one.
    """
    for name, kind in _kinds(type(found)).items():
        value = getattr(found, name)
        if not _fits(value, kind):
            raise TypeError(f"{name} must be of type {kind}, got {value!r:.60}")


def _kinds(owner: Any) -> dict[str, Any]:
    hints = get_type_hints(owner)
    return {field.name: hints[field.name] for field in fields(owner)}


def _fits(value: Any, kind: Any) -> bool:
    origin, inner = get_origin(kind), get_args(kind)
    if is_dataclass(value) and not isinstance(value, type):
        check_types(value)
    if origin in (Union, types.UnionType):
        return any(_fits(value, each) for each in inner)
    if origin is Literal:
        return value in inner
    if origin is tuple:
        alike = len(inner) == 2 and inner[1] is Ellipsis
        kinds = [inner[0]] * len(value) if alike else list(inner)
        return (
            isinstance(value, tuple) and len(value) == len(kinds) and all(map(_fits, value, kinds))
        )
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return abs(value) <= _LARGEST
    if kind in (float, int, str, bool):
        return isinstance(value, kind) and isinstance(value, bool) == (kind is bool)
    return not isinstance(kind, type) or isinstance(value, kind)
