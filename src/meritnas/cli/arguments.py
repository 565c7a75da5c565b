"""What commands take beside settings: data, runs, folders, how to print."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

import typer

from meritnas.cli.help_text import help_text, switch
from meritnas.cli.newer_version import tell_newer_version
from meritnas.settings.reading import MAX_UNPACKED_MB

_RUN = "Run"

DATA_HELP = (
    "A table (CSV, TSV, gz, Parquet); images (a folder per class, npz, idx, CIFAR); a text "
    "(--space recurrent); an npz with an array for each modality (--space fusion); or digits, "
    "breast_cancer, wine, diabetes, mnist5k."
)
Data = Annotated[str | None, typer.Argument(metavar="DATA", help=DATA_HELP, show_default=False)]
ShownRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder that a search wrote.")]
Run = Annotated[
    Path,
    typer.Argument(
        metavar="RUN", help="The folder that a search wrote.", callback=tell_newer_version
    ),
]
SkipBadRows = Annotated[
    bool, switch("--skip-bad-rows", "Leave out rows of a file with too many fields.")
]
MaxUnpackedMb = Annotated[
    int,
    typer.Option(
        help=help_text("Most megabytes that a packed file may unpack to.", str(MAX_UNPACKED_MB)),
        metavar="N",
        min=1,
        show_default=False,
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        help=help_text(
            "Read Parquet files in pieces, not all at once.",
            "where it is more than a quarter of memory",
        ),
        show_default=False,
    ),
]
Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="The column to predict.")]
Out = Annotated[
    str | None,
    typer.Option(
        help=help_text("The run's folder; it must not exist.", "a new one in runs/"),
        metavar="DIR",
        rich_help_panel=_RUN,
    ),
]
Resume = Annotated[
    Path | None,
    typer.Option(
        help="Continue this run instead.",
        metavar="RUN",
        rich_help_panel=_RUN,
        callback=tell_newer_version,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        help="A TOML file with settings; a flag wins over it.",
        metavar="FILE",
        rich_help_panel=_RUN,
    ),
]
PrintConfig = Annotated[
    bool,
    switch("--print-config", "Print all settings as such a file, and do nothing else.", _RUN),
]
Live = Annotated[bool, switch("--live", "Show the report in a browser while it grows.", _RUN)]
LivePort = Annotated[
    int | None,
    typer.Option(
        help=help_text("For --live, on this machine only.", "a free one"),
        metavar="PORT",
        min=1,
        max=65535,
        rich_help_panel=_RUN,
    ),
]
TensorBoard = Annotated[
    bool,
    switch("--tensorboard", "Also write curves for TensorBoard, into the run's folder.", _RUN),
]
Quiet = Annotated[bool, switch("--quiet", "No progress, no notes.", _RUN)]
AsJson = Annotated[bool, switch("--json", "The result as one JSON object.", _RUN)]


def own_parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    """A parameter of a command that is no setting."""
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)
