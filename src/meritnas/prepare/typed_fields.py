"""Whether what was read from JSON has the types that its classes say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, get_type_hints

from meritnas.settings.checks import is_of


def check_types(found: Any) -> None:
    """Complain about a field of a dataclass, or of one in it, that is of another type.

    Raises:
        TypeError: There is one.
    """
    hints = get_type_hints(type(found))
    for name in (field.name for field in fields(found)):
        value = getattr(found, name)
        for each in _dataclasses(value):
            check_types(each)
        if not is_of(value, hints[name]):
            raise TypeError(f"{name} must be of type {hints[name]}, got {value!r:.60}")


def _dataclasses(value: Any) -> list[Any]:
    """Those that are a value, or are listed in one."""
    if is_dataclass(value) and not isinstance(value, type):
        return [value]
    if isinstance(value, Mapping):
        value = tuple(value.values())
    return [one for item in value for one in _dataclasses(item)] if type(value) is tuple else []
