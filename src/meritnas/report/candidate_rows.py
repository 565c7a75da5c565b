"""What witnesses said about the candidates of a search, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from meritnas.report.numbers import count_text, score_text
from meritnas.report.run_files import RunFiles

SHOWN = 10

_HEADS = {"one-shot": "one-shot loss", "beliefs": "chance", "flops": "multiply-adds"}
_WORDS: Mapping[str, Callable[[float], str]] = {
    "one-shot": lambda value: score_text(-value),
    "beliefs": lambda value: f"{math.exp(value):.1e}",
    "size": lambda value: count_text(int(value)),
    "flops": lambda value: count_text(int(value)),
}
"""How what each witness says is shown; what is not named here is shown as it is."""


def candidate_rows(
    run: RunFiles, short: Callable[[str], str]
) -> tuple[tuple[str, ...], list[tuple[str, ...]], list[int]]:
    """(head, a row for each of the best candidates, which of them were trained alone).

    Nothing where a run has none that were judged.
    """
    found = [each for each in run["architecture"].get("candidates", ()) if each["said"]]
    if not found:
        return (), [], []
    names = list(found[0]["said"])
    trained = {str(one["architecture"]) for one in run["retrain"].get("results", ())}
    rows = [
        (
            str(place),
            short(str(each["architecture"])),
            *(_said(name, each["said"].get(name)) for name in names),
            f"{each['votes']:g}",
        )
        for place, each in enumerate(found[:SHOWN], start=1)
    ]
    marked = [k for k, each in enumerate(found[:SHOWN]) if each["architecture"] in trained]
    return ("", "network", *(_HEADS.get(name, name) for name in names), "votes"), rows, marked


def _said(name: str, value: Any) -> str:
    if value is None:
        return "?"
    return _WORDS.get(name, score_text)(float(value))
