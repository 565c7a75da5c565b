"""A Gaussian process with expected improvement over feasible architectures."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

from meritnas.cost.feasible import FeasibleSet
from meritnas.space.space import Space
from meritnas.strategy.algorithms.black_box import Archive, uniform_draw


@dataclass(frozen=True)
class BayesianProposer:
    """A Gaussian process with expected improvement over exact feasible samples.

    TabNAS appendix D. Deviation: a Matern kernel whose length scale is fitted, where the paper
    tries fixed RBF scales of 1 and 10. The process sees the latest and the best of what was
    judged, at most `memory` architectures, which bounds the cost of a proposal.
    """

    initial: int = 20
    candidates: int = 512
    memory: int = 100

    def propose(
        self, archive: Archive, feasible: FeasibleSet, rng: np.random.Generator
    ) -> tuple[int, ...]:
        """Uniform at first, then the candidate with the largest expected improvement."""
        if len(archive.picks) < self.initial:
            return tuple(uniform_draw(feasible, 1, rng)[0].tolist())
        candidates = uniform_draw(feasible, self.candidates, rng)
        kept = self._remembered(archive)
        known = np.array([archive.picks[k] for k in kept])
        losses = np.array([archive.losses[k] for k in kept])
        process = GaussianProcessRegressor(
            ConstantKernel(1.0) * Matern(0.5, (0.05, 20.0), nu=2.5) + WhiteKernel(0.01),
            normalize_y=True,
        )
        with warnings.catch_warnings():
            # A length scale at its bound is an answer here, not a fault.
            warnings.simplefilter("ignore", ConvergenceWarning)
            process.fit(features(feasible.space, known), losses)
        mean, spread = process.predict(features(feasible.space, candidates), return_std=True)
        gain = expected_improvement(losses.min(), mean, spread)
        return tuple(candidates[int(np.argmax(gain))].tolist())

    def _remembered(self, archive: Archive) -> list[int]:
        order = archive.best_first()
        latest = range(max(0, len(order) - self.memory // 2), len(order))
        return sorted({*latest, *order[: self.memory // 2]})


def expected_improvement(best: float, mean: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """E[max(0, best - X)] for X ~ N(mean, spread**2)."""
    scale = np.maximum(spread, 1e-12)
    z = (best - mean) / scale
    return (best - mean) * norm.cdf(z) + scale * norm.pdf(z)


def features(space: Space, picks: np.ndarray) -> np.ndarray:
    """Picks as coordinates: ranks in [0, 1] where all options are numbers, else one-hot."""
    columns = []
    for i, decision in enumerate(space.decisions):
        ordered = all(option.name.isdigit() for option in decision.options)
        if ordered:
            columns.append(picks[:, [i]] / max(len(decision) - 1, 1))
        else:
            columns.append(np.eye(len(decision))[picks[:, i]])
    return np.concatenate(columns, axis=1)
