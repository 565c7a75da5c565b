"""What a field of settings may hold: by its type, and by the bounds that it names."""

from __future__ import annotations

import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Any, Literal, SupportsFloat, Union, get_args, get_origin, get_type_hints

from meritnas.errors import UsageError, told, whole_number
from meritnas.settings.fields import Setting, settings_of, without_none

_UNFIT = object()
"""What there is of a value that is not of a type."""

_LARGEST = 2**53
"""Of the integers up to which a float can hold all."""

_LISTS = (tuple, list, Sequence, Collection, Iterable)


def check_fields(settings: Any) -> None:
    """Complain about a field whose value is not of its type, or beyond its bounds.

    Numbers of other libraries, such as numpy's, become Python's, so that a run can keep them.
    """
    for setting in settings_of(type(settings)):
        found = checked(setting, getattr(settings, setting.name))
        object.__setattr__(settings, setting.name, found)


def check_arguments(function: Callable[..., Any], **given: Any) -> None:
    """Complain about arguments of a function that are not of the types that its signature names."""
    hints = get_type_hints(function)
    for name, value in given.items():
        optional = NoneType in get_args(hints[name])
        checked(Setting(name, without_none(hints[name]), None, "", name, optional=optional), value)


def checked(setting: Setting, value: Any) -> Any:
    """The value of a setting, as it is kept.

    Raises:
        UsageError: It is not of the setting's type, or beyond its bounds.
    """
    if value is None and setting.optional:
        return None
    if setting.kind is int:
        return whole_number(setting.called, value, setting.least, setting.most)
    found = fitted(value, setting.kind)
    if found is _UNFIT:
        raise UsageError(f"{setting.called} must be {in_words(setting)}, got {told(value)}")
    return found


def is_of(value: Any, kind: Any) -> bool:
    """Whether a value is of a type, or can stand for one of it."""
    return fitted(value, kind) is not _UNFIT


def fitted(value: Any, kind: Any) -> Any:
    """A value as one of a type; of types that nothing is known about, all values are."""
    origin = get_origin(kind) or kind
    if origin in (Union, UnionType):
        found = [fitted(value, each) for each in get_args(kind)]
        return next((each for each in found if each is not _UNFIT), _UNFIT)
    if origin is Literal:
        same = [each for each in get_args(kind) if type(each) is type(value) and each == value]
        return same[0] if same else _UNFIT
    if origin in _LISTS:
        return _list(value, origin, get_args(kind))
    if origin in (Mapping, dict):
        return _mapping(value, get_args(kind))
    if origin is Callable:
        return value if callable(value) else _UNFIT
    return _single(value, origin)


def _single(value: Any, kind: Any) -> Any:
    if kind in (None, NoneType):
        return value if value is None else _UNFIT
    if kind is bool:
        return bool(value) if type(value).__name__ in ("bool", "bool_") else _UNFIT
    if kind is int:
        return _whole(value)
    if kind is float:
        return _number(value)
    if isinstance(kind, type) and kind is not object:
        return value if _is_one(value, kind) else _UNFIT
    return value


def _is_one(value: Any, kind: type) -> bool:
    try:
        return isinstance(value, kind)
    except TypeError:  # a protocol that nothing can be asked about
        return True


def _whole(value: Any) -> Any:
    try:
        return _UNFIT if isinstance(value, bool) else operator.index(value)
    except TypeError:
        return _UNFIT


def _number(value: Any) -> Any:
    """A number; one that is too large for a float is none, nor are integers that it rounds."""
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        return _UNFIT
    if isinstance(value, int) and abs(value) > _LARGEST:
        return _UNFIT
    try:
        return value if isinstance(value, float) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return _UNFIT


def _list(value: Any, kind: Any, parts: tuple[Any, ...]) -> Any:
    """A list of what it is a list of; a text or a dict is none."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return _UNFIT
    items = list(value)
    if not parts:
        of = [Any] * len(items)
    elif kind is tuple and parts[-1] is not Ellipsis:
        of = list(parts)
    else:
        of = [parts[0]] * len(items)
    if len(of) != len(items):
        return _UNFIT
    found = [fitted(item, each) for item, each in zip(items, of, strict=True)]
    if any(item is _UNFIT for item in found):
        return _UNFIT
    same = all(new is old for new, old in zip(found, items, strict=True))
    return value if same and isinstance(value, list | tuple) else tuple(found)


def _mapping(value: Any, parts: tuple[Any, ...]) -> Any:
    """Names and what they stand for; where that is a list of texts, one text is a list of one."""
    of_names, of_items = parts or (Any, Any)
    several = str in get_args(of_items)

    def fits(name: Any, item: Any) -> bool:
        alone = several and isinstance(item, str)
        return is_of(name, of_names) and (alone or is_of(item, of_items))

    whole = isinstance(value, Mapping) and all(fits(*entry) for entry in value.items())
    return value if whole else _UNFIT


_WORDS: Mapping[Any, str] = {
    **{bool: "True or False", int: "a whole number", float: "a number", str: "a text"},
    **dict.fromkeys(_LISTS, "a list"),
    **dict.fromkeys((Mapping, dict), "a dict"),
    Callable: "a function",
}


def in_words(setting: Setting) -> str:
    """What values a setting takes."""
    kinds = get_args(setting.kind) if get_origin(setting.kind) in (Union, UnionType) else ()
    return " or ".join(dict.fromkeys(_word(kind) for kind in kinds or (setting.kind,)))


def _word(kind: Any) -> str:
    origin = get_origin(kind) or kind
    if origin is Literal:
        choices = get_args(kind)
        return f"one of {', '.join(map(str, choices))}" if len(choices) > 1 else repr(choices[0])
    if origin in _LISTS and (parts := get_args(kind)):
        of = "lists" if get_origin(parts[0]) in _LISTS else _MANY.get(parts[0])
        return f"a list of {of}" if of else "a list"
    return _WORDS.get(origin) or f"a {getattr(origin, '__name__', origin)}"


_MANY = {int: "whole numbers", float: "numbers", str: "texts"}
