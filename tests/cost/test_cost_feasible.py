from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from brute_force import (
    Problem,
    any_problems,
    cost_of,
    log_softmax,
    log_sum,
    plain_space,
    random_terms,
    rows_for,
    ruled_space,
    total,
)
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from meritnas.cost.diagram import Diagram
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import Limit, chain_terms
from meritnas.errors import InfeasibleError, SpaceError, UsageError
from meritnas.families.tabular.family import tabular_space
from meritnas.space.decision import Decision
from meritnas.space.rule import Levels
from meritnas.space.space import Space

many = settings(max_examples=200, suppress_health_check=[HealthCheck.filter_too_much])
some = settings(max_examples=80, suppress_health_check=[HealthCheck.filter_too_much])


@many
@given(any_problems())
def test_the_set_is_what_enumeration_finds(problem: Problem) -> None:
    fitting = problem.fitting()
    if not fitting:
        with pytest.raises(InfeasibleError):
            problem.feasible()
        return
    feasible = problem.feasible()
    everything = problem.all_picks()
    assert feasible.exact
    assert feasible.note == ""
    assert feasible.count() == len(fitting)
    assert feasible.share() == pytest.approx(len(fitting) / len(everything))
    inside = [problem.fits(picks) for picks in everything]
    assert feasible.contains(np.array(everything)).tolist() == inside
    product = np.array(problem.product())
    assert [tuple(row) for row in product[feasible.contains(product)].tolist()] == fitting
    for picks, is_in in zip(everything[:20], inside, strict=False):
        assert feasible.admits(problem.space.architecture(picks)) == is_in
    for i, kept in enumerate(feasible.reachable()):
        assert kept.tolist() == sorted({picks[i] for picks in fitting})


@many
@given(st.data())
def test_probabilities_are_what_enumeration_finds(data: st.DataObject) -> None:
    problem = data.draw(any_problems())
    fitting = problem.fitting()
    assume(fitting)
    logits = data.draw(rows_for(problem))
    feasible = problem.feasible()
    log_probs = [log_softmax(row) for row in logits]
    weights = [total(log_probs, picks) for picks in fitting]
    expected = log_sum(weights)
    assert feasible.probability(logits) == pytest.approx(np.exp(expected), rel=1e-9, abs=1e-300)
    if expected == -np.inf:
        with pytest.raises(InfeasibleError, match="no probability to any feasible"):
            feasible.condition(logits)
        return
    law = feasible.condition(logits)
    assert law.log_probability == pytest.approx(expected, rel=1e-9, abs=1e-9)
    marginals = [np.zeros(size) for size in problem.space.sizes]
    for picks, weight in zip(fitting, weights, strict=True):
        for i, pick in enumerate(picks):
            marginals[i][pick] += np.exp(weight - expected)
    for row, found in zip(marginals, feasible.marginals(logits), strict=True):
        np.testing.assert_allclose(found, row, rtol=1e-9, atol=1e-12)


@many
@given(st.data())
def test_the_best_and_the_mode_are_what_enumeration_finds(data: st.DataObject) -> None:
    problem = data.draw(any_problems())
    fitting = problem.fitting()
    assume(fitting)
    rows = data.draw(rows_for(problem))
    feasible = problem.feasible()
    for found, values in (
        (feasible.best(rows), rows),
        (feasible.mode(rows), [log_softmax(row) for row in rows]),
    ):
        picks = problem.space.picks(found)
        assert picks in fitting
        top = max(total(values, other) for other in fitting)
        assert total(values, picks) == pytest.approx(top, rel=1e-12, abs=1e-9)


@many
@given(st.data())
def test_the_k_best_are_what_enumeration_finds(data: st.DataObject) -> None:
    problem = data.draw(any_problems())
    fitting = problem.fitting()
    assume(fitting)
    rows = data.draw(rows_for(problem))
    k = data.draw(st.integers(1, len(fitting) + 2))
    found = [problem.space.picks(each) for each in problem.feasible().k_best(rows, k)]
    assert len(set(found)) == len(found) == min(k, len(fitting))
    assert set(found) <= set(fitting)

    def worth(picks: tuple[int, ...]) -> tuple[int, float]:
        own = [float(row[pick]) for row, pick in zip(rows, picks, strict=True)]
        return -own.count(-np.inf), sum(each for each in own if each > -np.inf)

    expected = sorted(map(worth, fitting), reverse=True)[:k]
    assert [worth(picks)[0] for picks in found] == [lost for lost, _ in expected]
    finite = [worth(picks)[1] for picks in found]
    assert finite == pytest.approx([each for _, each in expected], rel=1e-9, abs=1e-9)


