"""`meritnas predict`: answers for new data."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say
from meritnas.errors import DataError, StoreError, UsageError
from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    import pandas as pd
    from torch import Tensor

    from meritnas.data.kind import NewRows
    from meritnas.data.task import Task
    from meritnas.prediction.predictor import Predictor

_PIECE = 16_384


def predict(
    run: opt.Run,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="FILE",
            help="A table with the columns of the search; a picture, or a folder of them. None "
            "for a run on a text.",
            show_default=False,
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What a language model goes on with."),
    ] = None,
    words: Annotated[
        int | None, typer.Option(metavar="N", help=help_text("How many words it adds.", "50"))
    ] = None,
    temperature: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help=help_text("Below 1 for likely words, above 1 for surprising ones.", "1"),
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help=help_text("Same seed, same text.", "0"))
    ] = None,
    network: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Another network of the run's trade-off curve."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=help_text("A CSV file.", "standard output")),
    ] = None,
    force: Annotated[bool, switch("--force", "Replace the --out file.")] = False,
    max_unpacked_mb: opt.MaxUnpackedMb = MAX_UNPACKED_MB,
    quiet: Annotated[bool, switch("--quiet", "No scores, no notes.")] = False,
    as_json: Annotated[bool, switch("--json", "One JSON object instead of CSV.")] = False,
) -> None:
    """Predict the target for the rows of a new table, or the class of pictures, as CSV.

    Where the answers are known already, the scores are shown too. A run on a text writes on:
    meritnas predict RUN --prompt "It was late" --words 50
    """
    with plain_outcome(lambda: "nothing was written"):
        if out is not None and out.exists() and not force:
            raise StoreError(f"{out} exists already; give another --out, or --force to replace it")

        from meritnas.prediction.predictor import (
            load_predictor,  # here: --help must not wait for torch
        )

        predictor = load_predictor(run, network)
        asked = {"prompt": prompt, "words": words, "temperature": temperature, "seed": seed}
        given = {name: value for name, value in asked.items() if value is not None}
        if predictor.task.kind == "language":
            _write_on(run, predictor, file, given, out, as_json=as_json)
        else:
            _answer(
                *(run, predictor, file, given, out),
                max_unpacked_mb=max_unpacked_mb,
                quiet=quiet,
                as_json=as_json,
            )


def _answer(
    run: Path,
    predictor: Predictor,
    file: str | None,
    given: dict[str, Any],
    out: Path | None,
    *,
    max_unpacked_mb: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Predict for the rows of a file."""
    from meritnas.data.kinds import kind_of

    if file is None or given:
        raise UsageError(
            f"{run} was not made on a text: name a FILE to predict for, and leave out "
            "--prompt, --words, --temperature and --seed"
        )
    encoder, task = predictor.encoder, predictor.task
    new = kind_of(encoder).read_new(file, encoder, task, max_unpacked_mb)
    outputs = predictor.outputs(new.data)
    answers = _named(predictor.answers(outputs), new.names)
    if not quiet:
        for text in new.notes:
            say(f"note: {text}")
    scores = _scores(predictor.task, outputs, new, quiet=quiet)
    if out is not None:
        _write_whole(out, answers.to_csv(index=False))
    if as_json:
        typer.echo(json.dumps(_object(run, answers, scores, out)))
    elif out is None:
        _write_out(answers.to_csv(index=False))


def _write_on(
    run: Path,
    predictor: Predictor,
    file: str | None,
    given: dict[str, Any],
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Let a language model write; what was not given is as `write_text` has it."""
    from meritnas.prediction.writer import write_text

    if file is not None:
        raise UsageError(f"{run} was made on a text and reads no file, got {file}; give a --prompt")
    text = write_text(predictor, **given)
    if out is not None:
        _write_whole(out, text + "\n")
    if as_json:
        typer.echo(json.dumps({"run": str(run), "text": text}))
    elif out is None:
        _write_out(text + "\n")


def _named(answers: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    """The answers, with the pictures' file names before them."""
    if names is not None:
        answers.insert(0, "file", names)
    return answers


def _scores(task: Task, outputs: Tensor, new: NewRows, *, quiet: bool) -> dict[str, float]:
    """The scores, if there are answers to compare with; they are also said."""
    from meritnas.training.metrics import score

    truth = new.truth
    if truth is None or truth.isna().to_numpy().any() or len(truth) < 2:
        return {}
    try:
        if len(truth) != len(outputs):
            raise DataError(
                f"the target '{task.target}' has {len(truth):,} rows where there are "
                f"{len(outputs):,} samples; give one for each"
            )
        scores = score(task, outputs, task.encode(truth))
    except DataError as error:
        scores, text = {}, f"note: not scored: {error}"
    else:
        found = ", ".join(f"{metric_name(m)} {score_text(value)}" for m, value in scores.items())
        text = f"{len(truth):,} {new.counted}: {found}"
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
        # Names of pictures may hold bytes that are no text.
        beside.write_text(text, encoding="utf-8", errors="backslashreplace", newline="")
        beside.replace(path)
    except OSError as error:
        raise StoreError(
            f"cannot write {path}: {error.strerror or error}; give another --out or free some space"
        ) from error
    finally:
        beside.unlink(missing_ok=True)
