"""`meritnas predict`: answers for new data."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from meritnas.cli import arguments as opt
from meritnas.cli.exit_codes import UNANSWERED, plain_outcome
from meritnas.cli.help_text import help_text, switch
from meritnas.cli.messages import say, say_error
from meritnas.cli.trusted import Trust, trusted
from meritnas.cli.values import parse_names
from meritnas.errors import UsageError
from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text
from meritnas.settings.reading import MAX_UNPACKED_MB
from meritnas.store.whole_files import check_free, write_new, write_whole
from meritnas.wording import visible

if TYPE_CHECKING:
    import pandas as pd

    from meritnas.data.kind import NewRows
    from meritnas.prediction.known_answers import KnownScores
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
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN,COLUMN",
            help="Columns of a table to repeat beside the answers, as they are written there.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=help_text("A CSV file.", "standard output")),
    ] = None,
    force: Annotated[bool, switch("--force", "Replace the --out file.")] = False,
    trust: Trust = None,
    max_unpacked_mb: opt.MaxUnpackedMb = MAX_UNPACKED_MB,
    quiet: Annotated[bool, switch("--quiet", "No scores, no notes.")] = False,
    as_json: Annotated[bool, switch("--json", "One JSON object instead of CSV.")] = False,
) -> None:
    """Predict the target for the rows of a new table, or the class of pictures, as CSV.

    Where the answers are known already, the scores are shown too. Rows that the network has no
    answer for stay empty; then the exit code is 1. A run on a text writes on:
    meritnas predict RUN --prompt "It was late" --words 50
    """
    with plain_outcome(lambda: "nothing was written"):
        if out is not None and not force:
            check_free(out)

        from meritnas.prediction.predictor import (
            load_predictor,  # here: --help must not wait for torch
        )

        predictor = load_predictor(run, network, trusted(run, trust))
        asked = {"prompt": prompt, "words": words, "temperature": temperature, "seed": seed}
        given = {name: value for name, value in asked.items() if value is not None}
        if predictor.task.kind == "language":
            if keep:
                raise UsageError("--keep is for tables, and this run was made on a text")
            _write_on(run, predictor, file, given, out, force=force, as_json=as_json)
        else:
            _answer(
                *(run, predictor, file, given, out),
                keep=_names(keep or []),
                force=force,
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
    keep: Sequence[str],
    force: bool,
    max_unpacked_mb: int,
    quiet: bool,
    as_json: bool,
) -> None:
    """Predict for the rows of a file."""
    from meritnas.data.answers import unanswered
    from meritnas.data.kinds import kind_of
    from meritnas.prediction.answered import unanswered_text
    from meritnas.prediction.known_answers import score_known
    from meritnas.prepare.known_rows import read_known_rows
    from meritnas.store.run_store import RunStore

    if file is None or given:
        raise UsageError(
            f"{run} was not made on a text: name a FILE to predict for, and leave out "
            "--prompt, --words, --temperature and --seed"
        )
    encoder, task = predictor.encoder, predictor.task
    kind = kind_of(encoder)
    new = kind.read_new(file, encoder, task, max_unpacked_mb)
    kept = kind.as_written(file, new, keep, max_unpacked_mb) if keep else None
    inputs = predictor.inputs(new.data)
    outputs = predictor.said(inputs)
    answers = _beside(kept, _named(predictor.answers(outputs), new.names))
    known = None
    if new.truth is not None:
        rows = read_known_rows(RunStore.open(run))
        known = score_known(predictor.task, outputs, new.truth, inputs, rows)
    if not quiet:
        for text in new.notes:
            say(f"note: {text}")
        if known is not None:
            _say_scores(known, new, predictor.task.target)
    if out is not None:
        _write_file(out, answers.to_csv(index=False), force=force)
    lacking = unanswered(outputs)
    if as_json:
        found = _object(run, answers, known, (lacking + 1).tolist(), out)
        typer.echo(json.dumps(found, allow_nan=False))
    elif out is None:
        _write_out(answers.to_csv(index=False))
    if len(lacking):
        say_error(f"{unanswered_text(lacking, len(outputs))}; they are left empty")
        raise typer.Exit(UNANSWERED)


def _write_on(
    run: Path,
    predictor: Predictor,
    file: str | None,
    given: dict[str, Any],
    out: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    """Let a language model write; what was not given is as `write_text` has it."""
    from meritnas.prediction.writer import write_text

    if file is not None:
        raise UsageError(f"{run} was made on a text and reads no file, got {file}; give a --prompt")
    text = write_text(predictor, **given)
    if out is not None:
        _write_file(out, text + "\n", force=force)
    if as_json:
        typer.echo(json.dumps({"run": str(run), "text": text}))
    elif out is None:
        _write_out(text + "\n")


def _names(given: Sequence[str]) -> list[str]:
    """Columns by name, each once, as they are listed after one flag or several."""
    return list(dict.fromkeys(name for text in given for name in parse_names(text)))


def _beside(kept: pd.DataFrame | None, answers: pd.DataFrame) -> pd.DataFrame:
    """The answers, with columns of the table before them."""
    if kept is None:
        return answers
    both = [name for name in kept.columns if name in answers.columns]
    if both:
        raise UsageError(f"a column of answers is called {both[0]} already; leave it out of --keep")
    import pandas as pd

    return pd.concat([kept.reset_index(drop=True), answers], axis=1)


def _named(answers: pd.DataFrame, names: list[str] | None) -> pd.DataFrame:
    """The answers, with the pictures' file names before them."""
    if names is not None:
        # Names of files need not be texts, and what is half a character is written as an escape.
        whole = [name.encode("utf-8", "backslashreplace").decode() for name in names]
        answers.insert(0, "file", whole)
    return answers


