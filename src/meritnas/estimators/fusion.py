"""`NASFusionClassifier` and `NASFusionRegressor`: estimators for several modalities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d
from torch import nn

from meritnas.data.bundle import Outline
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.new_samples import load_views
from meritnas.data.modalities.picture_columns import WantedPictures
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.modalities.source import ModalitySource, take_modalities
from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.data.split import split_few
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu
from meritnas.errors import DataError, UsageError
from meritnas.estimators.base import SearchEstimator
from meritnas.settings.spec import SpaceSpec, StrategySpec


@dataclass(kw_only=True, eq=False, repr=False)
class _NASFusion(SearchEstimator):
    """What both estimators for several modalities share."""

    _data: ClassVar[str] = "modalities"
    _decided: ClassVar[tuple[str, ...]] = ("task",)

    space: str | SpaceSpec | Callable[..., Any] = "fusion"
    strategy: str | StrategySpec = "sm-shapley"

    def __sklearn_tags__(self) -> Tags:
        """Samples are dicts or data frames, of any kind of values, which may be missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.input_tags.dict = True
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _fit(self, X: Any, y: Any, task: Literal["classification", "regression"]) -> Task:
        """Search and train; what was predicted."""
        self._check_parameters()
        _check_samples(X)
        reading: ModalityReading = self._reading()
        wanted = WantedPictures(reading.picture_size, reading.skip_bad_rows)
        source = take_modalities(X, y, reading.modalities, wanted)
        if len(source.target) != len(y) and not reading.skip_bad_rows:
            raise DataError(
                f"{len(y) - len(source.target)} samples have no target or no modality; leave them "
                "out"
            )
        seed = self._seed()
        request = self._request(seed, limits=self._limits())
        outline = self._outline(source, reading, seed, task)
        predictor = self._search(source, outline, request)
        self.module_: nn.Module = on_cpu(predictor.module).eval()
        return predictor.task

    def _outline(
        self,
        source: ModalitySource,
        reading: ModalityReading,
        seed: int,
        task: Literal["classification", "regression"],
    ) -> Outline:
        target, several = source.target, isinstance(source.target, pd.DataFrame)
        asked = replace(reading, task=None if several else task)
        outline = self._kind.outline(source, asked, seed)
        if not 0 < self.validation_fraction < 1 or not 0 <= self.test_fraction < 1:
            raise DataError(
                "validation_fraction must lie between 0 and 1 and test_fraction be from 0 to below "
                f"1, got {self.validation_fraction} and {self.test_fraction}"
            )
        classes = task == "classification" and not several
        codes = outline.task.encode(target).numpy() if classes else None
        split = split_few(len(target), codes, seed, self.validation_fraction, self.test_fraction)
        if task == "regression":  # its numbers are scaled by the training rows of this split
            outline = replace(outline, task=Task.find(target, split.train, task))
        return replace(outline, split=split)

    def encode(self, X: Mapping[str, Any] | pd.DataFrame) -> torch.Tensor:
        """The samples as `module_` takes them: float32 [n, inputs]."""
        check_is_fitted(self)
        _check_samples(X)
        known: ModalityEncoder = self.encoder_
        return known.transform(load_views(X, known.columns, known.named_pictures))


@dataclass(kw_only=True, eq=False, repr=False)
class NASFusionClassifier(ClassifierMixin, _NASFusion):
    """Finds a small network that joins several modalities and keeps your limits, and trains it.

    Parameters of `meritnas.search` by the same names, whose specs and settings have nested ones
    (`space__cells`, `strategy__step`, `reading__modalities`); further:

    Args:
        validation_fraction: the share of samples that networks are compared on.
        test_fraction: the share of samples that only `test_` is measured on; 0 for none.
        random_state: an integer for the same network and predictions again.
        verbose: 1 to print what is going on.

    Attributes:
        architecture_: which features are joined, and how.
        n_params_: its number of parameters.
        costs_: what it costs by the cost's name.
        module_: the trained network: encoded samples -> logits.
        encoder_: how samples are encoded; `encode(X)` does it.
        classes_: the labels.
        test_: scores on samples kept apart; empty with `test_fraction=0`.
    """

    def fit(self, X: Mapping[str, Any] | pd.DataFrame, y: Any) -> Self:
        """Search and train.

        Args:
            X: name -> array or data frame for each modality (numbers [n, columns], pictures
                [n, h, w(, c)], texts [n], a table), or a data frame whose columns are grouped by
                `modalities`, by the first of two levels, or by names such as `sensor.mean`; else
                columns of text, of paths of pictures, and of lists of numbers or arrays are
                modalities of their own and the other columns one.
            y: labels [n]; for several labels a sample 0 and 1 [n, labels], of which a data frame's
                columns name the labels, or lists of their names.
        """
        self.classes_ = np.array(self._fit(X, y, "classification").classes)
        return self

    def predict_proba(self, X: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
        """The probability of each class, [n, classes]; of several labels the chance of each."""
        outputs = self._outputs_of(self.encode(X))
        return np.asarray(self._task.probabilities(outputs).numpy())

    def predict(self, X: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
        """The most probable label of each sample, [n]; 0 and 1 [n, labels] for several labels."""
        chances = self.predict_proba(X)
        if self._task.kind == "multilabel":
            return (chances > LABEL_THRESHOLD).astype(np.int64)
        return np.asarray(self.classes_[chances.argmax(axis=1)])


@dataclass(kw_only=True, eq=False, repr=False)
class NASFusionRegressor(RegressorMixin, _NASFusion):
    """Finds a small network that tells a number from several modalities, and trains it.

    Parameters and attributes are those of `NASFusionClassifier`, without classes; `module_` gives
    the target standardised, `predict` on its own scale.
    """

    def fit(self, X: Mapping[str, Any] | pd.DataFrame, y: Any) -> Self:
        """Search and train.

        Args:
            X: samples, as for `NASFusionClassifier`.
            y: numbers [n].
        """
        numbers = check_array(
            column_or_1d(y, warn=True),
            ensure_2d=False,
            dtype=np.float64,
            estimator=self,
            input_name="y",
        )
        self._fit(X, numbers, "regression")
        return self

    def predict(self, X: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
        """The number for each sample, [n]."""
        outputs = self._outputs_of(self.encode(X))  # complains first if this is not fitted
        return self._task.labels(outputs)


def _check_samples(X: object) -> None:
    if not isinstance(X, Mapping | pd.DataFrame):
        raise UsageError(f"X must be a dict of arrays or a data frame, got {type(X).__name__}")
