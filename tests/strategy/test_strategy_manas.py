from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from edge_net import EdgeNet, edge_probe, edge_problem, edge_set, edge_space
from scipy import stats

from meritnas import darts_space
from meritnas.clock import Clock
from meritnas.engine.plan import make_plan
from meritnas.errors import UsageError
from meritnas.policy.agents import Proposals, Softmax, Zipf, exp3_exploration, exp3_rate
from meritnas.strategy.algorithms.manas import BlamedAgents
from meritnas.strategy.algorithms.manas_linear import RegressedAgents
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe

SIZES = (3, 2, 3)
JOINT, FROZEN = Clock(0, 10, "joint", 0, 10), Clock(0, 10, "frozen", 0, 10)
EXACT = {"policy_rate": 0.5, "exploration": 0.2}


def problem(steps: int = 100, chance_loss: float = 20.0) -> Problem:
    return edge_problem(edge_set(edge_space(SIZES)), steps, chance_loss=chance_loss)


def manas(name: str = "manas", **options: Any) -> BlamedAgents:
    found = strategy_spec(name, options).make(problem())
    assert isinstance(found, BlamedAgents)
    return found


def linear(name: str = "manas-ls", **options: Any) -> RegressedAgents:
    found = strategy_spec(name, options).make(problem())
    assert isinstance(found, RegressedAgents)
    return found


def path_of(gates: Any) -> list[int]:
    assert all(len(gate.active) == 1 for gate in gates)
    return [gate.active[0] for gate in gates]


def listening(probe: Probe) -> list[tuple[list[list[int]], list[float]]]:
    """What is judged from now on, and its losses."""
    heard: list[tuple[list[list[int]], list[float]]] = []
    losses = probe.losses

    def listened(picks: np.ndarray, batch: Any) -> np.ndarray:
        found = losses(picks, batch)
        heard.append((picks.tolist(), found.tolist()))
        return found

    probe.losses = listened  # type: ignore[method-assign]
    return heard


def test_a_round_judges_a_path_blames_its_options_and_trains_the_same_path() -> None:
    strategy, probe = manas(**EXACT), edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    before = [row.copy() for row in strategy.agents.blame]
    chances = strategy.agents.probabilities()
    learnt = strategy.update(probe, JOINT)
    ((picks,), (loss,)) = heard[0]
    scaled = loss / 20.0
    assert 0.0 < scaled < 1.0
    assert learnt is not None
    assert learnt.values["reward"] == pytest.approx(1.0 - scaled)
    for i, pick in enumerate(picks):
        change = strategy.agents.blame[i] - before[i]
        assert change[pick] == pytest.approx(scaled / chances[i][pick])
        assert np.delete(change, pick).tolist() == [0.0] * (len(change) - 1)
    assert path_of(strategy.sample(JOINT)) == picks
    strategy.update(probe, JOINT)
    assert path_of(strategy.sample(JOINT)) == heard[1][0][0]
    assert probe.passes == 2


def test_as_many_paths_as_workers_are_judged_on_one_batch_and_then_trained() -> None:
    strategy = strategy_spec("manas", EXACT).make(replace(problem(), workers=3))
    assert isinstance(strategy, BlamedAgents)
    probe = edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    learnt = strategy.update(probe, JOINT)
    ((picks, losses),) = heard
    assert len(picks) == 3
    assert learnt is not None
    assert learnt.values["used"] == 3.0
    assert learnt.values["reward"] == pytest.approx(1.0 - np.mean(losses) / 20.0)
    other = strategy_spec("manas", EXACT).make(replace(problem(), workers=3))
    other.load_state_dict(strategy.state_dict())
    for each in (strategy, other):
        assert [path_of(each.sample(JOINT)) for _ in range(3)] == picks


@pytest.mark.parametrize(("kept", "paths"), [(None, []), ([0, 1, 2], [[0, 1, 2]])])
def test_a_path_that_earlier_versions_kept_is_the_next_to_be_trained(
    kept: list[int] | None, paths: list[list[int]]
) -> None:
    strategy = manas()
    strategy.load_state_dict({**strategy.state_dict(), "judged": kept})
    assert strategy.state_dict()["judged"] == paths


