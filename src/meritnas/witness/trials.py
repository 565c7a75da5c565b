"""Short trainings of some networks, and what they say about all others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import norm

from meritnas.credit.judged_paths import JudgedPaths
from meritnas.credit.path_regression import path_regression
from meritnas.witness.vote import ranks

NAME = "trials"

WEIGHT = 2.0
"""Beside 3.25 of those who look at untrained cells, their size and beliefs. With what 60, 120 and
some 200 cells of NAS-Bench-201 had come to after two epochs (three seeds), weights of 1 and 2 left
the best by all votes .8 to 1.2, .7 to .9 and .7 to .9 behind under eleven limits, by validation
accuracy; 1.3 without trials, 1.2 with each cell's own loss in place of the regression, 1.1 to 1.5
at a weight of 4."""


class Trials:
    """A regression of what short trainings from scratch came to, asked about any network.

    A network's own training says too little: two epochs of one seed are noise, and there is time
    for a small part of all candidates. The regression on options and pairs of options, as strong as
    evidence says, shares what the trainings have in common, so that it speaks about networks that
    nobody trained as well. It is MANAS' least squares (equation 7), with pairs, on
    networks that were trained alone in place of paths with shared weights.

    Losses count by their ranks, as normal scores: a network that hardly learns would be an outlier
    to a regression of the losses themselves. A training that diverged comes last.

    Args:
        picks: networks that were trained [n, decisions].
        losses: on rows held out [n].
        sizes: the number of options of each decision.
    """

    def __init__(self, picks: np.ndarray, losses: np.ndarray, sizes: Sequence[int]) -> None:
        places = ranks(-np.asarray(losses, dtype=float))
        scores = norm.ppf(1.0 - (places - 0.5) / len(places))
        judged = JudgedPaths(len(sizes))
        judged.add(picks, -scores)
        self._fitted = path_regression(judged, sizes, pairs=True)

    @property
    def name(self) -> str:
        """As in records."""
        return NAME

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """Scores [n] by the regression."""
        return self._fitted.predict(np.asarray(picks))