def test_equally_good_ones_are_in_the_order_of_their_picks() -> None:
    feasible = FeasibleSet(plain_space((2, 3, 2)), {})
    rows = [np.array([0.0, 0.0]), np.array([0.0, 1.0, 1.0]), np.array([2.0, 2.0])]
    found = [feasible.space.picks(each) for each in feasible.k_best(rows, 12)]
    assert found[:8] == [(a, b, c) for a in (0, 1) for b in (1, 2) for c in (0, 1)]
    assert found[8:] == [(a, 0, c) for a in (0, 1) for c in (0, 1)]
    assert [feasible.space.picks(each) for each in feasible.k_best(rows, 5)] == found[:5]


def test_the_k_best_of_decisions_that_are_read_in_another_order() -> None:
    sizes, order = (2, 3, 4), (2, 0, 1)
    diagram = Diagram(tuple(np.zeros((1, sizes[i]), dtype=np.intp) for i in order), order)
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=size) for size in sizes]
    everything = np.array(list(np.ndindex(*sizes)))
    sums = np.array([total(rows, tuple(picks)) for picks in everything])
    np.testing.assert_array_equal(diagram.k_best(rows, 9), everything[np.argsort(-sums)[:9]])


@some
@given(st.data())
def test_every_sample_is_feasible_and_possible(data: st.DataObject) -> None:
    problem = data.draw(any_problems())
    fitting = problem.fitting()
    assume(fitting)
    logits = data.draw(rows_for(problem))
    possible = {picks for picks in fitting if total(logits, picks) > -np.inf}
    assume(possible)
    drawn = problem.feasible().sample(logits, 50, seed=data.draw(st.integers(0, 1000)))
    assert len(drawn) == 50
    assert {problem.space.picks(architecture) for architecture in drawn} <= possible


@some
@given(st.data())
def test_onehot_minus_marginals_is_the_gradient_of_the_log_probability(
    data: st.DataObject,
) -> None:
    problem = data.draw(any_problems())
    fitting = problem.fitting()
    assume(fitting)
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    logits = [torch.tensor(rng.normal(size=s), requires_grad=True) for s in problem.space.sizes]
    picks = fitting[rng.integers(len(fitting))]

    def log_probability(chosen: tuple[int, ...]) -> torch.Tensor:
        return sum(  # type: ignore[return-value]
            row.log_softmax(0)[pick] for row, pick in zip(logits, chosen, strict=True)
        )

    log_p_v = torch.logsumexp(torch.stack([log_probability(v) for v in fitting]), 0)
    gradients = torch.autograd.grad(log_probability(picks) - log_p_v, logits)
    marginals = problem.feasible().marginals([row.detach().numpy() for row in logits])
    for gradient, row, pick in zip(gradients, marginals, picks, strict=True):
        onehot = np.eye(len(row))[pick]
        np.testing.assert_allclose(onehot - row, gradient.numpy(), atol=1e-10)


def fixed_problem() -> Problem:
    rng = np.random.default_rng(4)
    sizes = (3, 4, 3)
    costs = {name: random_terms(sizes, rng, 1, 30, 1.0) for name in "ab"}
    limits = (Limit("a", 120), Limit("b", 85))
    return Problem(plain_space(sizes), costs, limits)


def test_samples_follow_the_conditional_law() -> None:
    problem = fixed_problem()
    fitting = problem.fitting()
    assert 5 < len(fitting) < 22
    logits = [np.array([0.5, -1.0, 0.2]), np.array([0.0, 1.0, -0.5, 0.3]), np.array([2.0, 0, 1.0])]
    weights = np.array([np.exp(total(logits, picks)) for picks in fitting])
    drawn = problem.feasible().condition(logits).sample(20_000, np.random.default_rng(0))
    counts = [int((drawn == picks).all(axis=1).sum()) for picks in fitting]
    assert sum(counts) == 20_000
    expected = 20_000 * weights / weights.sum()
    assert stats.chisquare(counts, expected).pvalue > 0.001


