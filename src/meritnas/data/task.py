"""What is predicted, and the way between target values, tensors and answers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from meritnas.data.answers import labels_of, logit, probabilities_of
from meritnas.data.labels import (
    Label,
    check_target_numbers,
    find_classes,
    is_classification,
    target_numbers,
)
from meritnas.data.metric_names import OF_CLASSES, OF_NUMBERS, check_metric, is_of_classes
from meritnas.data.multilabel import (
    check_labels,
    label_frame,
    label_lists,
    split_labels,
    weighted_f1,
)
from meritnas.errors import DataError, UsageError
from meritnas.wording import listed

if TYPE_CHECKING:
    from torch import Tensor

_FARTHEST = 1e15
"""Standard deviations from the mean that a network may miss: squares are still float32."""


def check_task_kind(kind: str | None) -> None:
    """Complains about a kind of task that there is not."""
    if kind not in (None, "classification", "regression"):
        raise DataError(f"no task kind '{kind}'; use 'classification' or 'regression'")


def check_varying(low: float, high: float, name: str) -> None:
    """Complains about a target that is the same in all rows."""
    if low == high:
        raise DataError(
            f"the target '{name}' has the one value {low:g} in all rows; "
            "there is nothing to learn, name another column"
        )


@dataclass(frozen=True)
class Task:
    """What is predicted, and the way between target values, tensors and answers.

    Attributes:
        kind: "binary" has one logit for the second class, "multiclass" one logit for each class,
            "regression" one number on the standardised scale, "language" one logit for each word
            that may follow, "multilabel" one logit for each label, of which a row may have any.
        target: Name of the target column.
        classes: The labels as they are in the table, sorted; empty for regression. The names of
            the labels of a multilabel task.
        mean: Mean of a regression target over the train rows, else 0.
        scale: Standard deviation of a regression target over the train rows, else 1.
        words: How many words there are in a language, else 0.
        metric: What finalists are chosen by, one of `metric_names`; empty for the loss.
        positive: The one of two classes that f1 and average precision are about: the rarer one.
        threshold: The probability of the second of two classes above which it is the answer. It
            belongs to the weights of a network, and is kept with them.
    """

    kind: Literal["binary", "multiclass", "regression", "language", "multilabel"]
    target: str
    classes: tuple[Label, ...] = ()
    mean: float = 0.0
    scale: float = 1.0
    words: int = 0
    metric: str = ""
    positive: int = 1
    threshold: float = 0.5

    @property
    def cut(self) -> float:
        """The logit above which the second of two classes is the answer."""
        return logit(self.threshold)

    @property
    def outputs(self) -> int:
        """Outputs of a network: 1, or one for each of several classes, words or labels."""
        if self.kind == "language":
            return self.words
        return len(self.classes) if self.kind in ("multiclass", "multilabel") else 1

    @property
    def chance_loss(self) -> float:
        """The loss of equal probabilities, ln(classes); of the mean of a regression target, 1.

        Each of several labels is there or not, ln(2).
        """
        if self.kind == "multilabel":
            return math.log(2)
        choices = self.words or len(self.classes)
        return math.log(choices) if choices > 1 else 1.0

    @classmethod
    def find(cls, values: pd.Series, train_rows: np.ndarray, kind: str | None = None) -> Task:
        """Finds out what kind of task a target column poses.

        Args:
            values: The whole target column, without missing values.
            train_rows: Positions of the rows that a regression target is scaled by.
            kind: "classification" or "regression" to settle it, None to find out (the rule is
                in `is_classification`).

        Raises:
            DataError: Nothing can be learned from this column.
        """
        check_task_kind(kind)
        name = str(values.name)
        missing = int(values.isna().sum())
        if missing:
            raise DataError(f"the target '{name}' is missing in {missing} rows; drop these rows")
        if kind == "classification" or (kind is None and is_classification(values)):
            return cls.of_classes(name, find_classes(values))
        numbers = target_numbers(values)
        check_varying(numbers.min(), numbers.max(), name)
        check_target_numbers(numbers, name)
        train = numbers[train_rows]
        scale = float(train.std())
        return cls("regression", name, (), float(train.mean()), scale if scale > 0 else 1.0)

    @classmethod
    def of_classes(cls, name: str, classes: tuple[Label, ...]) -> Task:
        """The task of telling classes apart."""
        return cls("binary" if len(classes) == 2 else "multiclass", name, classes)

    @classmethod
    def find_multilabel(cls, values: pd.DataFrame) -> Task:
        """The task of several labels a row.

        Args:
            values: 0 and 1 of each label [n, labels], without missing values; the axis of columns
                has the target's name.

        Raises:
            DataError: Nothing can be learned from these labels.
        """
        name = str(values.columns.name)
        check_labels(values, name)
        return cls("multilabel", name, tuple(str(label) for label in values.columns))

    def encode(self, values: pd.Series | pd.DataFrame) -> Tensor:
        """Turns target values into a tensor, as `codes` says."""
        import torch  # in methods: a task is found, and shown, without it

        return torch.from_numpy(self.codes(values))

    def codes(self, values: pd.Series | pd.DataFrame) -> np.ndarray:
        """Turns target values into numbers [n].

        Returns:
            Binary: float32 of 0 and 1. Multiclass: int64 class numbers. Regression: float32,
            standardised. Multilabel: float32 of 0 and 1 [n, labels], of a frame with a column for
            each label, of lists of labels, or of text with `|` between labels.

        Raises:
            DataError: A value is not one of the classes, or not a finite number.
        """
        if self.kind == "multilabel":
            return self._label_codes(values)
        if self.kind == "regression":
            numbers = (target_numbers(values) - self.mean) / self.scale
            self._check_reach(numbers)
            return numbers.astype(np.float32)
        known = pd.Index(self.classes, dtype=object)
        codes = known.get_indexer(pd.Index(values.astype(object), dtype=object))
        if (codes < 0).any():
            strange = values.astype(object).iloc[int(np.argmax(codes < 0))]
            raise DataError(
                f"the target '{self.target}' holds {strange!r}, which is none of its classes; "
                f"correct or drop these rows; classes: {listed(self.classes)}"
            )
        return codes.astype(np.float32 if self.kind == "binary" else np.int64)

    def _check_reach(self, scaled: np.ndarray) -> None:
        """Complains about an answer that is too far from those of the train rows to be compared."""
        far = np.abs(scaled) > _FARTHEST
        if far.any():
            answer = scaled[far][0] * self.scale + self.mean
            raise DataError(
                f"the target '{self.target}' holds {answer:g} in {int(far.sum()):,} rows, more "
                f"than {_FARTHEST:g} standard deviations from the mean of the train rows, "
                f"{self.mean:g}; correct or drop these rows"
            )

    def _label_codes(self, values: pd.Series | pd.DataFrame) -> np.ndarray:
        if isinstance(values, pd.Series):
            rows = label_lists(values) or [split_labels(str(text)) for text in values]
            values = label_frame(rows, self.target)
        unknown = [label for label in values.columns if label not in self.classes]
        if unknown:
            raise DataError(
                f"the target '{self.target}' holds {unknown[0]!r}, which is none of its labels; "
                f"correct or drop these rows; labels: {listed(self.classes)}"
            )
        found = values.reindex(columns=list(self.classes), fill_value=0)
        return found.to_numpy(dtype=np.float32, copy=True)

    def loss(self, outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
        """Returns the mean loss, a scalar; of several labels also the mean over these.

        Args:
            outputs: What the network says [n, outputs]; of words [n, steps, outputs].
            target: Encoded targets [n]; words [n, steps]; labels [n, labels].
            weights: How much each row counts [n], 1 on average over the part; None for 1 each.
        """
        from torch.nn import functional

        reduction = "mean" if weights is None else "none"
        if self.kind == "binary":
            losses = functional.binary_cross_entropy_with_logits(
                outputs[:, 0], target, reduction=reduction
            )
        elif self.kind == "multiclass":
            losses = functional.cross_entropy(outputs, target, reduction=reduction)
        elif self.kind == "language":
            losses = functional.cross_entropy(outputs.flatten(0, 1), target.flatten())
        elif self.kind == "multilabel":
            losses = functional.binary_cross_entropy_with_logits(
                outputs, target, reduction=reduction
            )
            losses = losses if weights is None else losses.mean(dim=1)
        else:
            losses = functional.mse_loss(outputs[:, 0], target, reduction=reduction)
        return losses if weights is None else (losses * weights).mean()

    def score(self, outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
        """Returns how good predictions are, a scalar of at most 1.

        The share of rows recognised; for numbers the share of variance explained (R^2); for words
        the probability of what follows, as a geometric mean (1 / perplexity); for several labels
        their weighted F1 (see `weighted_f1`).

        Args:
            outputs: What the network says [n, outputs].
            target: Encoded targets [n]; labels [n, labels].
            weights: How much each row counts [n]; None for 1 each.
        """
        import torch

        if self.kind == "language":
            return torch.exp(-self.loss(outputs, target))
        if self.kind == "multilabel":
            return weighted_f1(outputs.sigmoid(), target, weights)
        counts = torch.ones_like(target, dtype=torch.float32) if weights is None else weights
        if self.kind == "regression":
            middle = (target * counts).sum() / counts.sum()
            spread = ((target - middle).square() * counts).sum()
            missed = ((target - outputs[:, 0]).square() * counts).sum()
            return 1.0 - missed / spread.clamp_min(torch.finfo(spread.dtype).tiny)
        guess = outputs[:, 0] > self.cut if self.kind == "binary" else outputs.argmax(dim=1)
        return ((guess == target) * counts).sum() / counts.sum()

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Turns outputs [n, outputs] into class probabilities [n, classes].

        Those of several labels are each on its own and need not sum to 1.

        Raises:
            DataError: The task is a regression.
        """
        if self.kind == "regression":
            raise DataError(
                f"the target '{self.target}' is a number and has no class probabilities; "
                "ask for labels"
            )
        return probabilities_of(self, outputs)

    def labels(self, outputs: Tensor) -> np.ndarray:
        """Turns outputs [n, outputs] into labels [n], or into values on the original scale [n].

        Several labels are text with `|` between them, empty for none.
        """
        return labels_of(self, outputs)

    def to_json(self) -> dict[str, Any]:
        """Returns the task as plain JSON values."""
        return {
            "kind": self.kind,
            "target": self.target,
            "classes": list(self.classes),
            "mean": self.mean,
            "scale": self.scale,
            "words": self.words,
            "metric": self.metric,
            "positive": self.positive,
        }

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Task:
        """Returns the task that `to_json` gave, labels of the same types.

        Raises:
            ValueError: It has fewer classes than such a task has.
        """
        kind, classes = value["kind"], tuple(value["classes"])
        if len(classes) < {"binary": 2, "multiclass": 2, "multilabel": 1}.get(kind, 0):
            raise ValueError(f"a {kind} task has more classes than {len(classes)}")
        metric, positive = value.get("metric", ""), value.get("positive", 1)
        if metric:
            check_metric(metric)
        if positive not in (0, 1):
            raise ValueError(f"of two classes the positive one is 0 or 1, not {positive!r}")
        words = value.get("words", 0)
        scale = value["mean"], value["scale"]
        return cls(kind, value["target"], classes, *scale, words, metric, positive)

    def judged_by(self, metric: str | None, codes: np.ndarray) -> Task:
        """The same task, whose finalists are chosen by a metric.

        Args:
            metric: its name; None for the loss.
            codes: the encoded target [n].

        Raises:
            UsageError: It is not for such a task.
        """
        if metric is None:
            return self
        if is_of_classes(metric) != (self.kind in ("binary", "multiclass")):
            others = OF_NUMBERS if self.kind == "regression" else OF_CLASSES
            what = "a number" if self.kind == "regression" else "no number"
            raise UsageError(
                f"the metric {metric} does not fit the target '{self.target}', which is {what}; "
                f"use one of {', '.join(others)}"
            )
        rarer = int(codes.mean() <= 0.5) if self.kind == "binary" else 1
        return replace(self, metric=metric, positive=rarer)
