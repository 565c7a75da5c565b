"""Whether what was read from JSON has the types that its classes say."""

from __future__ import annotations

import types
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints


def check_types(found: Any) -> None:
    """Complain about a field of a dataclass, or of one in it, that is of another type.

    JSON has one kind of number, so an integer will do for a float.

    Raises:
        TypeError: There is one.
    """
    for name, kind in _kinds(type(found)).items():
        value = getattr(found, name)
        if not _fits(value, kind):
            raise TypeError(f"{name} must be of type {kind}, got {value!r:.60}")


@cache
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
    if kind in (float, int, str, bool):
        wanted = (float, int) if kind is float else kind
        return isinstance(value, wanted) and isinstance(value, bool) == (kind is bool)
    return not isinstance(kind, type) or isinstance(value, kind)
