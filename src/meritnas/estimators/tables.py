"""`NASClassifier` and `NASRegressor`: scikit-learn estimators for tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_feature_names_in,
    _check_sample_weight,
    _num_samples,
    check_array,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)
from torch import nn

from meritnas.data.bundle import Outline
from meritnas.data.split import Split, split_few
from meritnas.data.tables.source import Source
from meritnas.data.task import Task
from meritnas.errors import DataError
from meritnas.estimators.base import SearchEstimator
from meritnas.estimators.inputs import as_frame
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.training.plain_module import plain_module

EvalSet = tuple[Any, Any]


@dataclass(kw_only=True, eq=False, repr=False)
class _NAS(SearchEstimator):
    """What both estimators for tables share."""

    _data: ClassVar[str] = "table"
    _decided: ClassVar[tuple[str, ...]] = ("task", "class_weight", "split", "drop_missing_target")

    space: str | SpaceSpec | Callable[..., Any] = "tabular"
    strategy: str | StrategySpec = "tabnas"
    pareto: bool = False

    def __sklearn_tags__(self) -> Tags:
        """Columns may be of any kind and lack values; sparse input is fine."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _fit(self, frame: pd.DataFrame, target: pd.Series, outline: Outline, seed: int) -> Self:
        name = outline.task.target
        source = Source(type(self).__name__, frame.assign(**{name: target}), name, "", None)
        request = self._request(seed, limits=self._limits(), pareto=self.pareto)
        predictor = self._search(source, outline, request)
        self.scaling_ = str(self._summary["scaling"])
        self.module_: nn.Module = plain_module(predictor.module)
        if self.pareto:
            self.pareto_ = [_without_folder(row) for row in self._summary.get("pareto", [])]
        return self

    def encode(self, X: Any) -> torch.Tensor:
        """The rows as `module_` takes them: float32 [n, inputs]."""
        check_is_fitted(self)
        frame = as_frame(self, X, reset=False)
        return torch.from_numpy(self.encoder_.transform(frame))

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """What each column of `encode(X)`, and so each input of `module_`, is.

        Args:
            input_features: the columns' names, if anything, as `fit` saw them.
        """
        check_is_fitted(self)
        _check_feature_names_in(self, input_features)
        return np.array(self.encoder_.input_names, dtype=object)

    def _outputs(self, X: Any) -> torch.Tensor:
        return self._outputs_of(self.encode(X))

    def _split(
        self,
        n: int,
        labels: np.ndarray | None,
        held: int | None,
        seed: int,
    ) -> Split:
        """Which rows are for what; with an `eval_set` the last `held` of all are for validation."""
        self._check_fractions()
        if held is None:
            if self.validation_fraction == 0:
                raise DataError(
                    "validation_fraction=0 leaves no rows to compare networks on; give an eval_set"
                )
            return split_few(n, labels, seed, self.validation_fraction, self.test_fraction)
        own = None if labels is None else labels[: n - held]
        split = split_few(n - held, own, seed, 0.0, self.test_fraction)
        return Split(split.train, np.arange(n - held, n), split.test)


