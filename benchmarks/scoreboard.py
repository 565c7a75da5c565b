"""What every benchmark shares: arguments, a table on the screen, rows as JSON, judged targets."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Target:
    """A stated aim: what it says, what was measured, and whether it was met; None: not judged."""

    text: str
    measured: str
    met: bool | None


def arguments(description: str | None) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="seconds only; judges no target")
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    return parser


def show(title: str, rows: Sequence[Row]) -> None:
    table = Table(title=title, title_justify="left")
    names = list(dict.fromkeys(name for row in rows for name in row))
    for name in names:
        numeric = any(isinstance(row.get(name), int | float) for row in rows)
        table.add_column(name, justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(_text(row.get(name, "")) for name in names))
    Console(width=None if sys.stdout.isatty() else 140).print(table)


def keep(rows: Sequence[Row], args: argparse.Namespace) -> None:
    """Write the rows to the file that was asked for, if any."""
    if args.json is not None:
        args.json.write_text(json.dumps(list(rows), indent=1) + "\n")


def finish(rows: Sequence[Row], targets: Sequence[Target], args: argparse.Namespace) -> int:
    """Write the rows, judge the targets; the exit code is 1 where one was missed."""
    keep(rows, args)
    if args.quick:
        print("quick run: no target judged")
        return 0
    words = {True: "met   ", False: "MISSED", None: "not judged"}
    for target in targets:
        print(f"{words[target.met]} {target.text}: {target.measured}")
    return 1 if any(target.met is False for target in targets) else 0


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)
