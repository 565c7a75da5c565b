"""Scores of predictions where the answers are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from torch import Tensor

from meritnas.data.answers import unanswered
from meritnas.data.row_digests import KnownRows
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.prepare.known_rows import digests_of
from meritnas.training.metrics import score

_LEAST_ROWS = 2


@dataclass(frozen=True)
class KnownScores:
    """How good predictions are on the rows whose answers are known.

    Attributes:
        scores: by metric; empty where nothing can be scored.
        rows: how many were scored.
        unknown: how many have no known answer.
        why_not: why there are no scores, or an empty text.
        trained_on: how many of the rows that were scored are the same as rows that the network was
            trained on or chosen by; None where the run does not say.
        about: whether that is an estimate.
    """

    scores: dict[str, float]
    rows: int
    unknown: int
    why_not: str = ""
    trained_on: int | None = None
    about: bool = False


def score_known(
    task: Task,
    outputs: Tensor,
    truth: pd.Series | pd.DataFrame,
    inputs: Tensor | None = None,
    known: KnownRows | None = None,
) -> KnownScores:
    """Scores the rows that have a known answer, and one of the network.

    Args:
        task: what is predicted.
        outputs: what the network said [n, outputs].
        truth: the answers [n], missing where they are not known; of several labels [n, labels].
        inputs: what it read [n, width].
        known: the rows that it was trained on or chosen by, if the run says.
    """
    if len(truth) != len(outputs):
        why = (
            f"the target '{task.target}' has {len(truth):,} rows where there are "
            f"{len(outputs):,} samples; give one for each"
        )
        return KnownScores({}, 0, 0, why)
    missing = truth.isna().to_numpy().reshape(len(truth), -1).any(axis=1)
    rows = np.setdiff1d(np.flatnonzero(~missing), unanswered(outputs))
    unknown = int(missing.sum())
    if len(rows) < _LEAST_ROWS:
        why = f"{len(rows)} rows with an answer and a known '{task.target}' are too few"
        return KnownScores({}, 0, unknown, why)
    try:
        answers = task.encode(truth.iloc[rows])
        found = score(task, outputs[rows], answers)
    except DataError as error:
        return KnownScores({}, 0, unknown, str(error))
    if known is None or inputs is None:
        return KnownScores(found, len(rows), unknown)
    trained_on = min(len(rows), known.among(digests_of(inputs[rows], answers)))
    return KnownScores(found, len(rows), unknown, "", trained_on, known.share < 1)
