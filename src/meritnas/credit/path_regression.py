"""A regression of the scores of single paths on their options and pairs of options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import linalg

from meritnas.credit.judged_paths import JudgedPaths

_SIGNAL_TO_NOISE = np.logspace(-5, 6, 45)
_PAIRS_TO_MAINS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_RANK = 1e-10


@dataclass(frozen=True)
class PathRegression:
    """score(y) = sum of main effects of y's options + sum of effects of pairs of them.

    Attributes:
        mains: a row [options] for each decision that sums to zero.
        errors: their standard errors (posterior deviations), alike.
        pairs: [all options, all options], symmetric, decision by decision as in `mains`: the
            effect of two options of different decisions together; rows and columns sum to zero
            within a decision. Zeros where pairs were not asked for or did not pay.
        noise: the standard deviation of what the effects do not explain.
    """

    mains: tuple[np.ndarray, ...]
    errors: tuple[np.ndarray, ...]
    pairs: np.ndarray
    noise: float

    def predict(self, picks: np.ndarray) -> np.ndarray:
        """Scores [n] of paths [n, decisions], relative to the mean over all paths."""
        columns = _starts([len(row) for row in self.mains])[:-1] + picks
        found = np.concatenate(self.mains)[columns].sum(axis=1)
        if self.pairs.any():
            for i in range(1, picks.shape[1]):
                found += self.pairs[columns[:, i, None], columns[:, :i]].sum(axis=1)
        return np.asarray(found)


def path_regression(
    judged: JudgedPaths, sizes: Sequence[int], *, pairs: bool = False
) -> PathRegression:
    """Ridge regression on main effects, or on them and all pairs, as strong as evidence says.

    Effects have normal priors: variance t1 for main effects, t2 for pairs, s for noise. The two
    ratios t1 / s and t2 / t1 are those of a grid that make what was judged most likely, with s
    integrated in closed form (restricted maximum likelihood: contrasts within a block only, so
    that a block's common rows may be easy or hard). Where pairs do not pay, t2 = 0 wins.

    Features are one-hot rows minus 1 / options, products of them for pairs. Under equally likely
    paths all effects are then orthogonal: adding pairs leaves main effects what they are, the
    means over all other decisions. Pairs are never written out: with k_i the product of two paths'
    features of decision i, that of all their pairs is ((sum k_i)^2 - sum k_i^2) / 2.

    Args:
        judged: paths and scores.
        sizes: the number of options of each decision.
        pairs: whether pairs have effects.
    """
    picks, blocks = judged.picks, judged.blocks
    options = sum(sizes)
    hot = np.zeros((len(picks), options))
    np.put_along_axis(hot, _starts(sizes)[:-1] + picks, 1.0, axis=1)
    features = hot - np.repeat(1.0 / np.array(sizes), sizes)
    scores = _contrasts(judged.scores[:, None], blocks)[:, 0]
    if not scores.any():
        none = [np.zeros(size) for size in sizes]
        return PathRegression(tuple(none), tuple(none), np.zeros((options, options)), 0.0)
    seen = _contrasts(features, blocks)
    found = _evidence(0.0, *_spectrum_of_features(seen), scores)
    if pairs:
        mains_kernel = features @ features.T
        weights = np.repeat(1.0 - 2.0 / np.array(sizes), sizes)
        squares = (hot * weights) @ hot.T + float(np.sum(1.0 / np.array(sizes) ** 2))
        pairs_kernel = (mains_kernel**2 - squares) / 2
        for ratio in _PAIRS_TO_MAINS[1:]:
            kernel = _contrasts(mains_kernel + ratio * pairs_kernel, blocks)
            kernel = _contrasts(kernel.T, blocks)
            other = _evidence(ratio, *_spectrum_of_kernel(kernel), scores)
            found = max(found, other, key=lambda known: known.evidence)
    weights = _uncontrasted(found.solved(scores), blocks)
    mains = found.signal * (features.T @ weights)
    effects = found.signal * found.ratio * (features.T * weights) @ features
    for first, last in _spans(sizes):
        effects[first:last, first:last] = 0.0
    prior = np.repeat(1.0 - 1.0 / np.array(sizes), sizes)
    told = found.signal * np.einsum("ij,ij->j", seen, found.solved(seen))
    errors = np.sqrt(found.variance * found.signal * np.maximum(prior - told, 0.0))
    cuts = _starts(sizes)[1:-1]
    return PathRegression(
        tuple(np.split(mains, cuts)),
        tuple(np.split(errors, cuts)),
        effects,
        float(np.sqrt(found.variance)),
    )


@dataclass(frozen=True)
class _Fit:
    """The best ratio of signal to noise of one kernel U diag(values) U'."""

    ratio: float
    signal: float
    variance: float
    evidence: float
    vectors: np.ndarray
    values: np.ndarray

    def solved(self, right: np.ndarray) -> np.ndarray:
        """(signal * kernel + 1)^-1 right."""
        part = self.vectors.T @ right
        shrunk = self.signal * self.values / (self.signal * self.values + 1.0)
        return np.asarray(right - self.vectors @ (part.T * shrunk).T)


def _evidence(ratio: float, vectors: np.ndarray, values: np.ndarray, scores: np.ndarray) -> _Fit:
    """The signal of the grid under which scores [contrasts] are most likely."""
    count = len(scores)
    part = (vectors.T @ scores) ** 2
    rest = max(float(scores @ scores) - float(part.sum()), 0.0)
    scales = _SIGNAL_TO_NOISE[:, None] * values + 1.0
    floor = 1e-12 * float(scores @ scores) / count
    variances = np.maximum(((part / scales).sum(axis=1) + rest) / count, floor)
    evidence = -0.5 * (count * np.log(variances) + np.log(scales).sum(axis=1))
    best = int(np.argmax(evidence))
    return _Fit(
        ratio,
        float(_SIGNAL_TO_NOISE[best]),
        float(variances[best]),
        float(evidence[best]),
        vectors,
        values,
    )


def _spectrum_of_features(features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvectors and eigenvalues above zero of features @ features.T."""
    left, values, _ = linalg.svd(features, full_matrices=False, check_finite=False)
    kept = values > _RANK * max(float(values.max(initial=0.0)), _RANK)
    return left[:, kept], values[kept] ** 2


def _spectrum_of_kernel(kernel: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    values, vectors = linalg.eigh(kernel, check_finite=False)
    kept = values > _RANK * max(float(values[-1]), _RANK)
    return vectors[:, kept], values[kept]


def _helmert(size: int) -> np.ndarray:
    """Orthonormal contrasts [size - 1, size]: rows that sum to zero."""
    found: np.ndarray = linalg.helmert(size) if size > 1 else np.zeros((0, size))
    return found


def _contrasts(rows: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """What rows [paths, ...] say beside the mean of their block: [paths - blocks, ...]."""
    cuts = _starts(blocks)
    made = {size: _helmert(size) for size in set(blocks)}
    parts = zip(blocks, cuts[:-1], cuts[1:], strict=True)
    found = [made[size] @ rows[first:last] for size, first, last in parts]
    return np.concatenate([np.zeros((0, rows.shape[1])), *found])


def _uncontrasted(weights: np.ndarray, blocks: Sequence[int]) -> np.ndarray:
    """The transpose of `_contrasts`: weights [paths - blocks] -> [paths]."""
    cuts = _starts([size - 1 for size in blocks])
    parts = zip(blocks, cuts[:-1], cuts[1:], strict=True)
    return np.concatenate([_helmert(size).T @ weights[first:last] for size, first, last in parts])


def _starts(sizes: Sequence[int]) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _spans(sizes: Sequence[int]) -> list[tuple[int, int]]:
    return list(pairwise(_starts(sizes).tolist()))
