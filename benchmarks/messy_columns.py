"""40 messy columns: what becomes of each, in this version and in another checkout.

python benchmarks/messy_columns.py --beside OTHER/src --json messy.json

The table is made anew from a seed: currencies, units, percent, thousands marks, words for missing
values, dates in several forms, identifiers, codes, texts. `meritnas columns` says what becomes of
each column; what is right is written beside it here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from scoreboard import Target, arguments, finish, show

TARGET = "churn"
Cells = list[Any]
Made = Callable[[np.random.Generator, int], Cells]


def numbers(form: str, low: float, high: float) -> Made:
    return lambda rng, n: [form.format(value) for value in rng.uniform(low, high, n)]


def german(form: str, low: float, high: float) -> Made:
    swap = str.maketrans(",.", ".,")
    return lambda rng, n: [form.format(v).translate(swap) for v in rng.uniform(low, high, n)]


def whole(form: str, low: int, high: int) -> Made:
    return lambda rng, n: [form.format(value) for value in rng.integers(low, high, n)]


def one_of(*values: Any) -> Made:
    return lambda rng, n: [values[place] for place in rng.integers(0, len(values), n)]


def days(form: str, step: str = "17h") -> Made:
    return lambda rng, n: (
        pd.date_range("2023-01-01", periods=n, freq=step)
        .strftime(form)[rng.permutation(n)]
        .tolist()
    )


def with_some(made: Made, share: float, *words: str) -> Made:
    """The same with other cells here and there."""

    def some(rng: np.random.Generator, n: int) -> Cells:
        cells = made(rng, n)
        for place in rng.choice(n, max(len(words), int(share * n)), replace=False):
            cells[place] = words[int(place) % len(words)]
        return cells

    return some


def sentences(rng: np.random.Generator, n: int) -> Cells:
    words = ("the", "order", "came", "late", "box", "was", "broken", "nobody", "answered", "fine")
    return [" ".join(rng.choice(words, rng.integers(5, 15))) for _ in range(n)]


def grouped_by(mark: str) -> Made:
    return lambda rng, n: [f"{v:,.0f}".replace(",", mark) for v in rng.uniform(1, 9e6, n)]


def magnitudes(rng: np.random.Generator, n: int) -> Cells:
    forms = ("${:.1f}M", "${:.0f}k", "${:.0f}")
    return [forms[i % 3].format(value) for i, value in enumerate(rng.uniform(1, 900, n))]


COLUMNS: Mapping[str, tuple[Made, str]] = {
    "dollars": (numbers("${:,.2f}", 1, 9_000), "number"),
    "euros": (german("{:,.2f} €", 1, 9_000), "number"),
    "code before": (numbers("USD {:.2f}", 1, 90), "number"),
    "pounds or nothing": (with_some(numbers("£{:.2f}", 1, 90), 0.1, "12", "7.5"), "number"),
    "large amounts": (magnitudes, "number"),
    "accounting": (with_some(numbers("{:.2f}", 1, 90), 0.3, "(3.50)", "(12.00)"), "number"),
    "percent": (whole("{} %", 0, 100), "number"),
    "percent joined": (numbers("{:.1f}%", 0, 100), "number"),
    "celsius": (numbers("{:.1f} °C", -20, 40), "number"),
    "kilograms": (with_some(whole("{} kg", 40, 120), 0.2, "70 KG", "81.5kg"), "number"),
    "millimetres": (german("{:.1f} mm", 1, 90), "number"),
    "per decilitre": (numbers("{:.2f} mg/dL", 1, 9), "number"),
    "per square metre": (numbers("{:.1f} kg/m²", 15, 45), "number"),
    "years": (with_some(whole("{} years", 2, 40), 0.1, "1 year"), "number"),
    "minutes": (whole("{} min", 1, 180), "number"),
    "apostrophes": (grouped_by("'"), "number"),
    "blanks": (grouped_by(" "), "number"),
    "commas in some": (numbers("{:,.0f}", 1, 9_000), "number"),
    "typing errors": (with_some(numbers("{:.1f}", 1, 90), 0.02, "tall", "3.4.5", "1O"), "number"),
    "unknown": (with_some(whole("{}", 18, 90), 0.3, "unknown"), "number"),
    "dashes": (with_some(numbers("{:.2f}", 0, 9), 0.2, "-", "n.a.", "--"), "number"),
    "spreadsheet errors": (with_some(numbers("{:.2f}", 0, 9), 0.05, "#DIV/0!", "#N/A"), "number"),
    "unit and unknown": (with_some(whole("{} km", 1, 900), 0.1, "unknown", "tbd"), "number"),
    "plain": (numbers("{:.3f}", 0, 1), "number"),
    "date": (days("%Y-%m-%d"), "date"),
    "date but for some": (with_some(days("%Y-%m-%d"), 0.02, "soon", "0000-00-00"), "date"),
    "day first": (with_some(days("%d/%m/%Y"), 0.02, "31/02/2023"), "date"),
    "dots": (days("%d.%m.%Y %H:%M"), "date"),
    "month in words": (days("%B %d, %Y"), "date"),
    "short month": (with_some(days("%d %b %Y"), 0.03, "n.a."), "date"),
    "city": (one_of("Bonn", "Rome", "Ulm"), "category"),
    "answers": (one_of("yes", "no", "unknown"), "category"),
    "ages": (one_of("18-25", "26-35", "36-50", "51+"), "category"),
    "codes": (one_of("1", "2", "3", "4a"), "category"),
    "two units": (with_some(whole("{} kg", 1, 4), 0.4, "2 lb", "3 lb"), "category"),
    "blood pressure": (one_of("120/80", "130/85", "140/90"), "category"),
    "constant": (one_of("EUR"), "left out"),
    "names": (lambda rng, n: [f"Customer {v:x}" for v in rng.permutation(n) + 4096], "left out"),
    "review": (sentences, "left out"),
    "customer_id": (lambda rng, n: (rng.permutation(n) + 10_000).tolist(), "number"),
}
"""Name -> what makes its cells, and what they are."""


def messy_table(rows: int, seed: int = 0) -> pd.DataFrame:
    """The 40 columns, and a target."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: made(rng, rows) for name, (made, _) in COLUMNS.items()})
    frame[TARGET] = rng.choice(["yes", "no"], rows)
    return frame


