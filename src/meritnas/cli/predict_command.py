from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meritnas.cli import options as opt
from meritnas.cli.outcome import plain_outcome
from meritnas.cli.speech import say
from meritnas.errors import DataError, StoreError
from meritnas.report.numbers import score_text
from meritnas.report.summary import metric_name

if TYPE_CHECKING:
    import pandas as pd

    from meritnas.child.predictor import Predictor

_PIECE = 16_384


def predict(
    run: opt.Run,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A table with the columns of the search.")
    ],
    network: Annotated[
        str | None,
        typer.Option(
            metavar="WIDTHS", help="Another network of the run's trade-off curve.", show_default=""
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A CSV file.", show_default="standard output"),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the --out file.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No scores, no notes.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object instead of CSV.")
    ] = False,
) -> None:
    """Predict the target for the rows of a new table, as CSV.

    If the table also has the target column, the scores are shown too.
    """
    with plain_outcome(lambda: "nothing was written"):
        if out is not None and out.exists() and not force:
            raise StoreError(f"{out} exists already; give another --out, or --force to replace it")

        from meritnas.child.predictor import load_predictor  # here: --help must not wait for torch

        predictor = load_predictor(run, network)
        frame = _read(file, predictor)
        answers = predictor.table(frame)
        if not quiet:
            for text in predictor.encoder.unfamiliar(frame):
                say(f"note: {text}")
        scores = _scores(predictor, frame, quiet=quiet)
        if out is not None:
            _write_whole(out, answers.to_csv(index=False))
        if as_json:
            typer.echo(json.dumps(_object(run, answers, scores, out)))
        elif out is None:
            _write_out(answers.to_csv(index=False))


def _read(file: str, predictor: Predictor) -> pd.DataFrame:
    from meritnas.data.bundled import BUNDLED, load_bundled
    from meritnas.data.table import read_table

    if file in BUNDLED:
        return load_bundled(file)[0]
    return read_table(Path(file).expanduser(), decimal=predictor.encoder.decimal)


def _scores(predictor: Predictor, frame: pd.DataFrame, *, quiet: bool) -> dict[str, float]:
    """The scores, if the table has answers to compare with; they are also said."""
    from meritnas.child.metrics import score

    task = predictor.task
    if task.target not in frame.columns or frame[task.target].isna().any() or len(frame) < 2:
        return {}
    try:
        scores = score(task, predictor.outputs(frame), task.encode(frame[task.target]))
    except DataError as error:
        scores, text = {}, f"note: not scored: {error}"
    else:
        found = ", ".join(f"{metric_name(m)} {score_text(value)}" for m, value in scores.items())
        text = f"{len(frame):,} rows with known '{task.target}': {found}"
    if not quiet:
        say(text)
    return scores


def _object(
    run: Path, answers: pd.DataFrame, scores: dict[str, float], out: Path | None
) -> dict[str, Any]:
    found: dict[str, Any] = {"run": str(run), "rows": len(answers), "scores": scores}
    if out is not None:
        return {**found, "out": str(out)}
    return {**found, "predictions": json.loads(answers.to_json(orient="records"))}


def _write_out(text: str) -> None:
    # In pieces: one large write to a pipe may end half done, without an error.
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
    sys.stdout.flush()


def _write_whole(path: Path, text: str) -> None:
    """Write beside and rename, so that a full disk leaves nothing half-written."""
    beside = path.with_name(f".{path.name}.partial")
    try:
        beside.write_text(text, encoding="utf-8", newline="")
        beside.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; give another --out or free some space"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