@dataclass(kw_only=True, eq=False, repr=False)
class NASClassifier(ClassifierMixin, _NAS):
    """Finds a small neural network for a table with classes that keeps your limits, and trains it.

    Parameters of `meritnas.search` by the same names, whose specs and settings have nested ones
    (`strategy__samples`, `space__layers`, `retraining__seeds`); further:

    Args:
        class_weight: "balanced", or a weight for each class, or None.
        validation_fraction: the share of rows that networks are compared on.
        test_fraction: the share of rows that only `test_` is measured on; 0 for none.
        random_state: an integer for the same network and predictions again.
        device: where it is computed.
        n_jobs: trainings at a time after the search, in a process each; -1 for one on each core.
        verbose: 1 to print what is going on.

    Attributes:
        architecture_: the network's widths, such as "32-24-32".
        n_params_: its number of parameters.
        costs_: what it costs by the cost's name.
        module_: the trained network, a plain torch Module: encoded rows -> logits (one logit of
            the second class if there are two).
        encoder_: how rows are encoded; `encode(X)` does it.
        classes_: the labels.
        history_: what happened: events of the search, then the trainings.
        test_: scores on rows kept apart; empty with `test_fraction=0` or very few rows.
        scaling_: how numbers are scaled.
        pareto_: with `pareto=True`, the best network for each of a ladder of limits.
    """

    class_weight: Literal["balanced"] | Mapping[Any, float] | None = None

    @property
    def _labels(self) -> Sequence[Any]:
        return list(self.classes_)

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, eval_set: EvalSet | None = None
    ) -> Self:
        """Search and train.

        Args:
            X: a table [n, columns]: numpy, pandas with columns of any kind, or sparse.
            y: labels [n].
            sample_weight: how much each row counts [n].
            eval_set: (X, y) to compare networks on instead of some of these rows.
        """
        self._check_parameters()
        frame, labels, weights, held = _gather(self, X, y, sample_weight, eval_set, _class_labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise DataError(
                f"{type(self).__name__} needs at least 2 classes, got 1 class: {self.classes_[0]!r}"
            )
        if self.class_weight is not None:
            weights = weights * compute_sample_weight(self.class_weight, labels)
        seed = self._seed()
        kind: Literal["binary", "multiclass"] = (
            "binary" if len(self.classes_) == 2 else "multiclass"
        )
        task = Task(kind, _free_name(frame), tuple(range(len(self.classes_))))
        task = task.judged_by(self._reading().metric, codes)
        split = self._split(len(codes), codes, held, seed)
        outline = Outline(task, split, None if (weights == 1).all() else weights)
        return self._fit(frame, pd.Series(codes), outline, seed)

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probability of each class, [n, classes], in the order of `classes_`."""
        outputs = self._outputs(X)  # complains first if this is not fitted
        return np.asarray(self._task.probabilities(outputs).numpy())

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each row, [n]; of two by the threshold, if one was chosen."""
        outputs = self._outputs(X)  # complains first if this is not fitted
        return np.asarray(self.classes_[self._task.labels(outputs).astype(np.int64)])


@dataclass(kw_only=True, eq=False, repr=False)
class NASRegressor(RegressorMixin, _NAS):
    """Finds a small neural network for a table with a number to predict, and trains it.

    Parameters and attributes are those of `NASClassifier`, without classes and their weights;
    `module_` gives the target standardised, `predict` on its own scale.
    """

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, eval_set: EvalSet | None = None
    ) -> Self:
        """Search and train.

        Args:
            X: a table [n, columns]: numpy, pandas with columns of any kind, or sparse.
            y: numbers [n].
            sample_weight: how much each row counts [n].
            eval_set: (X, y) to compare networks on instead of some of these rows.
        """
        self._check_parameters()
        frame, numbers, weights, held = _gather(self, X, y, sample_weight, eval_set, _numbers)
        seed = self._seed()
        split = self._split(len(numbers), None, held, seed)
        target = pd.Series(numbers, name=_free_name(frame))
        task = Task.find(target, split.train, "regression")
        task = task.judged_by(self._reading().metric, numbers)
        outline = Outline(task, split, None if (weights == 1).all() else weights)
        return self._fit(frame, target, outline, seed)

    def predict(self, X: Any) -> np.ndarray:
        """The number for each row, [n]."""
        outputs = self._outputs(X)  # complains first if this is not fitted
        return self._task.labels(outputs)


def _gather(
    estimator: _NAS, X: Any, y: Any, sample_weight: Any, eval_set: EvalSet | None, read: Any
) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, int | None]:
    """All rows, their targets and weights; those of `eval_set` come last, and their number."""
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y is None"
        )
    frame = as_frame(estimator, X, reset=True)
    target = read(estimator, y)
    check_consistent_length(frame, target)
    if _num_samples(frame) < 2:
        raise DataError("a network cannot be found for 1 sample (n_samples=1); give more rows")
    weights = _check_sample_weight(
        sample_weight, np.empty((len(frame), 1)), ensure_non_negative=True
    )
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    if not weights.all():  # such rows are as good as not there
        kept = np.flatnonzero(weights)
        frame, target, weights = frame.iloc[kept], target[kept], weights[kept]
        frame = frame.reset_index(drop=True)
    if eval_set is None:
        return frame, target, weights, None
    others, answers = _eval_pair(eval_set)
    held = as_frame(estimator, others, reset=False)
    further = read(estimator, answers)
    check_consistent_length(held, further)
    return (
        pd.concat([frame, held.set_axis(frame.columns, axis=1)], ignore_index=True),
        np.concatenate([target, further]),
        np.concatenate([weights, np.ones(len(held))]),
        len(held),
    )


def _free_name(frame: pd.DataFrame) -> str:
    """A name for the target that no column has."""
    name = "y"
    while name in frame.columns:
        name += "_"
    return name


def _eval_pair(eval_set: Any) -> EvalSet:
    """(X, y), also from the list of one such pair that other libraries take."""
    pair = eval_set[0] if isinstance(eval_set, list) and len(eval_set) == 1 else eval_set
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise DataError("eval_set must be a pair (X, y)")
    return pair[0], pair[1]


def _class_labels(estimator: _NAS, y: Any) -> np.ndarray:
    labels = column_or_1d(y, warn=True)
    check_array(labels, ensure_2d=False, dtype=None, estimator=estimator, input_name="y")
    check_classification_targets(labels)
    return np.asarray(labels)


def _numbers(estimator: _NAS, y: Any) -> np.ndarray:
    numbers = column_or_1d(y, warn=True)
    return np.asarray(
        check_array(numbers, ensure_2d=False, dtype=np.float64, estimator=estimator, input_name="y")
    )


def _without_folder(row: Mapping[str, Any]) -> dict[str, Any]:
    """A point of the trade-off curve without where its weights were for a while."""
    return {name: value for name, value in row.items() if name != "folder"}
