"""Answers to new rows that come in pieces: a file at once, or the row groups of a large table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch

from meritnas.data.answers import unanswered
from meritnas.data.kind import NewRows
from meritnas.data.row_digests import KnownRows
from meritnas.errors import UsageError
from meritnas.prediction.known_answers import KnownScores, score_known
from meritnas.prediction.predictor import Predictor


class Answering:
    """Answers, and what is to be said about all of them at the end.

    Args:
        predictor: Who answers.
        trained: The rows that it was trained on or chosen by, if the run says.

    Attributes:
        rows: How many have been answered.
        notes: What a user should know, a sentence each; of the first piece.
        lacking: Which rows have no answer, counted from 0.
    """

    def __init__(self, predictor: Predictor, trained: KnownRows | None = None) -> None:
        self._predictor = predictor
        self._trained = trained
        self._inputs: list[torch.Tensor] = []
        self._outputs: list[torch.Tensor] = []
        self._truths: list[pd.Series | pd.DataFrame] = []
        self._counted = ""
        self.rows = 0
        self.notes: tuple[str, ...] = ()
        self.lacking: list[int] = []

    def answer(self, new: NewRows) -> pd.DataFrame:
        """The answers to a piece, with its rows' names and the columns that are wanted beside."""
        inputs = self._predictor.inputs(new.data)
        outputs = self._predictor.said(inputs)
        if not self.rows:
            self.notes, self._counted = tuple(new.notes), new.counted
        self.lacking += (unanswered(outputs) + self.rows).tolist()
        self.rows += len(outputs)
        if new.truth is not None:
            self._keep(inputs, outputs, new.truth, new.scored)
        answers = self._predictor.answers(outputs)
        if new.names is not None:
            # Names of files need not be texts, and what is half a character is an escape.
            whole = [name.encode("utf-8", "backslashreplace").decode() for name in new.names]
            answers.insert(0, "file", whole)
        return _beside(new.kept, answers)

    def _keep(
        self,
        inputs: torch.Tensor,
        outputs: torch.Tensor,
        truth: pd.Series | pd.DataFrame,
        scored: np.ndarray | None,
    ) -> None:
        rows = slice(None) if scored is None else torch.from_numpy(scored)
        self._outputs.append(outputs[rows])
        if self._trained is not None:
            self._inputs.append(inputs[rows])
        self._truths.append(truth if scored is None else truth.iloc[scored])

    @property
    def counted(self) -> str:
        """What rows are called where they are counted with their truth."""
        return self._counted

    def scores(self) -> KnownScores | None:
        """How good the answers are that are known; None where none is."""
        if not self._truths:
            return None
        truth = self._truths[0] if len(self._truths) == 1 else pd.concat(self._truths)
        inputs = torch.cat(self._inputs) if self._inputs else None
        task, outputs = self._predictor.task, torch.cat(self._outputs)
        return score_known(task, outputs, truth, inputs, self._trained)


def _beside(kept: pd.DataFrame | None, answers: pd.DataFrame) -> pd.DataFrame:
    """The answers, with columns of the table before them."""
    if kept is None:
        return answers
    both = [name for name in kept.columns if name in answers.columns]
    if both:
        raise UsageError(f"a column of answers is called {both[0]} already; leave it out of --keep")
    return pd.concat([kept.reset_index(drop=True), answers], axis=1)
