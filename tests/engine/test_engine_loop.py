from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.engine import loop
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan, make_plan
from meritnas.engine.record import Record
from meritnas.errors import DivergedError
from meritnas.settings.recipe import TrainRecipe, default_batch_size
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.strategy.strategy import Learnt
from meritnas.strategy.turns import AFTER_WEIGHTS, WITH_WEIGHTS, Turns
from meritnas.supernet.probe import Probe

FAMILY = tabular_space(3, 1, 3, (2, 3, 4, 5))


def mean_square(
    outputs: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    losses = (outputs[:, 0] - target).square()
    return losses.mean() if weights is None else (losses * weights).mean()


def search_of(plan: Plan, strategy: str = "tabnas", **recipe: Any) -> Search:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(64, 3, generator=generator)
    part = Part(rows, rows[:, 0] * rows[:, 1])
    supernet = FAMILY.supernet(0)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    probe = Probe(supernet, mean_square, *streams, part)
    problem = Problem(FAMILY.feasible(max_params=60), FAMILY.costs, plan.joint, 0)
    rng = np.random.default_rng(0)
    chosen = strategy_spec(strategy).make(problem)
    return Search(supernet, probe, chosen, TrainRecipe(batch_size=8, **recipe), plan, rng)


def listen_to_nothing(event: dict[str, Any]) -> None:
    del event


def test_in_warmup_all_weights_are_trained_with_a_chance_that_falls_from_one_to_zero(
    tmp_path: Path,
) -> None:
    search = search_of(Plan(warmup=600, joint=200, frozen=0))
    whole = search.supernet.whole()
    loss, update = search.probe.loss, search.strategy.update
    trained_whole: list[bool] = []
    updates: list[Clock] = []

    def watched_loss(gates: Any, batch: Any, weights: Any) -> torch.Tensor:
        trained_whole.append(gates == whole)
        return loss(gates, batch, weights)

    def watched_update(probe: Any, clock: Clock) -> Any:
        updates.append(clock)
        return update(probe, clock)

    search.probe.loss = watched_loss  # type: ignore[method-assign]
    search.strategy.update = watched_update  # type: ignore[method-assign]
    run_search(search, RunStore.create(tmp_path / "run", {}), listen_to_nothing)
    assert trained_whole[0]
    by_chance = 1 / 64  # how often a uniform path is the whole supernet
    for quarter in range(4):
        seen = trained_whole[150 * quarter : 150 * (quarter + 1)]
        chance = 1 - (quarter + 0.5) / 4
        expected = chance + (1 - chance) * by_chance
        assert abs(np.mean(seen) - expected) < 4 * np.sqrt(expected * (1 - expected) / 150)
    assert sum(trained_whole[600:]) < 30
    assert [clock.step for clock in updates] == list(range(600, 800))
    assert all(clock.phase == "joint" for clock in updates)


def test_the_first_quarter_is_warmup_and_frozen_judgements_are_paid_for() -> None:
    plan = make_plan(400, WITH_WEIGHTS, 5)
    assert (plan.warmup, plan.joint, plan.frozen) == (100, 300, 0)
    assert make_plan(400, AFTER_WEIGHTS, 5) == Plan(100, 300, 60)
    assert make_plan(40, AFTER_WEIGHTS, 100).frozen == 30
    assert make_plan(400, AFTER_WEIGHTS, 0).frozen == 300
    assert make_plan(400, Turns("frozen", most=7), 5).frozen == 7


def test_turns_after_every_epoch_make_rounds() -> None:
    plan = make_plan(400, Turns("frozen", each_epoch=4), 5, epoch_steps=90)
    assert plan == Plan(100, 300, 12, rounds=3)
    assert make_plan(40, Turns("frozen", each_epoch=4), 5, epoch_steps=90) == Plan(10, 30, 4)
    few = Turns("frozen", most=9, each_epoch=4)
    assert make_plan(400, few, 5, epoch_steps=90) == Plan(100, 300, 8, rounds=2)
    assert make_plan(400, Turns("frozen", most=3, each_epoch=4), 5, epoch_steps=90).rounds == 1
    never = Turns("frozen", each_epoch=0)
    assert make_plan(400, never, 5, epoch_steps=90).frozen == 0


@pytest.mark.parametrize("start", range(13))
def test_rounds_alternate_and_count_on_within_their_phase(start: int) -> None:
    plan = Plan(warmup=1, joint=7, frozen=4, rounds=2)
    clocks = list(plan.clocks(0))
    assert "".join(clock.phase[0] for clock in clocks) == "w" + "jjjff" + "jjjjff"
    assert [c.phase_step for c in clocks if c.phase == "joint"] == list(range(7))
    assert [c.phase_step for c in clocks if c.phase == "frozen"] == list(range(4))
    assert [c.step for c in clocks] == list(range(12))
    assert list(plan.clocks(start)) == clocks[start:]
    assert Plan(**plan.to_json()) == plan


@pytest.mark.parametrize("start", [0, 2, 3, 6, 8, 10])
def test_a_plan_goes_through_its_phases_from_any_step(start: int) -> None:
    plan = Plan(warmup=3, joint=5, frozen=2)
    phases = ["warmup"] * 3 + ["joint"] * 5 + ["frozen"] * 2
    within = [0, 1, 2, 0, 1, 2, 3, 4, 0, 1]
    lengths = {"warmup": 3, "joint": 5, "frozen": 2}
    clocks = list(plan.clocks(start))
    assert [clock.step for clock in clocks] == list(range(start, 10))
    assert [clock.phase for clock in clocks] == phases[start:]
    assert [clock.phase_step for clock in clocks] == within[start:]
    assert all(clock.phase_steps == lengths[clock.phase] for clock in clocks)
    assert all(clock.steps == 10 for clock in clocks)
    assert Plan(**plan.to_json()) == plan


def test_the_rate_falls_along_a_cosine_over_the_weight_steps(tmp_path: Path) -> None:
    search = search_of(Plan(warmup=5, joint=5, frozen=3), "random", learning_rate=0.01)
    step = search.optimizer.step
    rates: list[float] = []

    def watched(leaves: Any, grads: Any, rate: float, parts: Any) -> None:
        rates.append(rate)
        step(leaves, grads, rate, parts)

    search.optimizer.step = watched  # type: ignore[method-assign]
    run_search(search, RunStore.create(tmp_path / "run", {}), listen_to_nothing)
    expected = [0.005 * (1 + np.cos(np.pi * k / 10)) for k in range(10)]
    assert rates == pytest.approx(expected)
    constant = TrainRecipe(learning_rate=0.002, schedule="constant")
    assert constant.rate_at(7, 10) == 0.002


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    plan = Plan(warmup=100, joint=900, frozen=0)
    search = search_of(plan, learning_rate=0.02, weight_decay=0.0)
    store = RunStore.create(tmp_path / "run", {})
    run_search(search, store, listen_to_nothing)
    losses = [event["train_loss"] for event in store.events()]
    target = search.probe._held.target
    of_knowing_nothing = float(target.var())
    assert np.mean(losses[-20:]) < 0.8 * of_knowing_nothing


def test_a_checkpoint_holds_the_state_after_the_last_event_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    plan = Plan(warmup=4, joint=10, frozen=0)
    store = RunStore.create(tmp_path / "run", {})

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_search(search_of(plan), store, stumble)
    assert [event["step"] for event in store.events()] == list(range(1, 10))
    state = store.read_checkpoint()
    assert state is not None
    assert state["step"] == 8
    store.continue_events(state["events_size"])
    assert [event["step"] for event in store.events()] == list(range(1, 9))


def test_long_searches_have_about_a_hundred_events(tmp_path: Path) -> None:
    store = RunStore.create(tmp_path / "run", {})
    run_search(search_of(Plan(warmup=10, joint=891, frozen=0)), store, listen_to_nothing)
    steps = [event["step"] for event in store.events()]
    assert 100 <= len(steps) <= 130
    assert steps[-1] == 901


@pytest.mark.parametrize(("rows", "size"), [(10, 32), (2559, 32), (2560, 64), (10**6, 512)])
def test_batches_grow_with_the_table(rows: int, size: int) -> None:
    assert default_batch_size(rows) == size


def test_events_tell_how_likely_a_draw_fits_where_some_do_not(tmp_path: Path) -> None:
    plan = Plan(warmup=2, joint=20, frozen=0)
    for name, most in (("limit", 60), ("above", 10_000)):
        store = RunStore.create(tmp_path / name, {})
        feasible = FAMILY.feasible(max_params=most)
        run_search(search_of(plan), store, listen_to_nothing, feasible)
        told = [event.get("feasible_probability") for event in store.events()]
        if name == "above":  # everything fits
            assert set(told) == {None}
            continue
        for event, chance in zip(store.events(), told, strict=True):
            with np.errstate(divide="ignore"):
                rows = [np.log(row) for row in event["beliefs"]]
            assert chance == pytest.approx(feasible.probability(rows), abs=1e-4)
        assert 0 < told[0] < 1


@pytest.mark.parametrize("what", ["loss", "reward", "belief"])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_nothing_that_is_no_number_is_written_down(
    monkeypatch: pytest.MonkeyPatch, what: str, value: float
) -> None:
    search = search_of(Plan(warmup=1, joint=1, frozen=0))
    record, clock = Record(every=1), next(iter(search.plan.clocks(0)))
    beliefs = search.strategy.beliefs()
    record.trained(torch.tensor(value if what == "loss" else 0.5))
    record.learnt(Learnt({"reward": value if what == "reward" else 0.5}))
    if what == "belief":
        beliefs[0][0] = value
    monkeypatch.setattr(search.strategy, "beliefs", lambda: beliefs)
    with pytest.raises(DivergedError):
        record.event(clock, search.strategy, search.probe)
