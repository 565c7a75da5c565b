"""What every strategy must keep, now and later: plain functions that take a name and options.

All run real searches, a few dozen steps long, on a small made-up table. `CHECKS` lists them.
"""

from __future__ import annotations

import functools
import itertools
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas.cost.feasible import FeasibleSet
from meritnas.data.bundle import Bundle
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.engine.loop import Search, run_search
from meritnas.engine.start import make_search
from meritnas.errors import UsageError
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import Ground, make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_spec
from meritnas.supernet.supernet import module_of

Options = Mapping[str, Any]
STEPS = 24
LIMIT = 90
WIDTHS = ((2, 3, 5, 8),) * 2


@functools.cache
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    frame["kind"] = rng.choice(["p", "q", "r"], size=90)
    noise = rng.normal(size=90)
    frame["y"] = np.where(frame["a"] * frame["b"] + 0.3 * noise > 0, "up", "down")
    return make_bundle(load_source(frame, "y"), seed=0)


def settings_of(
    name: str, options: Options, limits: Mapping[str, int] | None = None, seed: int = 0
) -> SearchSettings:
    return SearchSettings(
        # Else a limit would make embeddings narrower, and costs with them.
        space=Tabular(layers=2, widths=WIDTHS, embedding=2),
        strategy=strategy_spec(name, options),
        reading=TableReading(),
        limits={"params": LIMIT} if limits is None else limits,
        recipe=TrainRecipe(learning_rate=0.02, batch_size=8),
        seed=seed,
    )


def new_search(settings: SearchSettings) -> tuple[Search, Ground]:
    family = make_family(settings, bundle().encoder, bundle().task)
    ground = make_ground(family, dict(settings.limits))
    return make_search(settings, ground, bundle(), None, STEPS), ground


def run(
    search: Search,
    folder: Path,
    listen: Callable[[dict[str, Any]], None] = lambda _: None,
    feasible: FeasibleSet | None = None,
    copied_at: Collection[int] = (),
) -> list[Architecture]:
    """Runs a search, or what is left of it; beside it, what kills after these steps would leave."""

    def hear(event: dict[str, Any]) -> None:
        if event["step"] in copied_at:
            store.write_checkpoint(search.state_dict())
            shutil.copytree(folder, folder.parent / str(event["step"]))
            # What happened between the checkpoint and the kill is done again.
            with (folder.parent / str(event["step"]) / "events.jsonl").open("a") as log:
                log.write('{"kind": "search", "step": 99}\n{"kind": "sea')
        listen(event)

    with RunStore.take(folder) if folder.exists() else RunStore.create(folder, {}) as store:
        state = store.read_checkpoint()
        if state is not None:
            search.load_state_dict(state)
            store.continue_events(state["events_size"])
        return run_search(search, store, hear, feasible)


def chance(beliefs: list[list[float]], feasible: FeasibleSet) -> float:
    """That a draw fits, by trying every combination."""
    every = np.array(list(itertools.product(*(range(len(row)) for row in beliefs))))
    each = np.prod([np.array(row)[every[:, i]] for i, row in enumerate(beliefs)], axis=0)
    return float(each[feasible.contains(every)].sum())


def same(a: Any, b: Any) -> bool:
    """Bit for bit, whatever is nested in what."""
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and bool(a == b)


def state_of(search: Search) -> dict[str, Any]:
    return {key: value for key, value in search.state_dict().items() if "seconds" not in key}


def the_final_choice_fits(name: str, options: Options, folder: Path) -> None:
    search, ground = new_search(settings_of(name, options))
    ranked = run(search, folder, feasible=ground.searched_feasible)
    assert ranked
    assert len(set(ranked)) == len(ranked)
    for architecture in ranked:
        assert ground.family.cost(architecture, "params") <= LIMIT
        assert ground.feasible.admits(ground.family.parse(architecture.text))
    events = RunStore.open(folder).events()
    assert events[-1]["step"] == search.plan.steps
    for event in events:
        assert ground.family.cost(event["leader"]) <= LIMIT
        assert 0.0 <= event["entropy"] <= 1.0 + 1e-6
        for row, size in zip(event["beliefs"], ground.searched.space.sizes, strict=True):
            assert len(row) == size
            assert sum(row) == pytest.approx(1.0, abs=1e-3)
        expected = chance(event["beliefs"], ground.searched_feasible)
        assert event["feasible_probability"] == pytest.approx(expected, abs=1e-3)
    if expected_updates(search):
        assert {"reward", "used"} <= {key for event in events for key in event}


def expected_updates(search: Search) -> int:
    """A mixture that never learns has none."""
    return search.plan.joint if search.strategy.turns.phase == "joint" else search.plan.frozen


def updates_touch_no_weight(name: str, options: Options, folder: Path) -> None:
    search, _ = new_search(settings_of(name, options))
    module = module_of(search.supernet)
    update = search.strategy.update
    calls = []

    def watched(probe: Any, clock: Any) -> Any:
        assert clock.phase == search.strategy.turns.phase
        before = {key: value.clone() for key, value in module.state_dict().items()}
        buffers = [buffer.clone() for buffer in module.buffers()]
        learnt = update(probe, clock)
        calls.append(learnt)
        assert same(before, dict(module.state_dict()))
        assert same(buffers, list(module.buffers()))
        assert all(param.grad is None for param in module.parameters())
        return learnt

    search.strategy.update = watched  # type: ignore[method-assign]
    run(search, folder)
    assert len(calls) == expected_updates(search)
    assert any(calls) or not calls


