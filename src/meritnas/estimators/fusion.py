from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import nn

from meritnas.api import nobody
from meritnas.data.bundle import Outline
from meritnas.data.modalities.bundle import outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.source import ModalitySource, load_views, take_modalities
from meritnas.data.multilabel import LABEL_THRESHOLD
from meritnas.data.split import split_few
from meritnas.errors import DataError, UsageError
from meritnas.estimators.progress import Lines
from meritnas.prediction.predictor import load_predictor
from meritnas.prepare.defaults import fusion_settings
from meritnas.run.job import Job, make_config, start
from meritnas.store.run_store import RunStore
from meritnas.training.train import outputs_of


class NASFusionClassifier(ClassifierMixin, BaseEstimator):
    """Finds a small network that joins several modalities and keeps your limits, and trains it.

    Parameters of `meritnas.search` by the same names; further:

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

    def __init__(
        self,
        *,
        modalities: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        max_params: int | None = None,
        max_flops: int | None = None,
        strategy: str = "sm-shapley",
        channels: int | None = None,
        length: int | None = None,
        cells: int | None = None,
        steps: int = 1,
        operations: Literal["all", "normal", "sparse", "bm-nas"] = "all",
        sparsity: float = 0.1,
        backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
        frozen_backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
        epochs: int | None = None,
        minutes: float | None = None,
        class_weight: Literal["balanced"] | None = None,
        retrain_epochs: int | None = None,
        retrain_seeds: int = 1,
        finalists: int | None = None,
        strategy_options: Mapping[str, Any] | None = None,
        validation_fraction: float = 0.2,
        test_fraction: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
        device: str = "cpu",
        verbose: int = 0,
    ) -> None:
        self.modalities = modalities
        self.max_params = max_params
        self.max_flops = max_flops
        self.strategy = strategy
        self.channels = channels
        self.length = length
        self.cells = cells
        self.steps = steps
        self.operations = operations
        self.sparsity = sparsity
        self.backbones = backbones
        self.frozen_backbones = frozen_backbones
        self.epochs = epochs
        self.minutes = minutes
        self.class_weight = class_weight
        self.retrain_epochs = retrain_epochs
        self.retrain_seeds = retrain_seeds
        self.finalists = finalists
        self.strategy_options = strategy_options
        self.validation_fraction = validation_fraction
        self.test_fraction = test_fraction
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

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
        _check_samples(X)
        source = take_modalities(X, y, self.modalities)
        if len(source.target) != len(y):
            raise DataError(
                f"{len(y) - len(source.target)} samples have no label or no modality; leave them "
                "out"
            )
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        outline = self._outline(source, seed)
        settings = fusion_settings(len(outline.split.train), len(source.views), self._asked(seed))
        job = Job.make(settings, source, outline)
        with tempfile.TemporaryDirectory(prefix="meritnas-") as folder:
            store = RunStore.create(Path(folder), make_config(settings, source))
            result = start(job, store, Lines() if self.verbose else nobody)
            predictor = load_predictor(store.folder)
            self.history_ = store.events()
        assert isinstance(predictor.encoder, ModalityEncoder)
        self.architecture_ = result.architecture.text
        self.n_params_ = int(result.summary["params"])
        self.costs_ = dict(result.summary["costs"])
        self.test_ = result.test
        self.module_: nn.Module = predictor.module.cpu().eval()
        self.encoder_ = predictor.encoder
        self.classes_ = np.array(predictor.task.classes)
        self._task = predictor.task
        return self

    def _outline(self, source: ModalitySource, seed: int) -> Outline:
        kind = None if isinstance(source.target, pd.DataFrame) else "classification"
        outline = outline_modalities(source, seed, kind, self.class_weight)
        if not 0 < self.validation_fraction < 1 or not 0 <= self.test_fraction < 1:
            raise DataError(
                "validation_fraction must lie between 0 and 1 and test_fraction be from 0 to below "
                f"1, got {self.validation_fraction} and {self.test_fraction}"
            )
        codes = None if kind is None else outline.task.encode(source.target).numpy()
        share, tested = self.validation_fraction, self.test_fraction
        split = split_few(len(source.target), codes, seed, share, tested)
        return replace(outline, split=split)

    def _asked(self, seed: int) -> dict[str, Any]:
        given = {
            name: value
            for name, value in self.get_params(deep=False).items()
            if name in _SETTINGS and value is not None
        }
        limits = {"params": self.max_params, "flops": self.max_flops}
        options = dict(self.strategy_options or {})
        return {**given, "limits": limits, "strategy_options": options, "seed": seed}

    def encode(self, X: Mapping[str, Any] | pd.DataFrame) -> torch.Tensor:
        """The samples as `module_` takes them: float32 [n, inputs]."""
        check_is_fitted(self)
        _check_samples(X)
        return self.encoder_.transform(load_views(X, self.encoder_.columns))

    def predict_proba(self, X: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
        """The probability of each class, [n, classes]; of several labels the chance of each."""
        inputs = self.encode(X)
        # In double precision a sample's answer does not depend on those beside it.
        outputs = outputs_of(copy.deepcopy(self.module_).double(), inputs.double())
        return np.asarray(self._task.probabilities(outputs).numpy())

    def predict(self, X: Mapping[str, Any] | pd.DataFrame) -> np.ndarray:
        """The most probable label of each sample, [n]; 0 and 1 [n, labels] for several labels."""
        chances = self.predict_proba(X)
        if self._task.kind == "multilabel":
            return (chances > LABEL_THRESHOLD).astype(np.int64)
        return np.asarray(self.classes_[chances.argmax(axis=1)])


_SETTINGS = {
    "strategy",
    "channels",
    "length",
    "cells",
    "steps",
    "operations",
    "sparsity",
    "backbones",
    "frozen_backbones",
    "epochs",
    "minutes",
    "class_weight",
    "retrain_epochs",
    "retrain_seeds",
    "finalists",
    "device",
}


def _check_samples(X: object) -> None:
    if not isinstance(X, Mapping | pd.DataFrame):
        raise UsageError(f"X must be a dict of arrays or a data frame, got {type(X).__name__}")
