from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from meritnas import tabular_space
from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.coordinated import coordinated_descent
from meritnas.policy.agents import Agents, Sampling, Softmax, Zipf, exp3_exploration, exp3_rate
from meritnas.policy.pooled import kin_of

SPACE = tabular_space(2, 1, 3, (2, 3, 4))
FREE = SPACE.feasible()
LIMITED = SPACE.feasible(max_params=38)
EVERY = list(itertools.product(range(3), repeat=3))
FITTING = [p for p in EVERY if SPACE.cost(SPACE.space.architecture(p)) <= 38]
BLAME = [np.array([3.0, 1.0, 2.0]), np.array([0.0, 4.0, 1.0]), np.array([2.0, 2.5, 0.5])]

ONCE = [np.ones(3)] * 3

ROWS = st.lists(st.floats(-50, 50), min_size=2, max_size=9).map(np.array)


def probabilities(sampling: Sampling, blame: np.ndarray) -> np.ndarray:
    weights = np.exp(sampling.logits(blame))
    share = sampling.exploration
    return np.asarray((1 - share) * weights / weights.sum() + share / len(blame))


def test_zipf_probabilities_of_eight_and_five_options() -> None:
    eight = probabilities(Zipf(), np.arange(8.0))
    assert eight == pytest.approx(
        [0.367937, 0.183968, 0.122646, 0.091984, 0.073587, 0.061323, 0.052562, 0.045992], abs=1e-6
    )
    five = probabilities(Zipf(), np.arange(5.0))
    assert five == pytest.approx([0.437956, 0.218978, 0.145985, 0.109489, 0.087591], abs=1e-6)


@given(ROWS)
def test_zipf_looks_at_ranks_only_and_the_least_blamed_come_first(blame: np.ndarray) -> None:
    blame = np.unique(blame)[::-1]
    found = probabilities(Zipf(), blame)
    assert found.sum() == pytest.approx(1.0)
    harmonic = sum(1 / rank for rank in range(1, len(blame) + 1))
    assert found.min() >= (1 - 1e-9) / (len(blame) * harmonic)
    order = np.argsort(blame, kind="stable")
    more = np.diff(blame[order]) > 0
    assert (np.diff(found[order])[more] < 0).all()
    assert np.diff(found[order])[~more] == pytest.approx(0.0)
    ranks = np.unique(blame, return_inverse=True)[1]
    assert found == pytest.approx(probabilities(Zipf(), 10.0 * ranks))


def test_equal_blame_is_drawn_equally_often_whatever_comes_first() -> None:
    found = probabilities(Zipf(), np.array([2.0, 1.0, 1.0, 5.0, 2.0]))
    total = 1 + 1 / 2 + 1 / 3 + 1 / 4 + 1 / 5
    first, second = (1 + 1 / 2) / 2, (1 / 3 + 1 / 4) / 2
    assert found == pytest.approx(np.array([second, first, first, 1 / 5, second]) / total)


@given(ROWS, st.floats(-1e6, 1e6))
def test_softmax_does_not_change_when_all_blame_does(blame: np.ndarray, shift: float) -> None:
    sampling = Softmax(0.3, 0.1)
    assert probabilities(sampling, blame + shift) == pytest.approx(
        probabilities(sampling, blame), abs=1e-6
    )


def test_softmax_prefers_little_blame_and_explores() -> None:
    found = probabilities(Softmax(1.0, 0.2), np.array([0.0, np.log(3.0)]))
    assert found == pytest.approx([0.8 * 0.75 + 0.1, 0.8 * 0.25 + 0.1])
    assert probabilities(Softmax(1.0, 0.2), np.array([0.0, 1e6])) == pytest.approx([0.9, 0.1])


def test_step_and_exploration_of_the_papers_search() -> None:
    rounds = 50 * 391
    assert exp3_rate(8, rounds) == pytest.approx(0.003464, abs=5e-7)
    assert exp3_exploration(8, rounds) == pytest.approx(0.03063, abs=5e-6)
    assert exp3_exploration(8, 1) == 1.0


@pytest.mark.parametrize("sampling", [Softmax(0.5, 0.0), Zipf()], ids=["softmax", "zipf"])
@pytest.mark.parametrize("feasible", [FREE, LIMITED], ids=["free", "limited"])
def test_agents_that_know_nothing_draw_every_network_alike(
    sampling: Sampling, feasible: FeasibleSet
) -> None:
    """Even by ranks, which would prefer whatever comes first."""
    picks = Agents(feasible, sampling).propose(8000, np.random.default_rng(0)).picks
    fitting = EVERY if feasible is FREE else FITTING
    counts = [int((picks == row).all(axis=1).sum()) for row in fitting]
    assert sum(counts) == 8000
    assert stats.chisquare(counts).pvalue > 1e-4


