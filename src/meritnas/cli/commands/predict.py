"""`meritnas predict`: answers for new data."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
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

    from meritnas.prediction.answering import Answering
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
    stream: opt.Stream = None,
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
                stream=stream,
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
    stream: bool | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Predict for the rows of a file, piece by piece; one piece unless it is streamed."""
    import numpy as np

    from meritnas.data.kinds import kind_of
    from meritnas.prediction.answered import unanswered_text
    from meritnas.prediction.answering import Answering
    from meritnas.prepare.known_rows import read_known_rows
    from meritnas.store.run_store import RunStore

    if file is None or given:
        raise UsageError(
            f"{run} was not made on a text: name a FILE to predict for, and leave out "
            "--prompt, --words, --temperature and --seed"
        )
    encoder, task = predictor.encoder, predictor.task
    kind = kind_of(encoder)
    pieces = kind.read_pieces(file, encoder, task, keep, max_unpacked_mb, stream)
    answering = Answering(predictor, read_known_rows(RunStore.open(run)))
    answers = map(answering.answer, pieces)
    shown: list[pd.DataFrame] = []
    if out is not None:
        write = write_whole if force else write_new
        write(out, (text.encode("utf-8", "backslashreplace") for text in _texts(answers)))
    elif as_json:
        shown = list(answers)
    else:
        for text in _texts(answers):
            _write_out(text)
    known = answering.scores()
    if not quiet:
        _say_all(answering, known, task.target)
    if as_json:
        typer.echo(json.dumps(_object(run, answering, known, shown, out), allow_nan=False))
    if answering.lacking:
        text = unanswered_text(np.array(answering.lacking), answering.rows)
        say_error(f"{text}; they are left empty")
        raise typer.Exit(UNANSWERED)


def _texts(answers: Iterator[pd.DataFrame]) -> Iterator[str]:
    """The lines of a CSV file, whose first piece has the names of the columns."""
    for place, piece in enumerate(answers):
        yield piece.to_csv(index=False, header=not place)


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


def _say_all(answering: Answering, known: KnownScores | None, target: str) -> None:
    """Notes about the rows, and the scores of their answers."""
    for text in answering.notes:
        say(f"note: {text}")
    if known is not None:
        _say_scores(known, answering.counted, target)


def _say_scores(known: KnownScores, counted: str, target: str) -> None:
    """The scores, why there are none, and how many rows were left out."""
    if known.why_not:
        say(f"note: not scored: {known.why_not}")
        return
    scores = known.scores.items()
    found = ", ".join(f"{metric_name(m)} {score_text(value)}" for m, value in scores)
    say(f"{known.rows:,} {counted}: {found}")
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
    answering: Answering,
    known: KnownScores | None,
    shown: Sequence[pd.DataFrame],
    out: Path | None,
) -> dict[str, Any]:
    lacking = [row + 1 for row in answering.lacking]
    found: dict[str, Any] = {"run": str(run), "rows": answering.rows, "unanswered": lacking}
    found["scores"] = {} if known is None else known.scores
    if known is not None:
        found |= {"scored": known.rows, "without_target": known.unknown}
        if known.trained_on is not None:
            found["trained_on"] = known.trained_on
    if out is not None:
        return {**found, "out": str(out)}
    records = [row for piece in shown for row in json.loads(piece.to_json(orient="records"))]
    return {**found, "predictions": records}


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