def test_samples_follow_the_conditional_law_under_extreme_logits() -> None:
    problem = fixed_problem()
    # The favourite option of the first decision is 400 nats away from the rest.
    logits = [np.array([-400.0, 0.3, -0.2]), np.zeros(4), np.array([-300.0, 0.0, 0.4])]
    fitting = problem.fitting()
    weights = np.array([np.exp(total(logits, picks)) for picks in fitting])
    drawn = problem.feasible().condition(logits).sample(20_000, np.random.default_rng(1))
    counts = np.array([(drawn == picks).all(axis=1).sum() for picks in fitting])
    assert counts.sum() == 20_000
    seen = weights > 1e-12
    assert counts[~seen].sum() == 0
    expected = 20_000 * weights[seen] / weights[seen].sum()
    assert stats.chisquare(counts[seen], expected).pvalue > 0.001


def test_the_same_seed_gives_the_same_samples() -> None:
    feasible = fixed_problem().feasible()
    zeros = [np.zeros(size) for size in feasible.space.sizes]
    assert feasible.sample(zeros, 30, 5) == feasible.sample(zeros, 30, 5)
    assert feasible.sample(zeros, 30, 5) != feasible.sample(zeros, 30, 6)


@some
@given(any_problems())
def test_a_limit_below_the_cheapest_names_the_cheapest_and_its_cost(problem: Problem) -> None:
    name = problem.limits[0].name
    terms = problem.costs[name]
    least = min(cost_of(terms, picks) for picks in problem.all_picks())
    FeasibleSet(problem.space, problem.costs, [Limit(name, least)])
    with pytest.raises(InfeasibleError) as caught:
        FeasibleSet(problem.space, problem.costs, [Limit(name, least - 1)])
    message = str(caught.value)
    cheapest = [p for p in problem.all_picks() if cost_of(terms, p) == least]
    assert any(f"{problem.space.architecture(p)} with {least:,}" in message for p in cheapest)
    assert f"{least - 1:,} things" in message


@pytest.mark.parametrize("decisions", [1, 2, 3])
def test_two_limits_that_hold_alone_may_not_hold_together(decisions: int) -> None:
    space = plain_space((2,) * decisions)
    zeros = (np.zeros(2, dtype=np.int64),) * (decisions - 1)
    nothing = (None,) * (decisions - 1)
    costs = {
        "up": chain_terms(0, (*zeros, np.array([0, 10])), nothing, "things"),
        "down": chain_terms(0, (*zeros, np.array([10, 0])), nothing, "things"),
    }
    for name in costs:
        assert FeasibleSet(space, costs, [Limit(name, 5)]).count() == 2 ** (decisions - 1)
    with pytest.raises(InfeasibleError, match="up <= 5 and down <= 5"):
        FeasibleSet(space, costs, [Limit("up", 5), Limit("down", 5)])


def test_without_limits_everything_is_feasible() -> None:
    space = plain_space((2, 3, 4))
    feasible = FeasibleSet(space, {})
    assert feasible.count() == 24
    assert feasible.probability([np.array([3.0, -1]), np.zeros(3), np.ones(4)]) == pytest.approx(1)
    rows = [np.array([0.0, 1.0]), np.array([2.0, 1.0, 0.0]), np.array([0.0, 0.0, 5.0, 1.0])]
    assert feasible.best(rows).text == "o1-o0-o2"
    for row, found in zip(rows, feasible.marginals(rows), strict=True):
        np.testing.assert_allclose(found, np.exp(log_softmax(row)))


def test_rows_of_other_sizes_are_refused() -> None:
    feasible = FeasibleSet(plain_space((2, 3)), {})
    with pytest.raises(SpaceError, match=r"sizes \(2, 3\)"):
        feasible.probability([np.zeros(3), np.zeros(2)])
    with pytest.raises(SpaceError, match="is needed"):
        feasible.best([np.zeros(2)])


def test_counts_beyond_64_bits_are_exact() -> None:
    assert FeasibleSet(plain_space((10,) * 30), {}).count() == 10**30
    ones = chain_terms(0, (np.array([0, 1]),) * 80, (None,) * 79, "things")
    space = plain_space((2,) * 80)
    assert FeasibleSet(space, {"c": ones}, [Limit("c", 2)]).count() == 1 + 80 + 80 * 79 // 2


