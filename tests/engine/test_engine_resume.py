from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from meritnas import tabular_space
from meritnas.clock import Clock
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.engine import loop
from meritnas.engine.ladder import ladder
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan
from meritnas.errors import StoreError
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.probe import Probe

FAMILY = tabular_space(3, 1, 3, (2, 3, 4, 5))
PLAN = Plan(warmup=8, joint=24, frozen=0)
IN_WARMUP, BETWEEN, IN_JOINT = 5, 8, 19

PIECES = (
    *("step", "supernet", "optimizer.moments", "optimizer.steps", "rng", "draws"),
    *("strategy.policy", "strategy.rng", "strategy.seen", "strategy.credit", "strategy.paths"),
    *("probe.train", "probe.valid", "probe.passes", "record.losses", "record.values"),
)
"""Of a search's state, but for how long it took."""


def noisy_square(outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """A loss that draws from torch's own generator, as operations that make noise do."""
    del weights
    return (outputs[:, 0] + 0.3 * torch.randn_like(outputs[:, 0]) - target).square().mean()


def new_search() -> Search:
    """Every piece of it has a say in each of its phases: there are smaller limits, too."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(40, 3, generator=generator)
    part = Part(rows, rows[:, 0] * rows[:, 1])
    supernet = FAMILY.supernet(0)
    probe = Probe(supernet, noisy_square, BatchStream(part, 8, 0), BatchStream(part, 8, 1), part)
    problem = Problem(FAMILY.feasible(max_params=60), FAMILY.costs, PLAN.joint, 0)
    return Search(
        supernet,
        probe,
        strategy_spec("tabnas").make(problem),
        TrainRecipe(batch_size=8, learning_rate=0.02),
        PLAN,
        np.random.default_rng(0),
        ladder(FAMILY, {"params": 60}),
    )


@pytest.fixture(autouse=True)
def _checkpoints_between_events(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every step a checkpoint, after every eighth an event."""
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    monkeypatch.setattr(loop, "_EVENTS_A_SEARCH", 4)


def plain(value: Any) -> Any:
    """What can be compared: tensors as their bytes; without times."""
    if isinstance(value, Tensor):
        return value.numpy().tobytes()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items() if "seconds" not in str(name)}
    return [plain(one) for one in value] if isinstance(value, list | tuple) else value


def ended(search: Search, store: RunStore) -> tuple[Any, ...]:
    """Run a search to its end: what it chose, told and became."""
    torch.manual_seed(12345)  # whatever others drew before
    ranked = run_search(search, store, lambda _: None)
    return ranked, store.events(), plain(search.state_dict())


def interrupted(folder: Path, stop: int) -> tuple[RunStore, dict[str, Any]]:
    """A search that was interrupted in the middle of a step, and its last checkpoint."""
    search, store = new_search(), RunStore.create(folder, {})
    step = search.weight_step

    def stumble(clock: Clock) -> Tensor:
        if clock.step == stop:
            raise KeyboardInterrupt
        return step(clock)

    search.weight_step = stumble  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        run_search(search, store, lambda _: None)
    state = store.read_checkpoint()
    assert state is not None
    assert state["step"] == stop
    return store, state


def of_undisturbed(folder: Path) -> tuple[Any, ...]:
    return ended(new_search(), RunStore.create(folder, {}))


@pytest.mark.parametrize("stop", [1, IN_WARMUP, BETWEEN, IN_JOINT, PLAN.steps - 1])
def test_a_search_goes_on_from_its_checkpoint_as_if_nothing_had_happened(
    tmp_path: Path, stop: int
) -> None:
    store, state = interrupted(tmp_path / "run", stop)
    search = new_search()
    search.load_state_dict(state)
    assert ended(search, store) == of_undisturbed(tmp_path / "undisturbed")


@pytest.mark.parametrize("piece", PIECES)
def test_without_one_piece_of_its_state_a_search_goes_on_otherwise(
    tmp_path: Path, piece: str
) -> None:
    """So that a piece which is not restored is found by the test before."""
    store, state = interrupted(tmp_path / "run", IN_JOINT)
    search = new_search()
    *outer, last = piece.split(".")
    fresh = functools.reduce(lambda found, name: found[name], outer, search.state_dict())[last]
    functools.reduce(lambda found, name: found[name], outer, state)[last] = fresh
    search.load_state_dict(state)
    assert ended(search, store) != of_undisturbed(tmp_path / "undisturbed")


def test_shared_weights_of_another_version_are_refused() -> None:
    search = new_search()
    state = search.state_dict()
    state["supernet"] = {f"stages.{name}": held for name, held in state["supernet"].items()}
    with pytest.raises(StoreError, match="another version of MeritNAS began it"):
        search.load_state_dict(state)


def test_every_piece_of_the_state_is_known() -> None:
    state = new_search().state_dict()
    known = {piece.partition(".")[0] for piece in PIECES}
    assert known | {"seconds", "phase_seconds"} == state.keys()
    for name in {piece.partition(".")[0] for piece in PIECES if "." in piece}:
        assert {piece.partition(".")[2] for piece in PIECES if piece.startswith(name)} == set(
            state[name]
        )