def test_losses_are_divided_by_that_of_chance() -> None:
    probe = edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    strategy = strategy_spec("manas").make(problem(chance_loss=1e6))
    learnt = strategy.update(probe, JOINT)
    assert learnt is not None
    assert 1.0 - learnt.values["reward"] == pytest.approx(heard[0][1][0] / 1e6)
    strategy = strategy_spec("manas").make(problem(chance_loss=1e-9))
    learnt = strategy.update(probe, JOINT)
    assert learnt is not None
    assert learnt.values["reward"] == 0.0


def test_a_baseline_leaves_the_first_round_without_blame() -> None:
    strategy, probe = manas(baseline="average"), edge_probe(EdgeNet(SIZES))
    strategy.update(probe, JOINT)
    assert not any(row.any() for row in strategy.agents.blame)
    strategy.update(probe, JOINT)
    assert any(row.any() for row in strategy.agents.blame)


def test_a_baseline_blames_what_lost_more_than_before_and_praises_what_lost_less() -> None:
    signs = set()
    for number in range(8):
        strategy, probe = manas(baseline="average", **EXACT), edge_probe(EdgeNet(SIZES))
        strategy.rng = np.random.default_rng(number)
        heard = listening(probe)
        strategy.update(probe, JOINT)
        chances = strategy.agents.probabilities()
        strategy.update(probe, JOINT)
        (_, (before,)), ((picks,), (loss,)) = heard
        more = min(1.0, loss / 20.0) - min(1.0, before / 20.0)
        for row, own, pick in zip(strategy.agents.blame, chances, picks, strict=True):
            assert row[pick] == pytest.approx(more / own[pick])
        signs.add(more > 0)
    assert signs == {True, False}


def test_error_rates_can_be_the_blame() -> None:
    strategy, probe = manas(judged_by="error", **EXACT), edge_probe(EdgeNet(SIZES))
    probe.scores = lambda *_: np.array([0.75])  # type: ignore[method-assign]
    chances = strategy.agents.probabilities()
    learnt = strategy.update(probe, JOINT)
    assert learnt is not None
    assert learnt.values["reward"] == 0.75
    picks = path_of(strategy.sample(JOINT))
    for row, own, pick in zip(strategy.agents.blame, chances, picks, strict=True):
        assert row[pick] == pytest.approx(0.25 / own[pick])


def test_what_was_drawn_ahead_is_divided_by_the_chances_that_it_was_drawn_with() -> None:
    limited = edge_problem(edge_set(edge_space(SIZES), limit=7), chance_loss=20.0)
    strategy = strategy_spec("manas", {"policy_rate": 2.0, "exploration": 0.1}).make(limited)
    assert isinstance(strategy, BlamedAgents)
    probe = edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    drawn_with = strategy.agents.propose(1, np.random.default_rng(0)).marginals
    for _ in range(5):
        strategy.update(probe, JOINT)
        before = strategy.agents.blame
    now = strategy.agents.propose(1, np.random.default_rng(0)).marginals
    assert any(abs(a - b).max() > 0.1 for a, b in zip(now, drawn_with, strict=True))
    strategy.update(probe, JOINT)
    ((picks,), (loss,)) = heard[-1]
    scaled = min(1.0, loss / 20.0)
    for i, pick in enumerate(picks):
        added = strategy.agents.blame[i][pick] - before[i][pick]
        assert added == pytest.approx(scaled / drawn_with[i][pick])


def test_step_and_exploration_follow_from_rounds_and_options() -> None:
    short = strategy_spec("manas").make(problem(100))
    long = strategy_spec("manas").make(problem(400))
    assert isinstance(short, BlamedAgents)
    assert isinstance(long, BlamedAgents)
    assert isinstance(short.agents.sampling, Softmax)
    assert isinstance(long.agents.sampling, Softmax)
    assert short.agents.sampling.rate == pytest.approx(0.95 * np.sqrt(np.log(3) / 300))
    assert short.agents.sampling.exploration == pytest.approx(1.05 * np.sqrt(3 * np.log(3) / 100))
    assert short.agents.sampling.rate == pytest.approx(2 * long.agents.sampling.rate)


def test_estimates_are_as_many_as_losses_and_epochs_allow_and_set_step_and_exploration() -> None:
    """16 losses an estimate; 2 a step; one at most after each epoch, and one at least."""
    sizes = edge_set(edge_space(SIZES))
    for steps, epoch, estimates in ((100, 1, 12), (100, 20, 5), (100, 1000, 1), (4, 1, 1)):
        own = edge_problem(sizes, steps, epoch_steps=epoch)
        found = strategy_spec("manas-linear-softmax").make(own)
        assert isinstance(found, RegressedAgents)
        plan = make_plan(steps, found.turns, 1, epoch, warmup_share=0.0)
        assert plan.frozen * found.together == found.turns.most * found.together == 16 * estimates
        assert isinstance(found.agents.sampling, Softmax)
        assert found.agents.sampling.rate == exp3_rate(3, 16 * estimates)
        assert found.agents.sampling.exploration == exp3_exploration(3, 16 * estimates)