def every_pass_is_counted(name: str, options: Options, folder: Path) -> None:
    search, _ = new_search(settings_of(name, options))
    probe = search.probe
    losses, held_out, gradients = probe.losses, probe.held_out_losses, probe.whole_gradients
    scores, loss_under = probe.scores, probe.loss_under
    asked = []

    def watched_losses(picks: np.ndarray, batch: Any) -> np.ndarray:
        asked.append(len(picks))
        return losses(picks, batch)

    def watched_held_out(picks: np.ndarray) -> np.ndarray:
        asked.append(probe.evaluation_passes * len(picks))
        return held_out(picks)

    def watched_gradients(*arguments: Any) -> Any:
        asked.append(1)
        return gradients(*arguments)

    def watched_scores(several: Any, batch: Any) -> np.ndarray:
        asked.append(len(several))
        return scores(several, batch)

    def watched_loss_under(*arguments: Any) -> float:
        asked.append(1)
        return loss_under(*arguments)

    probe.loss_under = watched_loss_under  # type: ignore[method-assign]
    probe.whole_gradients = watched_gradients  # type: ignore[method-assign]
    probe.losses = watched_losses  # type: ignore[method-assign]
    probe.held_out_losses = watched_held_out  # type: ignore[method-assign]
    probe.scores = watched_scores  # type: ignore[method-assign]
    run(search, folder)
    assert sum(asked) > 0
    assert probe.passes == search.plan.weight_steps + sum(asked)


def weights_are_trained_in_all_but_the_frozen_phase(
    name: str, options: Options, folder: Path
) -> None:
    search, _ = new_search(settings_of(name, options))
    assert search.plan.warmup == STEPS // 4
    assert search.plan.weight_steps == STEPS
    step = search.weight_step
    seen: list[str] = []

    def watched(clock: Any) -> torch.Tensor:
        seen.append(clock.phase)
        return step(clock)

    search.weight_step = watched  # type: ignore[method-assign]
    run(search, folder)
    assert seen == ["warmup"] * search.plan.warmup + ["joint"] * search.plan.joint


def a_seed_decides_everything(name: str, options: Options, folder: Path) -> None:
    found = []
    for number, seed in enumerate((3, 3, 4)):
        search, _ = new_search(settings_of(name, options, seed=seed))
        ranked = run(search, folder / str(number))
        events = (folder / str(number) / "events.jsonl").read_bytes()
        found.append((ranked, state_of(search), events))
    assert found[0][0] == found[1][0]
    assert found[0][2] == found[1][2]
    assert same(found[0][1], found[1][1])
    assert not same(found[0][1], found[2][1])


def a_resumed_search_ends_as_if_it_had_not_been_stopped(
    name: str, options: Options, folder: Path
) -> None:
    search, _ = new_search(settings_of(name, options))
    plan = search.plan
    stops = {3, plan.warmup + 11, plan.steps}
    if plan.frozen:
        stops |= {plan.weight_steps, min(plan.weight_steps + 23, plan.steps - 1)}
    expected = run(search, folder / "whole", copied_at=stops)
    events = (folder / "whole" / "events.jsonl").read_bytes()
    for stop in sorted(stops):
        resumed, _ = new_search(settings_of(name, options))
        told: list[int] = []
        assert (
            run(resumed, folder / str(stop), lambda e, told=told: told.append(e["step"]))
            == expected
        )
        assert told == list(range(stop + 1, plan.steps + 1))
        assert same(state_of(resumed), state_of(search))
        assert (folder / str(stop) / "events.jsonl").read_bytes() == events


def it_works_without_a_limit_or_says_that_it_needs_one(
    name: str, options: Options, folder: Path
) -> None:
    settings = settings_of(name, options, limits={})
    if name in ("abs-reward", "mnasnet", "mnasnet-max"):
        with pytest.raises(UsageError, match=f"'{name}' needs a limit"):
            new_search(settings)
        return
    search, ground = new_search(settings)
    assert ground.feasible.count() == ground.family.space.count()
    assert run(search, folder)


def it_works_when_one_architecture_fits(name: str, options: Options, folder: Path) -> None:
    family = make_family(settings_of(name, options), bundle().encoder, bundle().task)
    cheapest = family.cost("2-2", "params")
    search, ground = new_search(settings_of(name, options, limits={"params": cheapest}))
    assert ground.feasible.count() == 1
    assert [a.text for a in run(search, folder)] == ["2-2"]


CHECKS: tuple[Callable[[str, Options, Path], None], ...] = (
    the_final_choice_fits,
    updates_touch_no_weight,
    every_pass_is_counted,
    weights_are_trained_in_all_but_the_frozen_phase,
    a_seed_decides_everything,
    a_resumed_search_ends_as_if_it_had_not_been_stopped,
    it_works_without_a_limit_or_says_that_it_needs_one,
    it_works_when_one_architecture_fits,
)