@pytest.mark.parametrize("sampling", [Softmax(0.5, 0.3), Zipf()], ids=["softmax", "zipf"])
def test_proposals_keep_a_limit_and_have_the_probabilities_that_they_say(
    sampling: Sampling,
) -> None:
    agents = Agents(LIMITED, sampling, BLAME)
    found = agents.propose(40_000, np.random.default_rng(1))
    assert LIMITED.contains(found.picks).all()
    rows = [np.exp(sampling.logits(row)) for row in BLAME]
    weights = np.array([np.prod([r[p] for r, p in zip(rows, a, strict=True)]) for a in FITTING])
    share = sampling.exploration
    law = (1 - share) * weights / weights.sum() + share / len(FITTING)
    for i, row in enumerate(found.marginals):
        own = [sum(w for w, a in zip(law, FITTING, strict=True) if a[i] == k) for k in range(3)]
        assert row == pytest.approx(own)
    counts = [int((found.picks == row).all(axis=1).sum()) for row in FITTING]
    assert stats.chisquare(counts, 40_000 * law).pvalue > 1e-4


@pytest.mark.parametrize("sampling", [Softmax(0.5, 0.3), Softmax(0.5, 0.0), Zipf()])
def test_expected_blame_under_a_limit_is_the_mean_loss_of_what_fits_with_an_option(
    sampling: Sampling,
) -> None:
    """By enumeration of all that fits."""
    agents = Agents(LIMITED, sampling, BLAME)
    marginals = agents.propose(1, np.random.default_rng(0)).marginals
    losses = np.random.default_rng(1).random(len(FITTING))
    rows = [np.exp(sampling.logits(row)) for row in BLAME]
    weights = np.array([np.prod([r[p] for r, p in zip(rows, a, strict=True)]) for a in FITTING])
    share = sampling.exploration
    law = (1 - share) * weights / weights.sum() + share / len(FITTING)
    expected = np.zeros((3, 3))
    for chance, picks, loss in zip(law, FITTING, losses, strict=True):
        none = [np.zeros(3)] * 3
        added = coordinated_descent(none, np.array([picks]), np.array([loss]), marginals)
        expected += chance * np.array(added)
    for i, k in itertools.product(range(3), repeat=2):
        own = [j for j, picks in enumerate(FITTING) if picks[i] == k]
        if own:
            assert expected[i, k] == pytest.approx(law[own] @ losses[own] / law[own].sum())


def test_what_no_feasible_network_has_takes_no_rank_from_the_others() -> None:
    wide = tabular_space(2, 1, 3, (2, 3, 4, 64, 128)).feasible(max_params=38)
    assert all(row.tolist() == [0, 1, 2] for row in wide.reachable())
    blame = [np.concatenate([row, [0.0, 0.0]]) for row in BLAME]
    rng = np.random.default_rng(0)
    found = Agents(wide, Zipf(), blame).propose(1, rng).marginals
    expected = Agents(LIMITED, Zipf(), BLAME).propose(1, rng).marginals
    for row, own in zip(found, expected, strict=True):
        assert row[:3] == pytest.approx(own)


def test_without_a_limit_agents_draw_independently() -> None:
    agents = Agents(FREE, Softmax(0.5, 0.3), BLAME)
    found = agents.propose(40_000, np.random.default_rng(1))
    for row, blame in zip(found.marginals, BLAME, strict=True):
        assert row == pytest.approx(probabilities(agents.sampling, blame))
    law = [np.prod([r[p] for r, p in zip(found.marginals, a, strict=True)]) for a in EVERY]
    counts = [int((found.picks == row).all(axis=1).sum()) for row in EVERY]
    assert stats.chisquare(counts, 40_000 * np.array(law)).pvalue > 1e-4


def test_the_favourite_has_the_least_blame_of_what_fits() -> None:
    def blame(picks: tuple[int, ...]) -> float:
        return float(sum(row[p] for row, p in zip(BLAME, picks, strict=True)))

    best = Agents(FREE, Zipf(), BLAME, ONCE).favourite()
    assert SPACE.space.picks(best) == (1, 0, 2)
    limited = Agents(LIMITED, Zipf(), BLAME, ONCE).favourite()
    assert blame(tuple(SPACE.space.picks(limited))) == min(map(blame, FITTING))


def test_the_favourite_is_blamed_least_for_a_round_not_in_all() -> None:
    """What was drawn seldom has little blame in all."""
    draws = [np.array([2.0, 2.0, 9.0]), np.array([1.0, 9.0, 1.0]), np.array([8.0, 1.0, 1.0])]
    assert SPACE.space.picks(Agents(FREE, Zipf(), BLAME, draws).favourite()) == (2, 0, 0)


