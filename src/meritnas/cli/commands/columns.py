"""`meritnas columns`: what is made of each column; torch is not needed for that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import switch
from meritnas.data.files.plain_file import given_path
from meritnas.errors import DataError, UsageError
from meritnas.report.terminal.columns_table import columns_table
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    import pandas as pd

    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.data.files.loaded import Loaded
    from meritnas.data.task import Task


def columns(
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA|RUN",
            help="A table, the name of bundled data, or the folder that a search wrote.",
        ),
    ],
    target: opt.Target = None,
    skip_bad_rows: opt.SkipBadRows = False,
    max_unpacked_mb: opt.MaxUnpackedMb = MAX_UNPACKED_MB,
    as_json: Annotated[bool, switch("--json", "One JSON object.")] = False,
) -> None:
    """Show what is made of each column: a number, a date, a category, or nothing.

    For a table this is what a search on all its rows would decide, for a run what it did decide.
    """
    with plain_outcome(lambda: "nothing was written"):
        from meritnas.data.bundled import BUNDLED  # here: --help must not wait for it
        from meritnas.data.files.loaded import load_table

        path = given_path(data)
        is_run = path.is_dir() and data not in BUNDLED
        if is_run:
            rows = _of_run(path, target)
        else:
            rows = _of_table(load_table(data, bool(skip_bad_rows), max_unpacked_mb), target)
        if as_json:
            typer.echo(json.dumps(_object(data, rows)))
        else:
            Console(highlight=False, markup=False).print(columns_table(rows))


def _of_table(loaded: Loaded, target: str | None) -> list[ColumnRow]:
    """Decide on the columns by all rows; in the order of the table."""
    from meritnas.data.columns.encoder import TableEncoder

    chosen, frame = loaded.target(target), loaded.frame
    if chosen is None:
        rows = TableEncoder.fit(frame).describe()
    else:
        encoder = TableEncoder.fit(frame.drop(columns=chosen))
        rows = [_found_target(frame[chosen]), *encoder.describe()]
    place = {name: number for number, name in enumerate(frame.columns)}
    return sorted(rows, key=lambda row: place[row.column])


def _of_run(run: Path, target: str | None) -> list[ColumnRow]:
    """What a run decided; in the order of the network's inputs."""
    if target is not None:
        raise UsageError(f"{run} is a folder: a run has its own target; leave out --target")

    from meritnas.data.kinds import kind_of
    from meritnas.prepare.preprocessing import read_preprocessing
    from meritnas.store.run_store import RunStore

    encoder, task = read_preprocessing(RunStore.open(run))
    kind = kind_of(encoder)
    rows = kind.columns(encoder)
    if not rows:
        _, verb, what = kind.this.split(" ", 2)
        have = "have" if verb == "are" else "has"
        raise UsageError(f"{run} was made on {what}, which {have} no columns")
    return [*rows, _target_row(task)]


def _found_target(values: pd.Series) -> ColumnRow:
    """The target of a table; what hinders a search is no reason not to show the columns."""
    import numpy as np

    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.data.task import Task

    try:
        return _target_row(Task.find(values, np.arange(len(values))))
    except DataError as error:
        return ColumnRow(str(values.name), "target", f"cannot be learned: {error}")


def _target_row(task: Task) -> ColumnRow:
    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.wording import listed

    if task.kind == "regression":
        details = f"a number, mean {task.mean:.3g}, sd {task.scale:.3g}"
    else:
        details = f"{len(task.classes)} classes: {listed(task.classes, most=10)}"
    return ColumnRow(task.target, "target", details)


def _object(data: str, rows: list[ColumnRow]) -> dict[str, Any]:
    return {"data": data, "columns": [row._asdict() for row in rows]}
