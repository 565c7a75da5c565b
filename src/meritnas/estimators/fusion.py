"""`NASFusionClassifier`: a scikit-learn estimator for several modalities."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from meritnas.data.bundle import Outline
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.modalities.source import ModalitySource, load_views, take_modalities
from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.data.split import split_few
from meritnas.devices.placement import on_cpu
from meritnas.errors import DataError, UsageError
from meritnas.estimators.base import SearchEstimator
from meritnas.settings.spec import SpaceSpec, StrategySpec


@dataclass(kw_only=True, eq=False, repr=False)
class NASFusionClassifier(ClassifierMixin, SearchEstimator):
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

    _data: ClassVar[str] = "modalities"
    _decided: ClassVar[tuple[str, ...]] = ("task",)

    space: str | SpaceSpec | Callable[..., Any] = "fusion"
    strategy: str | StrategySpec = "sm-shapley"

    def fit(self, X: Mapping[str, Any] | pd.DataFrame, y: Any) -> Self:
        """Search and train.

        Args:
            X: name -> array or data frame for each modality (numbers [n, columns], pictures
                [n, h, w(, c)], texts [n], a table), or a data frame whose columns are grouped by
                `modalities`, by the first of two levels, or by names such as `sensor.mean`; else
                text columns and columns of lists of numbers are modalities of their own and the
                other columns one.
            y: labels [n]; for several labels a sample 0 and 1 [n, labels], of which a data frame's
                columns name the labels, or lists of their names.
        """
        self._check_parameters()
        _check_samples(X)
        reading: ModalityReading = self._reading()
        source = take_modalities(X, y, reading.modalities)
        if len(source.target) != len(y):
            raise DataError(
                f"{len(y) - len(source.target)} samples have no label or no modality; leave them "
                "out"
            )
        seed = self._seed()
        request = self._request(seed, limits=self._limits())
        predictor = self._search(source, self._outline(source, reading, seed), request)
        self.module_: nn.Module = on_cpu(predictor.module).eval()
        self.classes_ = np.array(predictor.task.classes)
        return self

    def _outline(self, source: ModalitySource, reading: ModalityReading, seed: int) -> Outline:
        several = isinstance(source.target, pd.DataFrame)
        asked = replace(reading, task=None if several else "classification")
        outline = self._kind.outline(source, asked, seed)
        if not 0 < self.validation_fraction < 1 or not 0 <= self.test_fraction < 1:
            raise DataError(
                "validation_fraction must lie between 0 and 1 and test_fraction be from 0 to below "
                f"1, got {self.validation_fraction} and {self.test_fraction}"
            )
        codes = None if several else outline.task.encode(source.target).numpy()
        share, tested = self.validation_fraction, self.test_fraction
        split = split_few(len(source.target), codes, seed, share, tested)
        return replace(outline, split=split)

    def encode(self, X: Mapping[str, Any] | pd.DataFrame) -> torch.Tensor:
        """The samples as `module_` takes them: float32 [n, inputs]."""
        check_is_fitted(self)
        _check_samples(X)
        return self.encoder_.transform(load_views(X, self.encoder_.columns))

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


def _check_samples(X: object) -> None:
    if not isinstance(X, Mapping | pd.DataFrame):
        raise UsageError(f"X must be a dict of arrays or a data frame, got {type(X).__name__}")
