"""What short trainings of some networks say about all."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.stats import spearmanr

from meritnas.witness.trials import Trials

SIZES = [3] * 5
ALL = np.array(list(product(range(3), repeat=5)))


def truth(rng: np.random.Generator) -> np.ndarray:
    """Losses of all networks: effects of options and of one pair."""
    effects = rng.normal(size=(5, 3))
    pair = rng.normal(size=(3, 3))
    found = sum(effects[i][ALL[:, i]] for i in range(5)) + pair[ALL[:, 0], ALL[:, 4]]
    return np.asarray(found)


def test_networks_nobody_trained_are_ordered() -> None:
    rng = np.random.default_rng(0)
    losses = truth(rng)
    some = rng.permutation(len(ALL))[:80]
    others = np.setdiff1d(np.arange(len(ALL)), some)
    said = Trials(ALL[some], losses[some], SIZES).judge(ALL[others])
    assert spearmanr(said, -losses[others])[0] > 0.9


def test_says_more_than_a_noisy_training_of_the_network_itself() -> None:
    better = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        losses = truth(rng)
        noisy = losses + rng.normal(scale=2.0, size=len(losses))
        some = rng.permutation(len(ALL))[:100]
        said = Trials(ALL[some], noisy[some], SIZES).judge(ALL[some])
        better += spearmanr(said, -losses[some])[0] > spearmanr(-noisy[some], -losses[some])[0]
    assert better >= 9


def test_only_the_order_of_losses_counts() -> None:
    rng = np.random.default_rng(1)
    losses = truth(rng)[:40]
    plain = Trials(ALL[:40], losses, SIZES).judge(ALL)
    assert np.array_equal(plain, Trials(ALL[:40], np.exp(3 * losses), SIZES).judge(ALL))


def test_a_training_that_diverged_speaks_against_its_options() -> None:
    losses = np.where(ALL[:, 2] == 1, np.inf, 1.0)
    said = Trials(ALL, losses, SIZES).judge(ALL)
    assert said[ALL[:, 2] == 1].max() < said[ALL[:, 2] != 1].min()


def test_says_nothing_of_one_training() -> None:
    assert np.array_equal(Trials(ALL[:1], np.array([0.3]), SIZES).judge(ALL), np.zeros(len(ALL)))
