"""Whether samples settle a ranking."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import t as student

LEAST_SAMPLES = 5
"""With fewer, a standard error says little."""


def settled(samples: np.ndarray, groups: Sequence[Sequence[int]], confidence: float) -> bool:
    """Whether the ranking within every group is settled.

    It is where all neighbours in it differ: by a t-test of their difference, sample by sample (two
    players of one permutation are no strangers), at a level divided by the number of all
    comparisons (Bonferroni). Who looks again after every sample finds a difference at last, so the
    k-th look has only 1 / (k * (k + 1)) of the chance to be wrong; that sums to all of it.
    Neighbours that never differed at all are equals, and settled.

    Args:
        samples: [samples, players], independent rows.
        groups: the players of each decision.
        confidence: that no neighbours stand in the wrong order, whenever sampling ends by this.
    """
    count = len(samples)
    if count < LEAST_SAMPLES:
        return False
    comparisons = sum(max(0, len(group) - 1) for group in groups)
    if comparisons == 0:
        return True
    look = count - LEAST_SAMPLES + 1
    level = 1 - (1 - confidence) / (comparisons * look * (look + 1))
    bound = float(student.ppf(level, count - 1))
    for group in groups:
        own = samples[:, list(group)]
        ranked = own[:, np.argsort(-own.mean(axis=0), kind="stable")]
        gaps = ranked[:, :-1] - ranked[:, 1:]
        errors = gaps.std(axis=0, ddof=1) / np.sqrt(count)
        apart = gaps.mean(axis=0) > bound * errors
        equal = (gaps == 0).all(axis=0)
        if not (apart | equal).all():
            return False
    return True