def test_samples_follow_the_conditional_law_under_a_rule() -> None:
    """Two nodes that keep two edges, two limits: nothing is uniform about the draws."""
    rng = np.random.default_rng(7)
    space = ruled_space([[False, True, True]] * 2 + [[False, True, True]] * 3, (2, 3), 2)
    costs = {name: random_terms(space.sizes, rng, 1, 30, 1.0) for name in "ab"}
    bounds = Problem(space, costs, ()).all_picks()
    limits = tuple(
        Limit(name, int(np.quantile(terms.of(np.array(bounds)), 0.8)))
        for name, terms in costs.items()
    )
    problem = Problem(space, costs, limits)
    fitting = problem.fitting()
    assert 10 < len(fitting) < len(bounds) == 48
    logits = [rng.normal(size=size) for size in space.sizes]
    weights = np.array([np.exp(total(logits, picks)) for picks in fitting])
    drawn = problem.feasible().condition(logits).sample(20_000, np.random.default_rng(0))
    counts = [int((drawn == picks).all(axis=1).sum()) for picks in fitting]
    assert sum(counts) == 20_000
    expected = 20_000 * weights / weights.sum()
    assert stats.chisquare(counts, expected).pvalue > 0.001


def test_without_limits_the_feasible_set_of_two_darts_cells_is_the_space() -> None:
    edge = [False] + [True] * 7
    space = ruled_space([edge] * 28, (2, 3, 4, 5) * 2, 2)
    feasible = FeasibleSet(space, {})
    assert feasible.exact
    assert feasible.count() == space.count() == 1_076_746_950_455_072_400
    # Of a node's n edges two are there: P(V) under uniform logits, and each edge's chance to be.
    zeros = [np.zeros(8)] * 28
    assert feasible.probability(zeros) == pytest.approx(space.count() / 8**28, rel=1e-9)
    marginals = feasible.marginals(zeros)
    for start, edges in ((0, 2), (2, 3), (5, 4), (9, 5), (14, 2), (16, 3), (19, 4), (23, 5)):
        for row in marginals[start : start + edges]:
            np.testing.assert_allclose(row[1:], 2 / edges / 7)


def test_the_strongest_two_edges_of_each_node_win() -> None:
    space = ruled_space([[False, True, True]] * 9, (2, 3, 4), 2)
    rng = np.random.default_rng(0)
    scores = [np.append(0.0, rng.uniform(size=2)) for _ in range(9)]
    found = space.picks(FeasibleSet(space, {}).best(scores))
    for start, edges in ((0, 2), (2, 3), (5, 4)):
        best = [row.max() for row in scores[start : start + edges]]
        kept = [pick > 0 for pick in found[start : start + edges]]
        assert sorted(np.array(best)[kept]) == sorted(best)[-2:]
    for row, pick in zip(scores, found, strict=True):
        assert pick in (0, int(row.argmax()))


def test_a_rule_may_end_in_any_state_but_only_the_first_is_valid() -> None:
    """How often the second option is picked must be a multiple of 3."""

    class Modulo:
        def levels(self, decisions: Sequence[Decision]) -> Levels:
            steps = np.array([[(state + option) % 3 for option in (0, 1)] for state in range(3)])
            return (steps,) * len(decisions)

    plain = plain_space((2,) * 4)
    space = Space(plain.decisions, plain.text, Modulo())
    costs = {"c": chain_terms(0, (np.array([1, 2]),) * 4, (None,) * 3, "things")}
    valid = [p for p in Problem(plain, {}, ()).product() if sum(p) % 3 == 0]
    assert len(valid) == 5
    assert space.count() == FeasibleSet(space, {}).count() == 5
    assert FeasibleSet(space, costs, [Limit("c", 6)]).count() == 1
    assert FeasibleSet(space, costs, [Limit("c", 7)]).count() == 5