def test_rewards_of_a_regression_are_on_the_scale_of_its_losses() -> None:
    strategy, probe = linear(), edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    learnt = strategy.update(probe, FROZEN)
    assert learnt is not None
    assert learnt.values["reward"] == pytest.approx(1.0 - np.mean(heard[0][1]) / 20.0)


def test_what_was_derived_is_recorded() -> None:
    probe = edge_probe(EdgeNet(SIZES))
    learnt = manas(policy_rate=0.5, exploration=0.2).update(probe, JOINT)
    assert learnt is not None
    assert (learnt.values["eta"], learnt.values["gamma"]) == (0.5, 0.2)
    learnt = linear("manas-linear-softmax", exploration=0.1).update(probe, FROZEN)
    assert learnt is not None
    recorded = [learnt.values[name] for name in ("gamma", "samples", "chance_loss")]
    assert recorded == [0.1, 16.0, 20.0]


def test_an_estimate_takes_as_many_losses_as_were_asked_for() -> None:
    found = linear(samples=40)
    assert (found.turns.each_epoch or 0) * found.together == 40


@pytest.mark.parametrize(("memory", "kept"), [(0.0, 0.0), (0.25, 4.0)])
def test_memory_is_the_share_of_losses_that_the_next_estimate_has(
    memory: float, kept: float
) -> None:
    strategy, probe = linear(memory=memory), edge_probe(EdgeNet(SIZES))
    for _ in range(strategy.turns.each_epoch or 0):
        strategy.update(probe, FROZEN)
    seen = strategy.regression.state_dict()["seen"]
    assert [float(part.sum()) for part in seen.split(SIZES)] == [kept] * 3


def test_weights_are_trained_on_what_the_agents_think_now() -> None:
    strategy = linear("manas-linear-softmax", policy_rate=100.0, exploration=0.0)
    probe = edge_probe(EdgeNet(SIZES))
    strategy.sample(JOINT)
    for _ in range(strategy.turns.each_epoch or 0):
        strategy.update(probe, FROZEN)
    best = [int(row.argmin()) for row in strategy.agents.blame]
    assert all(path_of(strategy.sample(JOINT)) == best for _ in range(16))


def test_zipf_sampling_belongs_to_the_strategies_that_are_named_after_it() -> None:
    assert isinstance(manas("manas-coordinated-zipf").agents.sampling, Zipf)
    assert isinstance(linear("manas-ls").agents.sampling, Zipf)
    assert isinstance(linear("manas-linear-softmax").agents.sampling, Softmax)


def test_minds_change_when_there_are_more_losses_than_unknowns() -> None:
    strategy, probe = linear(), edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    turns = strategy.turns.each_epoch
    assert turns is not None
    assert turns * strategy.together > sum(SIZES)
    for _ in range(turns - 1):
        strategy.update(probe, FROZEN)
        assert not any(row.any() for row in strategy.agents.blame)
    strategy.update(probe, FROZEN)
    picks = np.array([row for call, _ in heard for row in call])
    losses = np.array([loss for _, call in heard for loss in call])
    onehot = [picks[:, [i]] == np.arange(size) for i, size in enumerate(SIZES)]
    batches = np.repeat(np.eye(turns), strategy.together, axis=0)
    design = np.concatenate([*onehot, batches], axis=1).astype(float)
    once = np.eye(8, design.shape[1])  # a draw of each option, at which nothing was lost or won
    losses = np.concatenate([losses, np.zeros(8)])
    found = np.linalg.lstsq(np.concatenate([design, once]), losses, rcond=None)[0]
    for row, own in zip(strategy.agents.blame, np.split(found[:8] / 20.0, [3, 5]), strict=True):
        assert row == pytest.approx(own, abs=1e-6)
    favourite = strategy.agents.favourite()
    best = [int(row.argmin()) for row in strategy.agents.blame]
    assert problem().feasible.space.picks(favourite) == tuple(best)
    assert strategy.beliefs()[0][best[0]] == pytest.approx(6 / 11)  # 1 / H_3


