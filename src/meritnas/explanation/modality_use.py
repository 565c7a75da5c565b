"""What each modality is worth to a trained network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.credit.shapley import ShapleyValues, shapley_values
from meritnas.data.bundle import Part
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.data.task import Task
from meritnas.devices.placement import beside, on_cpu
from meritnas.training.resampled_scores import resampled_scores
from meritnas.training.train import outputs_of

_RESAMPLES = 200
_REACH = (2.5, 97.5)
_DEVIATIONS = 1.96
_COALITIONS = 1024
"""So many are tried: all of up to 10 modalities."""


@dataclass(frozen=True)
class ModalityUse:
    """What a trained network makes of each modality.

    Attributes:
        names: of the modalities.
        values: [modalities], the Shapley value of each for the score; who is not in a coalition
            is taken from all samples. Exact with up to 10 modalities, whose coalitions were all
            tried; of more, a regression on 1024 coalitions.
        low: [modalities], lower end of the 95 % interval over samples (bootstrap); where
            coalitions were drawn, it covers their luck as well.
        high: [modalities], upper end.
        alone: [modalities], the score with one modality only.
        without: [modalities], the score with all others.
        score: with all of them.
        nothing: without any.
    """

    names: tuple[str, ...]
    values: np.ndarray
    low: np.ndarray
    high: np.ndarray
    alone: np.ndarray
    without: np.ndarray
    score: float
    nothing: float

    def rows(self) -> list[dict[str, Any]]:
        """One row of plain values for each modality."""
        return [
            {
                "modality": name,
                "value": float(self.values[k]),
                "low": float(self.low[k]),
                "high": float(self.high[k]),
                "alone": float(self.alone[k]),
                "without": float(self.without[k]),
            }
            for k, name in enumerate(self.names)
        ]


def modality_use(
    module: nn.Module, task: Task, part: Part, layout: RowLayout, seed: int = 0
) -> ModalityUse:
    """Try a network with every set of modalities, or with some where there are too many.

    Args:
        module: trained.
        task: how good outputs are.
        part: samples that it was not trained on.
        layout: where the modalities stand in a sample.
        seed: of the bootstrap, and of coalitions where not all are tried.
    """
    scored = _Scored(module, task, part, layout, _resamples(len(part), seed))
    columns = [_values(scored, number, seed) for number in range(_RESAMPLES + 1)]
    own = columns[0]
    low, high = np.percentile([found.values for found in columns[1:]], _REACH, axis=0)
    luck = _DEVIATIONS * own.stderr  # zeros of exact values
    count = len(layout.names)
    single = np.eye(count, dtype=bool)
    every = np.ones(count, dtype=bool)
    return ModalityUse(
        layout.names,
        own.values,
        own.values - np.hypot(own.values - low, luck) if luck.any() else low,
        own.values + np.hypot(high - own.values, luck) if luck.any() else high,
        np.array([scored.of(one)[0] for one in single]),
        np.array([scored.of(~one)[0] for one in single]),
        float(scored.of(every)[0]),
        float(scored.of(~every)[0]),
    )


def with_only(inputs: Tensor, layout: RowLayout, coalition: Sequence[bool]) -> Tensor:
    """The same samples, lacking the modalities that are not in a coalition."""
    found = inputs.clone()
    for number, here in enumerate(coalition):
        if not here:
            found[:, layout.flag(number)] = 0.0
            found[:, layout.values(number)] = 0.0
    return found


class _Scored:
    """Coalitions and their scores: on the samples, and then on each resample of them."""

    def __init__(
        self, module: nn.Module, task: Task, part: Part, layout: RowLayout, counts: Tensor
    ) -> None:
        self.module = module
        self.task = task
        self.part = part
        self.layout = layout
        self.counts = counts
        self._known: dict[bytes, np.ndarray] = {}

    def of(self, coalition: np.ndarray) -> np.ndarray:
        """[1 + resamples]; a coalition is tried once."""
        key = coalition.tobytes()
        if key not in self._known:
            self._known[key] = self._try(coalition)
        return self._known[key]

    def _try(self, coalition: np.ndarray) -> np.ndarray:
        target = self.part.target
        inputs = with_only(self.part.inputs, self.layout, coalition.tolist())
        outputs = outputs_of(self.module, inputs)
        drawn = resampled_scores(self.task, outputs, target, beside(self.counts, target))
        return np.append(float(self.task.score(outputs, target)), on_cpu(drawn).numpy())


def _resamples(samples: int, seed: int) -> Tensor:
    """How often each bootstrap resample has each sample [resamples, samples]."""
    rng = np.random.default_rng(seed)
    found = np.zeros((_RESAMPLES, samples))
    for row in found:
        row += np.bincount(rng.integers(samples, size=samples), minlength=samples)
    return torch.from_numpy(found)


def _values(scored: _Scored, number: int, seed: int) -> ShapleyValues:
    """Shapley values for one of the scores: the same coalitions are tried for all of them."""

    def value(coalitions: np.ndarray) -> np.ndarray:
        return np.array([scored.of(row)[number] for row in coalitions])

    names = scored.layout.names
    budget = max(_COALITIONS, 4 * len(names))  # a regression needs some for each player
    return shapley_values(value, names, budget=budget, seed=seed)
