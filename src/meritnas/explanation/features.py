"""What each column of a table is worth to a trained network: its score when the column is mixed."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.devices.placement import CPU
from meritnas.errors import StoreError, UsageError
from meritnas.plugins import Trusted
from meritnas.prediction.predictor import load_predictor
from meritnas.report.notebook.explained import features_html
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.chosen_metric import judged, metric_value
from meritnas.training.metrics import main_metric
from meritnas.training.threads import limited_threads
from meritnas.training.train import outputs_of

_LOG = logging.getLogger(__name__)

FILE = "features.json"
_TABLE = "features.csv"
_WEIGHTS = "model.safetensors"

_RESAMPLES = 20
_MOST_ROWS = 2_000
_LEAST_ROWS = 200
_MOST_READ = 4_000_000
"""Rows that the network reads in all: some seconds."""
_DEVIATIONS = 2.093
"""Of 20 resamples, for 95 %: Student's t with 19 degrees of freedom."""


@dataclass(frozen=True)
class Feature:
    """A column, and what it is worth.

    Attributes:
        column: its name.
        value: by how much the score is worse when its values are mixed up among the rows.
        low: lower end of the 95 % interval over rows and ways to mix them.
        high: upper end.
    """

    column: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class FeatureExplanation:
    """What the columns of a table are worth to a run's network, on rows that it has not seen.

    Attributes:
        metric: what scores are.
        score: with all columns as they are.
        rows: how many rows were looked at.
        features: the worth of each column, the largest first.
        network: a digest of the network's weights.
    """

    metric: str
    score: float
    rows: int
    features: tuple[Feature, ...]
    network: str

    def table(self) -> pd.DataFrame:
        """The worth of each column, a row for each."""
        return pd.DataFrame([asdict(one) for one in self.features])

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "metric": self.metric,
            "score": self.score,
            "rows": self.rows,
            "features": [asdict(one) for one in self.features],
            "network": self.network,
        }

    def _repr_html_(self) -> str:
        """The figures of the report, in a notebook."""
        return features_html(self.to_json())


def explain_features(job: Job, store: RunStore, trust: Trusted = ()) -> FeatureExplanation:
    """What each column is worth to a run's network; the run keeps it.

    Raises:
        UsageError: The run was not made on a table.
        StoreError: It has no trained network yet.
    """
    kind, bundle = job.prepared.kind, job.bundle
    places = kind.column_places(bundle.encoder)
    if not places:
        raise UsageError(f"run {store.folder}: {kind.this}, and only tables have columns")
    if not store.has(_WEIGHTS):
        raise StoreError(
            f"run {store.folder} has no trained network yet; continue it with: "
            f"meritnas search --resume {store.folder}"
        )
    predictor = load_predictor(store.folder, trust=trust)
    part = (bundle.test if len(bundle.test) else bundle.valid).to(CPU)
    with limited_threads(job.settings.threads):
        found = feature_use(predictor.module, predictor.task, part, places)
    digest = hashlib.sha256((store.folder / _WEIGHTS).read_bytes()).hexdigest()
    explained = FeatureExplanation(*found, digest)
    store.write_json(FILE, explained.to_json())
    store.write_text(_TABLE, explained.table().to_csv(index=False))
    return explained


def feature_use(
    module: nn.Module,
    task: Task,
    part: Part,
    places: Mapping[str, Sequence[int]],
    seed: int = 0,
) -> tuple[str, float, int, tuple[Feature, ...]]:
    """Mix up each column in turn and see how much worse a network gets.

    Of each of 20 bootstrap resamples of the rows, all inputs of a column are mixed up together:
    the number and whether it is missing, all that a date becomes.

    Args:
        module: trained.
        task: how good outputs are.
        part: rows that it was not trained on.
        places: where the inputs of each column stand.
        seed: of resamples and mixing.

    Returns:
        The metric, the score, how many rows were used, and the columns.
    """
    rng = np.random.default_rng(seed)
    room = max(_LEAST_ROWS, _MOST_READ // (_RESAMPLES * len(places)))
    rows = min(len(part), _MOST_ROWS, room)
    chosen = np.sort(rng.choice(len(part), rows, replace=False))
    some = part.rows(torch.from_numpy(chosen))
    worse = {name: np.zeros(_RESAMPLES) for name in places}
    for number in range(_RESAMPLES):
        _LOG.info("what each column is worth: %d of %d", number + 1, _RESAMPLES)
        own = some.rows(torch.from_numpy(rng.integers(rows, size=rows)))
        as_it_is = _loss(module, task, own, own.inputs)
        for name, columns in places.items():
            mixed = own.inputs.clone()
            order = torch.from_numpy(rng.permutation(rows))
            mixed[:, list(columns)] = own.inputs[order][:, list(columns)]
            worse[name][number] = _loss(module, task, own, mixed) - as_it_is
    outputs = outputs_of(module, some.inputs)
    plain = float(task.score(outputs, some.target))
    score = metric_value(task, outputs, some.target) if task.metric else plain
    found = [_feature(name, values) for name, values in worse.items()]
    found.sort(key=lambda one: -one.value)
    return main_metric(task), score, rows, tuple(found)


def _loss(module: nn.Module, task: Task, part: Part, inputs: Tensor) -> float:
    """How bad a network is on rows: its metric or its score, turned so that less is better."""
    outputs = outputs_of(module, inputs)
    if task.metric:
        return judged(task, outputs, part.target)
    return -float(task.score(outputs, part.target))


def _feature(name: str, values: np.ndarray) -> Feature:
    mean, spread = float(values.mean()), _DEVIATIONS * float(values.std(ddof=1))
    return Feature(name, mean, mean - spread, mean + spread)