@pytest.mark.parametrize("name", ["manas", "manas-coordinated-zipf"])
def test_the_leader_has_the_least_mean_excess_of_options_weighted_by_their_chances(
    name: str,
) -> None:
    strategy, probe = manas(name), edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    chances = []
    for _ in range(60):
        chances.append(strategy.agents.probabilities())
        strategy.update(probe, JOINT)
        strategy.sample(JOINT)
    found = problem().feasible.space.picks(strategy.leader())
    losses = np.array([float(loss) / 20.0 for _, (loss,) in heard])
    decays = 0.9 ** np.arange(len(losses))[::-1]
    usual = [losses[0]]
    for n in range(1, len(losses)):
        usual.append((losses[:n] * decays[-n:]).sum() / decays[-n:].sum())
    excess = losses - usual
    for i, size in enumerate(SIZES):
        weights, sums = np.zeros(size), np.zeros(size)
        for ((picks,), _), rows, more in zip(heard, chances, excess, strict=True):
            weights[picks[i]] += 1 / rows[i][picks[i]]
            sums[picks[i]] += more / rows[i][picks[i]]
        assert found[i] == (sums / weights).argmin()
    assert found != tuple(int(row.argmin()) for row in strategy.agents.blame)


@pytest.mark.parametrize("name", ["manas-ls", "manas-linear-softmax"])
def test_an_agent_that_ever_drew_one_option_recommends_it(name: str) -> None:
    strategy, probe = linear(name), edge_probe(EdgeNet(SIZES))
    same = np.array([[2, 0, 0], [2, 1, 1], [2, 0, 2], [2, 1, 0]] * 2)
    strategy.agents.propose = lambda *_: Proposals(same, [])  # type: ignore[method-assign]
    for _ in range(strategy.turns.each_epoch or 0):
        strategy.update(probe, FROZEN)
    assert problem().feasible.space.picks(strategy.derive(probe)[0])[0] == 2


def test_what_was_not_drawn_ranks_last() -> None:
    strategy, probe = linear(samples=9), edge_probe(EdgeNet(SIZES))
    few = Proposals(np.array([[0, 0, 0], [1, 1, 1]] * 4), [])
    strategy.agents.propose = lambda *_: few  # type: ignore[method-assign]
    for _ in range(strategy.turns.each_epoch or 0):
        strategy.update(probe, FROZEN)
    for i in (0, 2):
        assert strategy.agents.blame[i].argmax() == 2
        assert strategy.beliefs()[i].argmin() == 2


@pytest.mark.parametrize(
    ("name", "times"), [("manas-ls", 1), ("manas-linear-softmax", 2 * 16)], ids=["ls", "softmax"]
)
def test_blame_for_ranks_is_the_last_estimate_and_for_softmax_the_sum_over_all_losses(
    name: str, times: int
) -> None:
    """Those that memory keeps were added before."""
    strategy, probe = linear(name, memory=0.5), edge_probe(EdgeNet(SIZES))
    found = [np.array([0.5, -0.5, 0.0]), np.array([0.1, -0.1]), np.array([0.0, 1.0, -1.0])]
    strategy.regression.solve = lambda: found  # type: ignore[method-assign]
    strategy.regression.seen = lambda: [row < 2 for row in found]  # type: ignore[method-assign]
    turns = strategy.turns.each_epoch or 0
    assert turns * strategy.together == 16
    for _ in range(2 * turns):
        strategy.update(probe, FROZEN)
    for row, own in zip(strategy.agents.blame, found, strict=True):
        assert row == pytest.approx(times * own)


def test_the_recommendation_may_be_a_draw() -> None:
    strategy = manas(final="draw", **EXACT)
    once = [np.ones(size) for size in SIZES]
    strategy.agents.learn([np.zeros(size) + 1e-12 for size in SIZES], once)
    probe = edge_probe(EdgeNet(SIZES))
    assert len({str(strategy.derive(probe)[0]) for _ in range(20)}) > 1
    certain = manas(**EXACT)
    certain.agents.learn([np.arange(size) + 1.0 for size in SIZES], once)
    assert {str(certain.derive(probe)[0]) for _ in range(5)} == {
        str(problem().feasible.space.architecture((0, 0, 0)))
    }


