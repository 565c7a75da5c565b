"""`meritnas columns`: what is made of each column; of a table, torch is not needed for that."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from meritnas.data.kind import ColumnPreview, DataKind
from meritnas.data.kinds import kind_named, kind_of, refuse_foreign
from meritnas.errors import UsageError
from meritnas.families.catalogue import data_of
from meritnas.report.terminal.columns_table import columns_table
from meritnas.settings.fields import Setting, settings_of

if TYPE_CHECKING:
    from meritnas.data.columns.encoder import ColumnRow


_NO_MATTER = ("class_weight", "metric", "yardstick", "frozen_backbones", "examples")
"""Settings of readings that change nothing about columns."""

_TABLE = "table"
_KINDS = (_TABLE, "modalities")
"""Kinds of data that have columns."""


def make_columns() -> Callable[..., None]:
    """The command, with the flags of how a table is read."""

    def columns(
        data: str,
        target: str | None,
        space: str | None,
        seed: int | None,
        as_json: bool,
        **settings: Any,
    ) -> None:
        own = given_values({"target": target, "seed": seed, "space": space})
        given = given_values(settings)
        with plain_outcome(lambda: "nothing was written"):
            shown = _shown(data, own, given)
            if as_json:
                typer.echo(json.dumps(_object(data, shown)))
            else:
                Console(highlight=False, markup=False).print(columns_table(shown.rows))
                for text in shown.notes:
                    say(f"note: {text}")

    columns.__doc__ = """Show what is made of each column: a number, a date, a category, or nothing.

    For a table it is what a search with the same flags would decide, for a run what it did decide.

    With a target the training rows are looked at, as a search does, else all rows.

    With --space fusion it says which modality each column is of: text, a picture, numbers.
    """
    return with_parameters(
        columns,
        [own_parameter("data", _Data), own_parameter("target", opt.Target)],
        [Owner("reading", k.name, f"Reading {k.many}", _settings(k)) for k in _with_columns()],
        [
            own_parameter("space", _Space),
            own_parameter("seed", _Seed),
            own_parameter("as_json", _AsJson, False),
        ],
    )


_Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA|RUN",
        help="A table, a folder of Parquet files, the name of bundled data, or the folder that a "
        "search wrote.",
        show_default=False,
    ),
]
_Space = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help=help_text("The space of the search, such as fusion.", "tabular"),
        show_default=False,
    ),
]
_Seed = Annotated[
    int | None, typer.Option(metavar="N", help=help_text("Of the split.", "0"), min=0)
]
_AsJson = Annotated[bool, switch("--json", "One JSON object.")]


def _with_columns() -> list[DataKind]:
    return [kind_named(name) for name in _KINDS]


def _settings(kind: DataKind) -> tuple[Setting, ...]:
    return tuple(each for each in settings_of(kind.reading) if each.name not in _NO_MATTER)


def _shown(data: str, own: dict[str, Any], given: dict[str, Any]) -> ColumnPreview:
    from meritnas.data.bundled import BUNDLED  # here: --help must not wait for it
    from meritnas.data.files.parquet_table import is_parquet

    path = given_path(data)
    if path.is_dir() and data not in BUNDLED and not is_parquet(path):
        found = {**own, **given}
        if found:
            name = next(iter(found))
            what = "target" if name == "target" else "way to read its data"
            raise UsageError(f"{path} is a folder: a run has its own {what}; leave out --{name}")
        return ColumnPreview(_of_run(path))

    kind = _kind(own.get("space"))
    by_flag = {each.flag: each for each in _settings(kind)}
    foreign = [each.name for k in _with_columns() for each in _settings(k) if each.flag in given]
    refuse_foreign(kind, dict.fromkeys(foreign, True))
    values = {by_flag[flag].name: read_given(by_flag[flag], v) for flag, v in given.items()}
    return kind.preview(data, own.get("target"), kind.reading(**values), own.get("seed", 0))


def _kind(space: str | None) -> DataKind:
    """The kind of data that a space is for; tables where none is named."""
    name = _TABLE if space is None else data_of(space) or _TABLE
    if name in _KINDS:
        return kind_named(name)
    raise UsageError(f"the space {space} is for {kind_named(name).many}, which have no columns")


def _of_run(run: Path) -> list[ColumnRow]:
    """What a run decided; in the order of the network's inputs."""
    from meritnas.data.columns.encoder import target_row
    from meritnas.prepare.preprocessing import read_preprocessing
    from meritnas.store.run_store import RunStore

    encoder, task = read_preprocessing(RunStore.open(run))
    kind = kind_of(encoder)
    rows = kind.columns(encoder)
    if not rows:
        _, verb, what = kind.this.split(" ", 2)
        have = "have" if verb == "are" else "has"
        raise UsageError(f"{run} was made on {what}, which {have} no columns")
    return [*rows, target_row(task)]


def _object(data: str, shown: ColumnPreview) -> dict[str, Any]:
    return {
        "data": data,
        "columns": [row._asdict() for row in shown.rows],
        "notes": list(shown.notes),
    }