def _say_scores(known: KnownScores, new: NewRows, target: str) -> None:
    """The scores, why there are none, and how many rows were left out."""
    if known.why_not:
        say(f"note: not scored: {known.why_not}")
        return
    scores = known.scores.items()
    found = ", ".join(f"{metric_name(m)} {score_text(value)}" for m, value in scores)
    say(f"{known.rows:,} {new.counted}: {found}")
    if known.unknown:
        one = known.unknown == 1
        rows = f"{known.unknown:,} {'row has' if one else 'rows have'}"
        say(f"note: {rows} no '{target}' and {'is' if one else 'are'} in no score")
    if known.trained_on:
        about = "about " if known.about else ""
        say(
            f"note: {about}{known.trained_on:,} of the {known.rows:,} rows that are scored are the "
            "same as rows that the network was trained on or chosen by; on new rows expect worse"
        )


def _object(
    run: Path,
    answers: pd.DataFrame,
    known: KnownScores | None,
    lacking: Sequence[int],
    out: Path | None,
) -> dict[str, Any]:
    found: dict[str, Any] = {"run": str(run), "rows": len(answers), "unanswered": list(lacking)}
    found["scores"] = {} if known is None else known.scores
    if known is not None:
        found |= {"scored": known.rows, "without_target": known.unknown}
        if known.trained_on is not None:
            found["trained_on"] = known.trained_on
    if out is not None:
        return {**found, "out": str(out)}
    return {**found, "predictions": json.loads(answers.to_json(orient="records"))}


def _write_out(text: str) -> None:
    """Answers: to a program as they are, to a terminal as they may be shown."""
    if sys.stdout.isatty():
        text = visible(text)
    text = text.encode("utf-8", "backslashreplace").decode()  # of halves of characters
    # In pieces: one large write to a pipe may end half done, without an error.
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
    sys.stdout.flush()


def _write_file(path: Path, text: str, *, force: bool) -> None:
    (write_whole if force else write_new)(path, text.encode("utf-8", "backslashreplace"))