def test_a_draw_at_the_end_is_by_the_agents_choice_without_exploration() -> None:
    strategy, probe = manas(final="draw", **EXACT), edge_probe(EdgeNet(SIZES))
    blame = [np.arange(size) + 1.0 for size in SIZES]
    strategy.agents.learn(blame, [np.ones(size) for size in SIZES])
    space = problem().feasible.space
    picks = np.array([space.picks(strategy.derive(probe)[0]) for _ in range(2000)])
    for i, row in enumerate(blame):
        law = np.exp(-0.5 * row) / np.exp(-0.5 * row).sum()
        counts = np.bincount(picks[:, i], minlength=len(row))
        assert stats.chisquare(counts, 2000 * law).pvalue > 1e-4


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("manas", {"exploration": 1.5}, "exploration must lie between 0 and 1, got 1.5"),
        ("manas", {"policy_rate": 0.0}, "must be above 0 and finite, got 0.0"),
        ("manas", {"judged_by": "taste"}, "judged_by must be one of loss, error, got 'taste'"),
        ("manas", {"final": "best"}, "final must be one of mode, draw, got 'best'"),
        ("manas-ls", {"memory": 1.0}, "memory must be at least 0 and below 1, got 1.0"),
        ("manas-ls", {"samples": 8}, "more than options in all, .* must be at least 9, got 8"),
        ("manas-ls", {"exploration": 0.1}, "has no option 'exploration'"),
    ],
)
def test_options_that_make_no_sense(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        strategy_spec(name, options).make(problem())


def test_losses_of_an_estimate_are_more_than_options_and_batches_together_need() -> None:
    """61 losses on 8 batches cannot tell 57 differences."""
    wide = edge_problem(edge_set(edge_space((20, 20, 20))), 100)
    with pytest.raises(UsageError, match="must be at least 67, got 61"):
        strategy_spec("manas-ls", {"samples": 61}).make(wide)
    least = strategy_spec("manas-ls", {"samples": 67}).make(wide)
    assert isinstance(least, RegressedAgents)
    turns = least.turns.each_epoch or 0
    assert (least.together - 1) * turns > 57


@pytest.mark.parametrize(
    ("cells", "agents", "columns", "rank", "epochs"),
    [(8, 112, 896, 785, 3), (14, 196, 1568, 1373, 5), (20, 280, 2240, 1961, 6)],
)
def test_every_edge_of_unique_cells_has_its_own_agent(
    cells: int, agents: int, columns: int, rank: int, epochs: int
) -> None:
    """The paper's counts, and its epochs of 391 batches for more losses than columns."""
    feasible = darts_space(cells=cells, variant="unique").feasible()
    sizes = feasible.space.sizes
    assert feasible.space.count() == 8**agents
    assert sum(sizes) == columns
    assert sum(size - 1 for size in sizes) + 1 == rank
    assert columns // 391 + 1 == epochs
    found = strategy_spec("manas").make(Problem(feasible, {}, 100, 0))
    assert len(found.beliefs()) == agents
    assert {len(row) for row in found.beliefs()} == {8}


def test_networks_that_lose_more_than_chance_are_told_apart_at_the_end() -> None:
    strategy = strategy_spec("manas").make(problem(400, chance_loss=1e-3))
    assert isinstance(strategy, BlamedAgents)
    probe = edge_probe(EdgeNet(SIZES))
    heard = listening(probe)
    for _ in range(400):
        strategy.update(probe, JOINT)
        strategy.sample(JOINT)
    assert min(float(loss) for _, (loss,) in heard) > 1e-3
    blame = [
        row / draws for row, draws in zip(strategy.agents.blame, strategy.agents.draws, strict=True)
    ]
    assert all(np.allclose(row, 1.0) for row in blame)  # all are cut to the same
    picks = problem().feasible.space.picks(strategy.leader())
    best = min(float(loss) for _, (loss,) in heard)
    worst = max(float(loss) for _, (loss,) in heard)
    found = float(probe.held_out_loss(np.array(picks)))
    assert found < best + 0.25 * (worst - best)


@pytest.mark.parametrize("name", ["manas", "manas-coordinated-zipf"])
def test_agents_believe_what_they_recommend_and_not_what_they_draw_by(name: str) -> None:
    strategy, probe = manas(name), edge_probe(EdgeNet(SIZES))
    for _ in range(60):
        strategy.update(probe, JOINT)
        strategy.sample(JOINT)
    space = problem().feasible.space
    likely = space.architecture([int(row.argmax()) for row in strategy.beliefs()])
    assert likely == strategy.leader()
    drawn = strategy.agents.probabilities()
    assert likely != space.architecture([int(row.argmax()) for row in drawn])
