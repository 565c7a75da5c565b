from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.child.train import outputs_of
from meritnas.credit.shapley import shapley_values
from meritnas.data.bundle import Part
from meritnas.data.noise import LEVELS, Noise, add_noise, drop_modalities
from meritnas.data.row_layout import RowLayout
from meritnas.data.task import Task
from meritnas.errors import UsageError

CHANCES = (0.1, 0.2, 0.3)
"""How often a sample loses a modality (SM-ShapNAS, table 10)."""

_RESAMPLES = 200
_MOST_MODALITIES = 10
_REACH = (2.5, 97.5)


@dataclass(frozen=True)
class ModalityUse:
    """What a trained network makes of each modality.

    Attributes:
        names: of the modalities.
        values: [modalities], the Shapley value of each for the score, exact: all coalitions were
            tried, and who was not in one was taken from all samples.
        low: [modalities], lower end of the 95 % interval over samples (bootstrap).
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
    """Try a network with every set of modalities.

    Args:
        module: trained.
        task: how good outputs are.
        part: samples that it was not trained on.
        layout: where the modalities stand in a sample.
        seed: of the bootstrap.
    """
    count = len(layout.names)
    if count > _MOST_MODALITIES:
        raise UsageError(
            f"all sets of modalities are tried, which is possible with at most {_MOST_MODALITIES}; "
            f"this run has {count}"
        )
    coalitions = list(itertools.product((False, True), repeat=count))
    outputs = {one: outputs_of(module, _with_only(part.inputs, layout, one)) for one in coalitions}
    own = _scores(outputs, task, part.target)
    rng = np.random.default_rng(seed)
    drawn = []
    for _ in range(_RESAMPLES):
        rows = torch.from_numpy(rng.integers(len(part), size=len(part))).to(part.target.device)
        some = {one: found[rows] for one, found in outputs.items()}
        drawn.append(_values(_scores(some, task, part.target[rows]), layout.names))
    low, high = np.percentile(np.array(drawn), _REACH, axis=0)
    everybody, nobody = (True,) * count, (False,) * count
    single = [tuple(k == number for k in range(count)) for number in range(count)]
    return ModalityUse(
        layout.names,
        _values(own, layout.names),
        low,
        high,
        np.array([own[one] for one in single]),
        np.array([own[tuple(not here for here in one)] for one in single]),
        own[everybody],
        own[nobody],
    )


@dataclass(frozen=True)
class Disturbed:
    """The score of a network on disturbed samples.

    Attributes:
        disturbance: the kind of noise, or `missing`.
        modality: which one is noisy; `all`, or `any` for one that is drawn for each sample.
        level: variance or share of noise, or the chance to be missing; 0 for none.
        score: what it reaches.
    """

    disturbance: str
    modality: str
    level: float
    score: float


def disturbed_scores(
    module: nn.Module,
    task: Task,
    part: Part,
    layout: RowLayout,
    kinds: Sequence[Noise],
    seed: int = 0,
) -> list[Disturbed]:
    """How a network does when one modality, or all, are noisy, or one is missing by chance.

    Args:
        module: trained on undisturbed samples.
        task: how good outputs are.
        part: samples that it was not trained on.
        layout: where the modalities stand in a sample.
        kinds: of noise; each at the three levels of SM-ShapNAS' table 5.
        seed: of the noise.
    """

    def score(inputs: Tensor) -> float:
        return float(task.score(outputs_of(module, inputs), part.target))

    everyone = tuple(range(len(layout.names)))
    clean = score(part.inputs)
    found = []
    for kind in kinds:
        for name, numbers in [*((n, (k,)) for k, n in enumerate(layout.names)), ("all", everyone)]:
            found.append(Disturbed(kind, name, 0.0, clean))
            for level in LEVELS:
                noisy = add_noise(part.inputs, layout, numbers, kind, level, seed)
                found.append(Disturbed(kind, name, level, score(noisy)))
    found.append(Disturbed("missing", "any", 0.0, clean))
    for chance in CHANCES:
        fewer = drop_modalities(part.inputs, layout, chance, seed)
        found.append(Disturbed("missing", "any", chance, score(fewer)))
    return found


def _with_only(inputs: Tensor, layout: RowLayout, coalition: Sequence[bool]) -> Tensor:
    """The same samples, lacking the modalities that are not in a coalition."""
    found = inputs.clone()
    for number, here in enumerate(coalition):
        if not here:
            found[:, layout.flag(number)] = 0.0
            found[:, layout.values(number)] = 0.0
    return found


def _scores(
    outputs: dict[tuple[bool, ...], Tensor], task: Task, target: Tensor
) -> dict[tuple[bool, ...], float]:
    return {one: float(task.score(found, target)) for one, found in outputs.items()}


def _values(scores: dict[tuple[bool, ...], float], names: Sequence[str]) -> np.ndarray:
    def value(coalitions: np.ndarray) -> np.ndarray:
        return np.array([scores[tuple(row)] for row in coalitions.tolist()])

    return shapley_values(value, list(names), method="exact").values