@pytest.mark.parametrize("feasible", [FREE, LIMITED], ids=["free", "limited"])
def test_the_favourite_has_no_option_that_was_never_drawn(feasible: FeasibleSet) -> None:
    """However much all others are blamed, and alike."""
    blame = [np.array([0.0, 0.0, 7.0]), np.array([0.0, 9.0, 0.0]), np.array([0.0, 1.0, 1.0])]
    draws = [(row > 0).astype(float) for row in blame]
    agents = Agents(feasible, Softmax(0.1, 0.1), blame, draws)
    picks = SPACE.space.picks(agents.favourite())
    drawn = [int(d[p] > 0) for d, p in zip(draws, picks, strict=True)]
    most = [sum(d[p] > 0 for d, p in zip(draws, a, strict=True)) for a in EVERY]
    fits = [a in FITTING or feasible is FREE for a in EVERY]
    assert sum(drawn) == max(m for m, fit in zip(most, fits, strict=True) if fit)
    if feasible is FREE:
        assert picks in ((2, 1, 1), (2, 1, 2))


def test_an_option_that_never_lost_is_the_favourite() -> None:
    blame = [np.array([3.0, 0.0, 2.0]), np.array([0.0, 0.0, 0.0]), np.array([1.0, 2.0, 0.0])]
    draws = [np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 2.0]), np.array([1.0, 1.0, 1.0])]
    assert SPACE.space.picks(Agents(FREE, Zipf(), blame, draws).favourite()) == (1, 2, 2)


def test_an_agent_that_blames_nothing_draws_all_its_options_alike() -> None:
    rows = Agents(FREE, Zipf(), [BLAME[0], np.zeros(3), BLAME[2]]).probabilities()
    assert rows[1] == pytest.approx([1 / 3] * 3)
    assert rows[0] == pytest.approx(probabilities(Zipf(), BLAME[0]))


def test_what_agents_learn_changes_what_they_propose_under_a_limit() -> None:
    agents = Agents(LIMITED, Softmax(1.0, 0.0))
    before = agents.propose(4, np.random.default_rng(0)).marginals
    agents.learn([10 * row for row in BLAME], ONCE)
    after = agents.propose(4, np.random.default_rng(0)).marginals
    assert after[1][0] > before[1][0]
    assert after[1][0] > 0.9


def test_kin_change_the_recommendation_where_an_agent_has_seen_too_little() -> None:
    """Ten agents agree that option 2 loses least; the last saw it once, in a bad round."""
    space = tabular_space(2, 1, 11, (2, 3, 4)).feasible()
    excess = [np.array([0.5, 0.5, -1.0]) * 20 for _ in range(10)] + [np.array([2.0, -1.0, 0.5])]
    times = [np.full(3, 20.0)] * 10 + [np.array([2.0, 2.0, 1.0])]
    chosen = {}
    for kin in ((), kin_of(space.space, ())):
        agents = Agents(space, Zipf(), kin=kin)
        agents.learn(excess, times, times=times)
        agents.noise = 1.0
        chosen[bool(kin)] = space.space.picks(agents.favourite())
    assert chosen[False] == (2,) * 10 + (1,)
    assert chosen[True] == (2,) * 11


def learnt(feasible: FeasibleSet, rows: list[np.ndarray], noise: float, rounds: float) -> Agents:
    """Agents whose options have these mean excesses, each from so many rounds."""
    agents = Agents(feasible, Zipf())
    times = [np.full(len(row), rounds) for row in rows]
    agents.learn([np.zeros(len(row)) for row in rows], times, [rounds * r for r in rows], times)
    agents.noise = noise
    return agents


MEANS = st.lists(st.lists(st.floats(-1, 1), min_size=3, max_size=3), min_size=3, max_size=3)


@given(MEANS, st.sampled_from([FREE, LIMITED]))
def test_the_most_probable_network_of_what_is_recommended_is_the_favourite(
    means: list[list[float]], feasible: FeasibleSet
) -> None:
    agents = learnt(feasible, [np.array(row) for row in means], 0.5, 3.0)
    rows = agents.recommended()
    assert all(row.sum() == pytest.approx(1.0) for row in rows)
    favourite = SPACE.space.picks(agents.favourite())
    mode = SPACE.space.picks(feasible.best([np.log(row) for row in rows]))
    worth = [sum(means[i][p] for i, p in enumerate(picks)) for picks in (favourite, mode)]
    assert worth[0] == pytest.approx(worth[1], abs=1e-6)


def test_what_chance_alone_makes_is_recommended_nearly_equally() -> None:
    rng = np.random.default_rng(0)
    noise, rounds = 4.0, 25.0
    error = np.sqrt(noise / rounds)
    told = [rng.normal(0, error, 3) for _ in range(3)]
    unsure = learnt(FREE, told, noise, rounds).recommended()
    assert all(stats.entropy(row) > 0.9 * np.log(3) for row in unsure)
    sure = learnt(FREE, [np.array([0.0, 1.0, 1.0]) * 20 * error] * 3, noise, rounds).recommended()
    assert all(row[0] > 0.99 for row in sure)


def test_before_anything_is_known_all_is_recommended_alike() -> None:
    assert Agents(FREE, Zipf()).recommended() == [pytest.approx([1 / 3] * 3)] * 3
