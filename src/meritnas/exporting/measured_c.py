"""What a network in C costs, counted in its source."""

from __future__ import annotations

import re
from pathlib import Path

from meritnas.data.files.plain_file import read_plain_file
from meritnas.errors import UsageError
from meritnas.exporting.c.source import HEADER, SOURCE
from meritnas.exporting.measured_module import Found

_BYTES = {"float": 4, "double": 8, "int32_t": 4, "int8_t": 1, "uint8_t": 1}
_ARRAY = re.compile(r"static const (\w+) (\w+)\[(\d+)\] = \{([^}]*)\};")
_RECORD = re.compile(r"static const struct (\w+) \w+(?:\[(\d+)\])? = ")
_STRUCT = re.compile(r"^struct (\w+) \{([^}]*)\};", re.MULTILINE)
_LEARNED = re.compile(r"layer\d+_(weights|biases|scales|table)")


def measure_c(folder: Path) -> dict[str, Found]:
    """Weights, bytes of constants and of the arena, by `model.c` and `model.h`.

    Raises:
        UsageError: A file is not as it was written.
    """
    source = read_plain_file(folder / SOURCE).decode("ascii", "replace")
    header = read_plain_file(folder / HEADER).decode("ascii", "replace")
    arrays = [
        (name, kind, sum(bool(text.strip()) for text in values.split(",")), int(size))
        for kind, name, size, values in _ARRAY.findall(source)
    ]
    sizes = _struct_bytes(source)
    try:
        constants = sum(count * _BYTES[kind] for _, kind, count, _ in arrays)
        constants += sum(sizes[kind] * int(many or 1) for kind, many in _RECORD.findall(source))
        arena = _told(header, "MODEL_ARENA_BYTES")
        whole = constants == _told(header, "MODEL_CONSTANT_BYTES")
    except (KeyError, AttributeError) as error:
        raise UsageError(f"{folder / SOURCE} is damaged ({error}); export again") from error
    if not whole or any(count != size for _, _, count, size in arrays):
        raise UsageError(
            f"{folder / SOURCE} has other constants than it was written with; export again"
        )
    learned = [(kind, count) for name, kind, count, _ in arrays if _LEARNED.fullmatch(name)]
    stored = sum(_BYTES[kind] * count for kind, count in learned)
    return {
        "params": Found(
            sum(count for _, count in learned), "weights in the file, batch norms folded into them"
        ),
        "flops": Found(None, "is not counted in this form; verify the run"),
        "size": Found(stored, "bytes of weights in the file"),
        "constants": Found(constants, "with preprocessing, which no limit is on"),
        "peak": Found(arena, "bytes of its arena"),
        "latency": Found(None, "is not measured in this form; verify the run"),
    }


def _told(header: str, name: str) -> int:
    found = re.search(rf"^#define {name} (\d+)$", header, re.MULTILINE)
    if found is None:
        raise KeyError(f"no {name} in {HEADER}")
    return int(found[1])


def _struct_bytes(source: str) -> dict[str, int]:
    """Of each record how many bytes it is, filled up to whole doubles where it has any."""
    sizes: dict[str, int] = {}
    for name, body in _STRUCT.findall(source):
        total, largest = 0, 1
        for line in body.split(";"):
            words = line.split()
            if not words:
                continue
            kind = words[1] if words[0] == "struct" else words[0]
            one = sizes[kind] if words[0] == "struct" else _BYTES[kind]
            largest = max(largest, one if words[0] != "struct" else 4)
            counts = (re.search(r"\[(\d+)\]", each) for each in line.split(","))
            total += one * sum(int(count[1]) if count else 1 for count in counts)
        sizes[name] = -(-total // largest) * largest
    return sizes