def decided(file: Path, source: Path | None) -> dict[str, dict[str, str]]:
    """What `meritnas columns` says, of the version in a folder of sources."""
    line = [sys.executable, "-m", "meritnas", "columns", str(file), "--target", TARGET, "--json"]
    environment = dict(os.environ)
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    done = subprocess.run(line, capture_output=True, text=True, env=environment, check=True)
    return {row["column"]: row for row in json.loads(done.stdout)["columns"]}


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--beside", type=Path, help="`src` of another checkout")
    parser.add_argument("--rows", type=int, default=400)
    args = parser.parse_args()
    frame = messy_table(args.rows)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "messy.csv"
        frame.to_csv(file, index=False)
        now = decided(file, None)
        before = {} if args.beside is None else decided(file, args.beside)
    rows = []
    for name, (_, right) in COLUMNS.items():
        cells = "; ".join(map(str, frame[name].drop_duplicates().head(2)))
        row = {"column": name, "cells": cells, "is": right}
        for when, found in (("before", before), ("now", now)):
            if found:
                row |= {when: found[name]["taken_as"], f"{when}, details": found[name]["details"]}
        rows.append(row)
    show(f"{len(rows)} messy columns, {args.rows} rows", [_short(row) for row in rows])
    wrong = [row["column"] for row in rows if row["now"] != row["is"]]
    count = f"{len(rows) - len(wrong)} of {len(rows)}" + (f", not {', '.join(wrong)}" * bool(wrong))
    if before:
        same = sum(row["before"] == row["is"] for row in rows)
        print(f"before: {same} of {len(rows)} are what they are")
    return finish(rows, [Target("every column is what it is", count, not wrong)], args)


def _short(row: Mapping[str, str]) -> dict[str, str]:
    return {name: text[:60] for name, text in row.items()}


if __name__ == "__main__":
    raise SystemExit(main())
