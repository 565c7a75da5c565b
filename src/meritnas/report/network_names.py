from __future__ import annotations

import re
from collections import Counter

_GENOTYPE = "Genotype("
_OPERATION = re.compile(r"\b(?:none|noise|[a-z]+_[a-z0-9_]+)\b")
_NAME = re.compile(r"(\w+)~")
_FUSED = re.compile(r"cell\d+\(([^,]+), ([^)]+)\): ([^+]+)")
_STEP = re.compile(r"= (\w+)\(")
_SHORT = {"skip_connect": "skip", "nor_conv_1x1": "1x1", "nor_conv_3x3": "3x3"}


def network_lines(text: str) -> list[str]:
    """An architecture, a node of its cells a line; whoever joins the lines has the text again.

    Widths of layers, which are short, are one line.
    """
    if text.startswith(_GENOTYPE):
        text = re.sub(r"(\), \('[^)]*\), )", r"\1\n", text)  # after every second pair
        return re.sub(r"(=\[)(?=\()|(\], )(?=[a-z])", r"\1\2\n", text).split("\n")
    if _FUSED.match(text):
        return re.sub(r"( \+ )(?=cell)", r"\1\n", text).split("\n")
    return re.sub(r"([+/])", r"\1\n", text).split("\n") if "~" in text else [text]


def short_network(text: str) -> str:
    """An architecture in a few words, for a line that has to say more than that.

    `3x3|skip 3x3|skip none avg` for a cell of NAS-Bench-201, `8 sep, 4 skip, 4 pool` for many
    edges, `glu(image.0, sound.1)` for a cell that joins two, and widths as they are.
    """
    if joined := _FUSED.findall(text):
        return " ".join(f"{'+'.join(_STEP.findall(s))}({x}, {y})" for x, y, s in joined)
    names = _OPERATION.findall(text)
    if "~" in text and "/" not in text:
        nodes = [_NAME.findall(node) for node in text.split("+")]
        return "|".join(
            " ".join(_SHORT.get(name, name[:4].rstrip("_")) for name in node) for node in nodes
        )
    if not names:
        return text
    kinds = Counter(_kind(name) for name in names if not name.endswith("_concat"))
    return ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())


def _kind(name: str) -> str:
    return "pool" if "pool" in name else name.partition("_")[0]
