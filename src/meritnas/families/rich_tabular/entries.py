"""Which decisions there are about the columns of a table, and what each has to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from meritnas.data.columns.inputs import TableInputs

PLAIN, ORDERED, ONE_HOT = "plain", "ordered", "onehot"
"""Options' names; others are `periodic4`, of 4 frequencies, and `embed2`, of 2 numbers a code."""

MOST_CODES = 16
"""Of category columns that may be one-hot; wider ones would take most of a first layer."""

_MOST_LETTERS = 40
"""Of a column's name in that of a decision."""


@dataclass(frozen=True)
class Way:
    """One way in which columns enter.

    Attributes:
        option: its name.
        kind: the class of `parts.PARTS` that does it; empty for nothing beside plain numbers.
        told: what that takes, but for the first layer's width.
    """

    option: str
    kind: str = ""
    told: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Entry:
    """A decision about how some columns enter.

    Attributes:
        name: of the decision.
        ways: to choose from.
        usual: the option that a plain network has.
    """

    name: str
    ways: tuple[Way, ...]
    usual: str


def entries_of(inputs: TableInputs, frequencies: Sequence[int], most: int) -> tuple[Entry, ...]:
    """The decisions about all columns: at most so many about numbers, and about categories.

    Number columns decide by themselves, or with their neighbours where there are more of them;
    those with two values enter as they are. Category columns with as many categories decide
    together, or all that usually have embeddings of one size where that makes too many groups.

    Args:
        inputs: the columns.
        frequencies: to choose from.
        most: decisions of each kind, at most.
    """
    found: dict[str, Entry] = {}
    every = (*_about_numbers(inputs, frequencies, most), *_about_categories(inputs, most))
    for number, entry in enumerate(every, start=1):
        name = entry.name if entry.name not in found else f"{entry.name} ({number})"
        found[name] = replace(entry, name=name)
    return tuple(found.values())


def _about_numbers(inputs: TableInputs, frequencies: Sequence[int], most: int) -> Iterator[Entry]:
    thresholds = inputs.thresholds
    if thresholds is None:
        thresholds = ((),) * inputs.numbers
    deciding = [column for column, own in enumerate(thresholds) if len(own) != 1]
    for group in np.array_split(np.array(deciding, dtype=np.int64), min(most, len(deciding)) or 1):
        columns = tuple(group.tolist())
        if not columns:
            continue
        ways = [Way(PLAIN)]
        between = tuple(thresholds[column] for column in columns)
        if all(between):
            ways.append(Way(ORDERED, "Ordered", {"columns": columns, "thresholds": between}))
        for count in frequencies:
            told = {"columns": columns, "frequencies": count}
            ways.append(Way(f"periodic{count}", "Periodic", told))
        if len(ways) > 1:
            yield Entry(_name(inputs, columns), tuple(ways), PLAIN)


def _about_categories(inputs: TableInputs, most: int) -> Iterator[Entry]:
    counts, usual = inputs.cardinalities, inputs.embedding_widths
    by_count, by_width = _groups(counts), _groups(usual)
    for group in by_count if len(by_count) <= most else by_width:
        columns = tuple(inputs.numbers + k for k in group)
        codes = tuple(counts[k] for k in group)
        size, ways = usual[group[0]], []
        sizes = [size] if inputs.embedding else [max(1, size // 2), size, 2 * size]
        widest = max(1, max(codes) - 2)
        for each in sorted({size, *(one for one in sizes if one <= widest)}):
            told = {"columns": columns, "cardinalities": codes, "size": each}
            ways.append(Way(f"embed{each}", "Embedded", told))
        alike = len(set(codes)) == 1 and 2 <= codes[0] <= MOST_CODES
        if alike and not inputs.embedding:
            ways.append(Way(ONE_HOT, "OneHot", {"columns": columns, "codes": codes[0]}))
        yield Entry(_name(inputs, columns), tuple(ways), f"embed{size}")


def _groups(keys: Sequence[int]) -> list[list[int]]:
    """The places of equal keys."""
    found: dict[int, list[int]] = {}
    for place, key in enumerate(keys):
        found.setdefault(key, []).append(place)
    return list(found.values())


def _name(inputs: TableInputs, columns: Sequence[int]) -> str:
    """`input age`, `input a1 and 41 more`."""
    column = columns[0]
    name = inputs.names[column] if inputs.names else f"{column + 1}"
    name = "".join(letter if letter.isprintable() else " " for letter in name)[:_MOST_LETTERS]
    more = f" and {len(columns) - 1} more" if len(columns) > 1 else ""
    return f"input {name}{more}"
