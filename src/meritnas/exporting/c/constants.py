"""Constants of a C file: arrays of numbers and records, and how many bytes they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

_BYTES = {"float": 4, "double": 8, "int32_t": 4, "int64_t": 8, "int8_t": 1, "uint8_t": 1}
_TYPES = {"float": np.float32, "double": np.float64}
_A_LINE = 96


class Constants:
    """What is printed as `static const`, in order.

    Attributes:
        bytes: of all of them.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._lines: list[str] = []

    def array(self, name: str, kind: str, values: Any) -> str:
        """An array of numbers, in a row; its name."""
        row = np.asarray(values).ravel()
        self.bytes += row.size * _BYTES[kind]
        texts = [number_text(kind, value) for value in row.tolist()]
        self._lines += [f"static const {kind} {name}[{row.size}] = {{", *wrapped(texts), "};"]
        return name

    def record(self, kind: str, name: str, text: str, numbers: int) -> str:
        """A record of so many numbers of four bytes; its name."""
        self.bytes += 4 * numbers
        self._lines.append(f"static const struct {kind} {name} = {{{text}}};")
        return name

    def records(self, kind: str, name: str, rows: Sequence[str], size: int) -> str:
        """A row of records of so many bytes each; its name."""
        self.bytes += size * len(rows)
        told = [f"    {{{row}}}," for row in rows]
        self._lines += [f"static const struct {kind} {name}[{len(rows)}] = {{", *told, "};"]
        return name

    @property
    def text(self) -> str:
        """All of them as C."""
        return "\n".join(self._lines) + "\n"


def number_text(kind: str, value: float) -> str:
    """A number as C writes it; of reals every bit is kept."""
    if kind not in _TYPES:
        return str(int(value))
    if not np.isfinite(value):
        raise ValueError(f"{value} is no constant")
    told = f"{value:.9g}" if kind == "float" else repr(float(value))
    told = told if any(mark in told for mark in ".e") else told + ".0"
    return told + ("f" if kind == "float" else "")


def wrapped(texts: Sequence[str]) -> list[str]:
    """Lines of many numbers."""
    lines: list[str] = []
    line = "   "
    for text in texts:
        if len(line) + len(text) + 2 > _A_LINE:
            lines.append(line)
            line = "   "
        line += f" {text},"
    return [*lines, line]
