"""What users write on the command line or in a config file, as the values that settings take."""

from __future__ import annotations

import csv
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union, get_args, get_origin

from meritnas.errors import UsageError, told
from meritnas.settings.fields import Setting

_COUNT = re.compile(r"([+-]?\d[\d_,]*(?:\.\d+)?)\s*([kKmMgG]?)")
_FACTORS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9}
_IN_WORDS: Mapping[Any, tuple[type | tuple[type, ...], str]] = {
    bool: (bool, "true or false"),
    int: ((int, float), "a whole number"),  # settings refuse 2.5 by themselves
    float: ((int, float), "a number"),
    str: (str, "a text"),
    Sequence: (tuple, "a list"),
    tuple: (tuple, "a list"),
    Mapping: (dict, "a table of names and values"),
    dict: (dict, "a table of names and values"),
}
"""Type of a setting -> what a config file may have for it, and what that is called."""


def parse_count(text: str) -> int:
    """A whole number, also as 20k, 1.5M or 20_000.

    Raises:
        ValueError: It is none; the message says how one is written.
    """
    match = _COUNT.fullmatch(text.strip())
    if match is not None:
        digits, factor = match[1].replace("_", "").replace(",", ""), _FACTORS[match[2].lower()]
        whole, _, part = digits.partition(".")
        scaled = int(whole + part) * factor
        if scaled % 10 ** len(part) == 0:
            return scaled // 10 ** len(part)
    raise ValueError(f"{text!r} is no whole number, such as 20000, 20k or 1.5M")


def parse_widths(text: str) -> tuple[int, ...] | tuple[tuple[int, ...], ...]:
    """The widths to choose from: "8,16,32" for every layer, "8,16;16,32" for each its own."""
    rows = tuple(_parse_row(row, text) for row in text.split(";"))
    return rows if len(rows) > 1 else rows[0]


def _parse_row(row: str, whole: str) -> tuple[int, ...]:
    try:
        return tuple(int(width) for width in row.split(","))
    except ValueError:
        raise UsageError(
            f"cannot read the widths {told(whole)}: {told(row.strip())} is no list of whole "
            "numbers; "
            'write "8,16,32", or a list for each layer: "8,16;16,32,64"'
        ) from None


def parse_modalities(given: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """What users wrote after `--modality`: names, or for a table names with their columns."""
    named = [text for text in given if "=" in text]
    if not named:
        return [name.strip() for text in given for name in text.split(",")]
    found: dict[str, list[str]] = {}
    for text in given:
        name, mark, columns = text.partition("=")
        if not mark or not name.strip() or not columns.strip():
            raise UsageError(
                f"give columns for every --modality or for none, as in text=title,review; got "
                f"{told(text)}"
            )
        found.setdefault(name.strip(), []).extend(column.strip() for column in columns.split(","))
    return {name: list(dict.fromkeys(columns)) for name, columns in found.items()}


def parse_named(given: Sequence[str], flag: str) -> dict[str, str]:
    """What users wrote after a flag that takes NAME=VALUE, such as `--backbone`."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, own = (part.strip() for part in text.partition("="))
        if not mark or not name or not own:
            raise UsageError(
                f"{flag} takes a modality and a function that makes its network, as in "
                f"sound=encoders:Encoder; got {told(text)}"
            )
        found[name] = own
    return found


def kinds_of(kind: Any) -> tuple[Any, ...]:
    """The types that a union is made of, or the one type."""
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def is_named(setting: Setting) -> bool:
    """Whether values come as NAME=VALUE, one after the other."""
    return any((get_origin(kind) or kind) in (Mapping, dict) for kind in kinds_of(setting.kind))


def reader(setting: Setting) -> Callable[[Any], Any] | None:
    """What makes a setting's value of the text, or the texts, that a user wrote; None for none."""
    kinds = kinds_of(setting.kind)
    origins = [get_origin(kind) or kind for kind in kinds]
    if is_named(setting):
        if len(origins) > 1:
            return parse_modalities
        return lambda given: parse_named(given, f"--{setting.flag}")
    if int in origins:
        return parse_count
    if tuple not in origins and list not in origins and Sequence not in origins:
        return None
    parts = get_args(kinds[0])
    of_numbers = not parts or parts[0] is int
    return parse_widths if of_numbers else lambda text: _parse_items(text, parts[0])


def _parse_items(text: str, kind: Any) -> tuple[Any, ...]:
    """A list of a strategy, a space or a reading: numbers or texts, at commas."""
    return tuple(float(part) if kind is float else part for part in parse_names(text))


def parse_names(text: str) -> list[str]:
    """Texts at commas; what holds a comma itself stands in double quotes."""
    rows = list(csv.reader([text], skipinitialspace=True))
    return [part.strip() for part in (rows[0] if rows else [""])]


def read_given(setting: Setting, given: Any) -> Any:
    """The value of what a user wrote after a flag, as far as Typer has not read it already."""
    read = reader(setting)
    if read is None or not isinstance(given, str | list):
        return given
    try:
        return read(given)
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(f"{called(setting)}: {error}") from error


def read_text(setting: Setting, text: str) -> Any:
    """The value of a text where Typer has read nothing: `tabnas(samples=4)`."""
    kinds = kinds_of(setting.kind)
    if kinds == (bool,):
        if text not in ("true", "false"):
            raise UsageError(f"{called(setting)} must be true or false, got '{text}'")
        return text == "true"
    if kinds != (float,):
        return read_given(setting, [text] if is_named(setting) else text)
    try:
        return float(text)
    except ValueError as error:
        raise UsageError(f"{called(setting)} must be a number, got '{text}'") from error


def read_from_file(setting: Setting, value: Any) -> Any:
    """A value of a config file, where numbers may be written like on the command line."""
    if isinstance(value, str) and reader(setting) is not None and not is_named(setting):
        return read_given(setting, value)
    found = _tuples(value) if isinstance(value, list) else value
    if setting.choices:
        if found not in setting.choices:
            choices = ", ".join(map(str, setting.choices))
            raise UsageError(f"{called(setting)} must be one of {choices}, got {value!r}")
        return found
    known = [_IN_WORDS.get(get_origin(kind) or kind) for kind in kinds_of(setting.kind)]
    takes = [each for each in known if each is not None]
    if takes and None not in known and not any(_fits(found, types) for types, _ in takes):
        words = " or ".join(dict.fromkeys(name for _, name in takes))
        raise UsageError(f"{called(setting)} must be {words}, got {value!r}")
    return found


def _fits(value: Any, types: type | tuple[type, ...]) -> bool:
    return isinstance(value, types) and (types is bool or not isinstance(value, bool))


def _tuples(value: Any) -> Any:
    return tuple(map(_tuples, value)) if isinstance(value, list) else value


def called(setting: Setting) -> str:
    """A setting in messages: as its flag, with underscores, as the library writes names."""
    return setting.flag.replace("-", "_")
