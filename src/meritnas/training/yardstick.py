"""What others make of the same rows: a trivial guess, a linear model, gradient boosted trees."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from meritnas.data.bundle import Bundle, Part
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.task import Task
from meritnas.devices.placement import CPU
from meritnas.training.chosen_metric import chosen_threshold
from meritnas.training.metrics import score
from meritnas.training.trees import MOST_CODES, column_of, fitted_trees, logits_of, weights_of
from meritnas.training.trivial import trivial_scores

LEAST_ROWS = 50
"""To train on; fewer tell nothing."""

_MOST_ROWS = 20_000
"""To train on, and to choose the number of trees by."""
_MOST_TESTED = 100_000
_MOST_SECONDS = 4.0
_SHARE = 0.05
"""Of the minutes that a user gives, the most that all this may take."""
_MOST_TREES = 100
_MOST_STEPS = 200
_OF_A_STEP = 5e-9
"""Seconds of a number in a step of the linear model, measured as those of trees are."""


@dataclass(frozen=True)
class Yardstick:
    """Scores on the rows that the network is tested on, each by metric.

    Attributes:
        trivial: of an answer that looks at no input.
        linear: of a linear model.
        trees: of gradient boosted trees, as many as are best on validation rows.
        rows: how many training rows the models have seen.
        tested: how many test rows they were scored on.
        seconds: how long it all took.
    """

    trivial: dict[str, float]
    linear: dict[str, float]
    trees: dict[str, float]
    rows: int
    tested: int
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def yardstick(bundle: Bundle[Any], seed: int, minutes: float | None) -> Yardstick | None:
    """Fit what others would, in a few seconds; None where rows are too few for that.

    Args:
        bundle: a table that is ready to train on.
        seed: of the rows that are drawn from large tables.
        minutes: that a user gives for everything.
    """
    begun = time.perf_counter()
    if len(bundle.train) < LEAST_ROWS or not len(bundle.valid) or not len(bundle.test):
        return None
    seconds = min(_MOST_SECONDS, _SHARE * 60.0 * (minutes or _MOST_SECONDS))
    train = _some(bundle.train.sample, _MOST_ROWS, seed)
    valid = _some(bundle.valid, _MOST_ROWS, seed)
    test = _some(bundle.test, _MOST_TESTED, seed)
    inputs, task = bundle.encoder.inputs, bundle.task
    scored = _Scored(task, valid, test)
    trees = fitted_trees(task, inputs, train, 0.75 * seconds, _MOST_TREES, seed)
    return Yardstick(
        _trivial(task, train, test),
        scored.of(_linear(task, inputs, train, 0.25 * seconds, seed)),
        scored.best_of(trees.stages),
        len(train),
        len(test),
        time.perf_counter() - begun,
    )


def _some(part: Part, most: int, seed: int) -> Part:
    found = part if len(part) <= most else part.drawn(most / len(part), seed)
    return found.to(CPU)


def _trivial(task: Task, train: Part, test: Part) -> dict[str, float]:
    if task.kind != "regression":
        return trivial_scores(task, train, test)
    mean = train.target.mean() if train.weights is None else train.target.mul(train.weights).mean()
    return score(task, mean.expand(len(test), 1), test.target)


Outputs = Callable[[Tensor], Tensor]
"""Encoded rows [n, width] -> what a network would say, [n, outputs]."""


@dataclass(frozen=True)
class _Scored:
    """Scores models as networks are scored, with a threshold by validation rows."""

    task: Task
    valid: Part
    test: Part

    def of(self, outputs: Outputs) -> dict[str, float]:
        """On test rows."""
        return self._scores(outputs(self.valid.inputs), outputs(self.test.inputs))

    def best_of(self, stages: Callable[[Tensor], Iterator[Tensor]]) -> dict[str, float]:
        """On test rows, of the stage with the smallest loss on validation rows."""
        best, least, chosen = 0, np.inf, None
        for number, outputs in enumerate(stages(self.valid.inputs)):
            loss = float(self.task.loss(outputs, self.valid.target, self.valid.weights))
            if loss < least:
                best, least, chosen = number, loss, outputs
        assert chosen is not None
        tested = next(
            outputs for number, outputs in enumerate(stages(self.test.inputs)) if number == best
        )
        return self._scores(chosen, tested)

    def _scores(self, valid: Tensor, test: Tensor) -> dict[str, float]:
        threshold = chosen_threshold(self.task, valid, self.valid.target)
        return score(replace(self.task, threshold=threshold), test, self.test.target)


def _linear(task: Task, inputs: TableInputs, train: Part, seconds: float, seed: int) -> Outputs:
    """A linear model of numbers and of a 1 for each category."""
    # Only now, like scikit-learn's trees.
    from sklearn.linear_model import LogisticRegression, Ridge

    rows, answers, weights = _wide(train.inputs, inputs), train.target.numpy(), weights_of(train)
    work = rows.size * max(1, len(task.classes)) * _OF_A_STEP
    if task.kind == "regression":
        ridge = Ridge(alpha=1.0).fit(rows, answers, weights)
        return lambda new: column_of(ridge.predict(_wide(new, inputs)))
    steps = int(np.clip(seconds / work, 10, _MOST_STEPS))
    model = LogisticRegression(max_iter=steps, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # as far as the time allows
        model.fit(rows, answers, weights)
    return lambda new: logits_of(task, model.classes_, model.predict_proba(_wide(new, inputs)))


def _wide(rows: Tensor, inputs: TableInputs) -> np.ndarray:
    """Numbers as they are, and for each category the rows that have it, but for code 0."""
    plain = rows.numpy()
    parts = [plain[:, : inputs.numbers]]
    for place, count in enumerate(inputs.cardinalities):
        kept = np.arange(1, min(count, MOST_CODES))
        parts.append((plain[:, inputs.numbers + place, None] == kept).astype(np.float32))
    return np.concatenate(parts, axis=1)
