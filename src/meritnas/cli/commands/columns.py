"""`meritnas columns`: what is made of each column; torch is not needed for that."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console

from meritnas.cli import arguments as opt
from meritnas.cli.arguments import own_parameter
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.flags import Owner, given_values, with_parameters
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say
from meritnas.cli.values import read_given
from meritnas.data.files.plain_file import given_path
from meritnas.data.tables.kind import trial_is_worth
from meritnas.data.tables.reading import TableReading
from meritnas.errors import DataError, UsageError
from meritnas.report.terminal.columns_table import columns_table
from meritnas.settings.fields import Setting, settings_of

if TYPE_CHECKING:
    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.data.files.loaded import Loaded
    from meritnas.data.task import Task


_NO_MATTER = ("class_weight",)
"""Settings of a table's reading that change nothing about its columns."""

_TRIED = (
    "numbers are shown standardised; a search on so many rows also tries quantile scaling and "
    "takes what suits the validation rows"
)


@dataclass(frozen=True)
class _Shown:
    """What is shown: a row for each column, and sentences about them."""

    rows: list[ColumnRow]
    notes: Sequence[str] = ()


def make_columns() -> Callable[..., None]:
    """The command, with the flags of how a table is read."""

    def columns(
        data: str, target: str | None, seed: int | None, as_json: bool, **settings: Any
    ) -> None:
        given = given_values(settings)
        with plain_outcome(lambda: "nothing was written"):
            shown = _shown(data, target, seed, given)
            if as_json:
                typer.echo(json.dumps(_object(data, shown)))
            else:
                Console(highlight=False, markup=False).print(columns_table(shown.rows))
                for text in shown.notes:
                    say(f"note: {text}")

    columns.__doc__ = """Show what is made of each column: a number, a date, a category, or nothing.

    For a table it is what a search with the same flags would decide, for a run what it did decide.

    With a target the training rows are looked at, as a search does, else all rows.
    """
    return with_parameters(
        columns,
        [own_parameter("data", _Data), own_parameter("target", opt.Target)],
        [Owner("reading", "table", "Reading tables", _settings())],
        [own_parameter("seed", _Seed), own_parameter("as_json", _AsJson, False)],
    )


_Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA|RUN",
        help="A table, the name of bundled data, or the folder that a search wrote.",
        show_default=False,
    ),
]
_Seed = Annotated[
    int | None, typer.Option(metavar="N", help=help_text("Of the split.", "0"), min=0)
]
_AsJson = Annotated[bool, switch("--json", "One JSON object.")]


def _settings() -> tuple[Setting, ...]:
    return tuple(each for each in settings_of(TableReading) if each.name not in _NO_MATTER)


def _shown(data: str, target: str | None, seed: int | None, given: dict[str, Any]) -> _Shown:
    from meritnas.data.bundled import BUNDLED  # here: --help must not wait for it

    path = given_path(data)
    if path.is_dir() and data not in BUNDLED:
        found = {**given_values({"target": target, "seed": seed}), **given}
        if found:
            name = next(iter(found))
            own = "target" if name == "target" else "way to read its data"
            raise UsageError(f"{path} is a folder: a run has its own {own}; leave out --{name}")
        return _Shown(_of_run(path))

    from meritnas.data.files.loaded import load_table

    by_flag = {each.flag: each for each in _settings()}
    values = {by_flag[flag].name: read_given(by_flag[flag], v) for flag, v in given.items()}
    reading = TableReading(**values)
    loaded = load_table(data, reading.skip_bad_rows, reading.max_unpacked_mb)
    return _of_table(loaded, target, seed or 0, reading)


def _of_table(loaded: Loaded, target: str | None, seed: int, reading: TableReading) -> _Shown:
    """Decide on the columns as a search does; in the order of the table."""
    from meritnas.data.columns.encoder import TableEncoder
    from meritnas.data.tables.asked_columns import asked_columns
    from meritnas.data.tables.plan import plan_table
    from meritnas.data.tables.remarks import remarks_on
    from meritnas.data.tables.source import source_of

    chosen, frame, scaling = loaded.target(target), loaded.frame, _scaling(reading)
    asked = asked_columns(reading, frame.columns, chosen or "")
    place = {name: number for number, name in enumerate(frame.columns)}

    def in_order(rows: list[ColumnRow]) -> list[ColumnRow]:
        return sorted(rows, key=lambda row: place[row.column])

    if chosen is None:
        encoder = TableEncoder.fit(frame, None, scaling, asked=asked)
        return _Shown(in_order(encoder.describe()), encoder.warnings)
    features = frame.drop(columns=chosen)
    try:
        rule = {"drop_missing_target": reading.drop_missing_target, "task": reading.task}
        source = source_of(loaded, chosen, **rule)
        plan = plan_table(source, seed, reading)
    except DataError as error:
        # What hinders a search is no reason not to show the columns.
        encoder = TableEncoder.fit(features, None, scaling, asked=asked)
        row = _row(chosen, "target", f"cannot be learned: {error}")
        return _Shown(in_order([row, *encoder.describe()]), encoder.warnings)
    kept = source.frame.drop(columns=chosen)
    encoder = TableEncoder.fit(kept, plan.split.train, scaling, asked=asked)
    codes = plan.task.codes(source.frame[chosen])
    remarks = remarks_on(source, encoder, plan.task, plan.split, codes, reading)
    tried = reading.scaling == "auto" and encoder.scalable and trial_is_worth(plan.split)
    notes = (*source.notes, *plan.notes, *remarks, *encoder.warnings, *([_TRIED] if tried else ()))
    return _Shown(in_order([_target_row(plan.task), *encoder.describe()]), notes)


def _scaling(reading: TableReading) -> Literal["standard", "quantile"]:
    return "standard" if reading.scaling == "auto" else reading.scaling


def _of_run(run: Path) -> list[ColumnRow]:
    """What a run decided; in the order of the network's inputs."""
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


def _target_row(task: Task) -> ColumnRow:
    from meritnas.wording import listed

    if task.kind == "regression":
        details = f"a number, mean {task.mean:.3g}, sd {task.scale:.3g}"
    else:
        details = f"{len(task.classes)} classes: {listed(task.classes, most=10)}"
    return _row(task.target, "target", details)


def _row(column: str, taken_as: str, details: str) -> ColumnRow:
    from meritnas.data.columns.encoder import ColumnRow

    return ColumnRow(column, taken_as, details)


def _object(data: str, shown: _Shown) -> dict[str, Any]:
    return {
        "data": data,
        "columns": [row._asdict() for row in shown.rows],
        "notes": list(shown.notes),
    }