def members(feasible: FeasibleSet, picks: np.ndarray) -> np.ndarray:
    """Which rows are paths through the diagram."""
    states = np.zeros(len(picks), dtype=np.int64)
    alive = np.ones(len(picks), dtype=bool)
    for i, level in enumerate(feasible.diagram.levels):
        states = level[np.where(alive, states, 0), picks[:, i]]
        alive &= states != feasible.diagram.states_after(i)
    return alive


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limits", [1, 2])
def test_a_coarse_grid_breaks_no_limit_and_loses_only_what_it_says(seed: int, limits: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (6,) * 5
    space = plain_space(sizes)
    everything = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, 5)
    costs = {f"c{k}": random_terms(sizes, rng, 1, 100_000, 1.0) for k in range(limits)}
    totals = {name: terms.of(everything) for name, terms in costs.items()}
    bounds = [Limit(name, int(np.quantile(t, 0.6))) for name, t in totals.items()]
    feasible = FeasibleSet(space, costs, bounds, max_transitions=2500 if limits == 1 else 3000)
    assert not feasible.exact
    inside = members(feasible, everything)
    fits = np.logical_and.reduce([totals[e.name] <= e.maximum for e in bounds])
    assert not (inside & ~fits).any()
    assert 0 < inside.sum() < fits.sum()
    assert feasible.count() == inside.sum()
    counted = feasible._missed
    missed = {e.name: counted[e.name].missed if e.name in counted else 0 for e in bounds}
    for name, lost in missed.items():
        if lost:
            assert f"{name} counted in steps" in feasible.note
            assert f"within {lost:,}" in feasible.note
    certain = np.logical_and.reduce([totals[e.name] <= e.maximum - missed[e.name] for e in bounds])
    assert certain.any()
    assert not (certain & ~inside).any()
    if limits == 1:
        assert inside[int(np.argmin(totals["c0"]))]
    zeros = [np.zeros(size) for size in sizes]
    assert members(feasible, feasible.condition(zeros).sample(500, rng)).all()
    assert feasible.contains(feasible.condition(zeros).sample(500, rng)).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_coarse_grid_keeps_the_cheapest_even_when_the_limit_is_the_cheapest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = (6,) * 5
    terms = random_terms(sizes, rng, 1, 100_000, 1.0)
    everything = np.stack(np.meshgrid(*map(np.arange, sizes), indexing="ij"), -1).reshape(-1, 5)
    totals = terms.of(everything)
    for most in (int(totals.min()), int(np.quantile(totals, 0.5))):
        feasible = FeasibleSet(plain_space(sizes), {"c": terms}, [Limit("c", most)], 2500)
        assert members(feasible, everything)[int(np.argmin(totals))]


def test_a_space_too_large_for_its_limits_says_so() -> None:
    rng = np.random.default_rng(0)
    sizes = (6,) * 5
    costs = {f"c{k}": random_terms(sizes, rng, 1, 100_000, 1.0) for k in range(3)}
    bounds = [Limit(name, 10**7) for name in costs]
    tight = [Limit(bound.name, 300_000) for bound in bounds]
    with pytest.raises(InfeasibleError, match="too large for its limits"):
        FeasibleSet(plain_space(sizes), costs, tight, max_transitions=5)
    with pytest.raises(InfeasibleError, match=r"no architecture found .* steps of"):
        FeasibleSet(plain_space(sizes), costs, tight, max_transitions=12)


@pytest.mark.parametrize("row", [[-np.inf, -np.inf, -np.inf], [np.nan, 0.0, 0.0], [np.inf, 0, 0]])
def test_logits_without_a_finite_largest_entry_are_refused(row: list[float]) -> None:
    feasible = tabular_space(4, 1, 2, (2, 3, 4)).feasible(max_params=40)
    with pytest.raises(SpaceError, match="layer2"):
        feasible.probability([np.zeros(3), np.array(row)])


@pytest.mark.parametrize("most", [10**12, 2**63, 10**30])
def test_a_limit_beyond_all_networks_is_exact(most: int) -> None:
    feasible = tabular_space(64, 10).feasible(max_params=most, max_flops=most)
    assert feasible.exact
    assert feasible.count() == 8000
    with pytest.raises(UsageError, match="max_params must be a whole number, got inf"):
        tabular_space(64, 10).feasible(max_params=float("inf"))
    with pytest.raises(SpaceError, match="limit on params must be a whole number, got inf"):
        tabular_space(64, 10).within({"params": float("inf")})  # type: ignore[dict-item]
