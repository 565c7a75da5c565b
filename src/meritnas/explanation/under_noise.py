"""What noise and missing modalities cost a trained network, and what modalities are worth then."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from torch import Tensor, nn

from meritnas.credit.shapley import shapley_values
from meritnas.data.modalities.noise import LEVELS, Noise, drop_modalities
from meritnas.data.modalities.noisy_samples import NoisySamples
from meritnas.data.task import Task
from meritnas.explanation.modality_use import ModalityUse, with_only
from meritnas.training.train import outputs_of

CHANCES = (0.1, 0.2, 0.3)
"""How often a sample loses a modality (SM-ShapNAS, table 10)."""

_COALITIONS = 64
"""So many are tried under each noise: all of up to 6 modalities."""


@dataclass(frozen=True)
class Disturbed:
    """The score of a network on disturbed samples.

    Attributes:
        disturbance: the kind of noise, or `missing`.
        modality: which one is noisy; `all`, or `any` for one that is drawn for each sample.
        level: variance or share of noise, or the chance to be missing; 0 for none.
        score: what it reaches.
        values: modality -> its Shapley value for the score on these samples (SM-ShapNAS, table
            11); empty where modalities are missing.
    """

    disturbance: str
    modality: str
    level: float
    score: float
    values: Mapping[str, float] = field(default_factory=dict)


def disturbed_scores(
    module: nn.Module,
    task: Task,
    target: Tensor,
    samples: NoisySamples,
    use: ModalityUse,
    kinds: Sequence[Noise],
    seed: int = 0,
) -> list[Disturbed]:
    """How a network does when one modality, or all, are noisy, or one is missing by chance.

    Args:
        module: trained.
        task: how good outputs are.
        target: the answers to the samples.
        samples: that it was not trained on, and what they are with noise.
        use: what modalities are worth without noise.
        kinds: of noise; each at the three levels of SM-ShapNAS' table 5.
        seed: of the noise, and of coalitions where not all are tried.
    """
    layout = samples.encoder.layout
    scored = _Scored(module, task, target, samples)
    everyone = tuple(range(len(layout.names)))
    worth = dict(zip(use.names, use.values.tolist(), strict=True))
    found = []
    for kind in kinds:
        for name, numbers in [*((n, (k,)) for k, n in enumerate(layout.names)), ("all", everyone)]:
            found.append(Disturbed(kind, name, 0.0, use.score, worth))
            for level in LEVELS:
                noisy = samples.noisy(numbers, kind, level, seed)
                values = scored.values(noisy, numbers, seed)
                found.append(Disturbed(kind, name, level, scored.score(noisy), values))
    found.append(Disturbed("missing", "any", 0.0, use.score))
    for chance in CHANCES:
        fewer = drop_modalities(samples.inputs, layout, chance, seed)
        found.append(Disturbed("missing", "any", chance, scored.score(fewer)))
    return found


class _Scored:
    """Scores of a network on samples, also of those that lack modalities."""

    def __init__(
        self, module: nn.Module, task: Task, target: Tensor, samples: NoisySamples
    ) -> None:
        self._module = module
        self._task = task
        self._target = target
        self._clean = samples.inputs
        self._layout = samples.encoder.layout
        self._known: dict[bytes, float] = {}

    def score(self, inputs: Tensor) -> float:
        return float(self._task.score(outputs_of(self._module, inputs), self._target))

    def values(self, noisy: Tensor, numbers: Sequence[int], seed: int) -> dict[str, float]:
        """The Shapley value of each modality where those of `numbers` are noisy."""

        def value(coalitions: np.ndarray) -> np.ndarray:
            return np.array(
                [
                    self.score(with_only(noisy, self._layout, row.tolist()))
                    if row[list(numbers)].any()
                    else self._undisturbed(row)
                    for row in coalitions
                ]
            )

        names = self._layout.names
        budget = max(_COALITIONS, 4 * len(names))  # a regression needs some for each player
        found = shapley_values(value, names, budget=budget, seed=seed)
        return dict(zip(names, found.values.tolist(), strict=True))

    def _undisturbed(self, coalition: np.ndarray) -> float:
        """The score without those who are noisy, which no noise changes: found once."""
        key = coalition.tobytes()
        if key not in self._known:
            fewer = with_only(self._clean, self._layout, coalition.tolist())
            self._known[key] = self.score(fewer)
        return self._known[key]
