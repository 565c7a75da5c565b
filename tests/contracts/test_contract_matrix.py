"""The matrix: every strategy on every space, in one short search (and half of it again)."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import own_networks
import pytest
import strategy_contract
import torch
from strategy_contract import same, state_of

from meritnas.data.bundle import Bundle
from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.source import load_images
from meritnas.data.kinds import kind_of
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.source import load_modalities
from meritnas.data.texts.bundle import encode_text
from meritnas.data.texts.source import TextSource
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_search
from meritnas.errors import UsageError
from meritnas.families.catalogue import space_spec
from meritnas.families.convnet.spec import Convnet
from meritnas.families.family import Family
from meritnas.families.fusion.spec import Fusion
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.rich_tabular.spec import RichTabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import Ground, make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture
from meritnas.strategy.catalogue import strategy_spec, strategy_specs
from meritnas.supernet.gates import Gates
from meritnas.supernet.supernet import module_of
from meritnas.training.train import train_child

NO_ZERO = "nasbench201 without zero"
SPACES = (
    "tabular",
    "rich-tabular",
    "convnet",
    "nasbench201",
    NO_ZERO,
    "darts",
    "darts-s1",
    "darts-s2",
    "darts-s3",
    "darts-s4",
    "darts-unique",
    "recurrent",
    "fusion",
    "own layers",
    "own maps",
    "own transformer",
    "own module",
)

# Those that promise to draw nothing that breaks a limit, and what that takes.
WITHIN: dict[str, dict[str, Any]] = {
    "tabnas": {"weight_draws": "feasible", "samples": 1},
    "reinforce": {"samples": 1},
    "advantage": {},
    "parsec": {"samples": 2},
    "gdas": {},
    "proxyless": {},
    "manas": {},
    "manas-ls": {},
    "manas-linear-softmax": {},
    "manas-coordinated-zipf": {},
}

SHAPLEY = ("shapley", "darts-shapley", "darts-shapley-frozen")


def options_of(space: str, strategy: str) -> dict[str, Any]:
    """Removing each of up to 224 options of a DARTS cell is the business of another test."""
    if strategy in SHAPLEY:
        return {"permutations": 1, "truncation": 1.0 if space.startswith("darts") else 0.5}
    if strategy == "sm-shapley":
        share = 1.0 if space in ("darts", "darts-unique") else 0.5
        return {"normal_samples": 1, "gradient_share": share, "judged_rows": 8}
    return WITHIN.get(strategy, {})


AFTER_THE_WEIGHTS = (
    "random",
    "evolution",
    "bayesian",
    "shapley",
    "sm-shapley",
    "manas-ls",
    "manas-linear-softmax",
)
NEVER = ("darts-shapley-frozen",)
TRAINED = ("random", "advantage", "darts", "manas")
"""Whose finds are trained: a child does not know who found it."""

MIXTURES = (
    "darts",
    "darts-2nd",
    "pc-darts",
    "snas",
    "shapley",
    "darts-shapley",
    "darts-shapley-frozen",
)
JOINT, FROZEN = Plan(warmup=1, joint=2, frozen=0), Plan(warmup=1, joint=2, frozen=2)
RECIPE = TrainRecipe(learning_rate=0.02, batch_size=8)
ALONE = TrainRecipe(learning_rate=0.02, batch_size=24)


@functools.cache
def images() -> Bundle[Any]:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (40, 8, 8, 1), dtype=np.uint8)
    source = load_images((pixels, np.arange(40) % 3))
    return encode_images(source, outline_images(source, 0))


@functools.cache
def text() -> Bundle[Any]:
    words = [f"w{n}" for n in np.random.default_rng(0).integers(9, size=600)]
    source = TextSource("made up", words[:400], words[400:500], words[500:], "word", True, "", "")
    return encode_text(source, 8, 4)


@functools.cache
def views() -> Bundle[Any]:
    rng = np.random.default_rng(0)
    arrays = {"one": rng.random((40, 3)), "two": rng.random((40, 2)), "y": np.arange(40) % 3}
    source = load_modalities(arrays, "y")
    return encode_modalities(source, outline_modalities(source, 0))


def bundle_of(space: str) -> Bundle[Any]:
    if space == "fusion":
        return views()
    if space in ("recurrent", "own transformer"):
        return text()
    if space in ("tabular", "rich-tabular", "own layers", "own module"):
        return strategy_contract.bundle()
    return images()


def settings_of(space: str, strategy: str, limits: dict[str, int]) -> SearchSettings:
    options = options_of(space, strategy)
    if space == "tabular":
        plain = strategy_contract.settings_of(strategy, options, limits)
        return dataclasses.replace(plain, recipe=RECIPE)
    return SearchSettings(
        space=space_of(space, strategy),
        strategy=strategy_spec(strategy, options),
        reading=kind_of(bundle_of(space).encoder).reading(),
        limits=limits,
        recipe=RECIPE,
    )


@functools.cache
def own_module() -> torch.nn.Module:
    inputs = strategy_contract.bundle().encoder.inputs
    return own_networks.ready(inputs.width, strategy_contract.bundle().task.outputs)


def space_of(space: str, strategy: str) -> SpaceSpec:
    if space == "own module":
        return space_spec(own_module())
    if space.startswith("own "):
        return space_spec(getattr(own_networks, space.removeprefix("own ")))
    if space == "rich-tabular":
        return RichTabular(2, (3, 5, 8), (2, 4), (1, 2))
    if space == "convnet":
        return Convnet("plain3,residual3se,inverted3x2", ((4, 8), (4, 8), (8, 12)))
    if space == "recurrent":
        return Recurrent(width=3, nodes=3)
    if space == "fusion":
        return Fusion(channels=4, length=2, cells=2, steps=1, new_inputs=False)
    name = "nasbench201" if space == NO_ZERO else space
    per_stage = name == "nasbench201"
    sizes: dict[str, Any] = {
        "channels": 4,
        "cells": 1 if per_stage else 3,
        "supernet_channels": 4,
        "supernet_cells": 1 if per_stage else 3,
        "partial_channels": 2 if strategy == "pc-darts" else 1,
    }
    return space_spec(name, {**sizes, "zero": False} if space == NO_ZERO else sizes)


@functools.cache
def ground_of(space: str) -> Ground:
    """Limited to what a third of all architectures keeps."""
    family = make_family(
        settings_of(space, "random", {}), bundle_of(space).encoder, bundle_of(space).task
    )
    costs = [family.cost(family.random(seed)) for seed in range(60)]
    limit = int(np.quantile(costs, 0.3))
    ground = make_ground(family, {"params": limit})
    assert 0 < ground.feasible.share() < 0.6
    return ground


def limit_of(ground: Ground) -> int:
    return ground.feasible.limits[0].maximum


def new_search(space: str, strategy: str) -> Search:
    ground = ground_of(space)
    settings = settings_of(space, strategy, {"params": limit_of(ground)})
    plan = FROZEN if strategy in AFTER_THE_WEIGHTS else JOINT
    return make_search(settings, ground, bundle_of(space), plan, 0)


@dataclass
class Memory:
    """In place of a run's folder: writing and reading thousands of tensors takes most of the time.

    Whether states survive files, and processes kills, is tested elsewhere.
    """

    events: list[str] = field(default_factory=list)

    def append(self, event: dict[str, Any]) -> None:
        self.events.append(json.dumps(event))

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        assert plain(state)


def plain(state: Any) -> bool:
    """Whether a state is made of what `torch.load(weights_only=True)` reads."""
    if isinstance(state, dict):
        return all(isinstance(key, str | int) and plain(value) for key, value in state.items())
    if isinstance(state, list | tuple):
        return all(map(plain, state))
    return state is None or type(state) in (torch.Tensor, str, int, float, bool)


def copied(state: Any) -> Any:
    """Of tensors and what holds them; `copy.deepcopy` takes ten times as long."""
    if isinstance(state, torch.Tensor):
        return state.detach().clone()
    if isinstance(state, dict):
        return {key: copied(value) for key, value in state.items()}
    return [copied(value) for value in state] if isinstance(state, list) else state


def run(
    search: Search, store: Memory, listen: Callable[[dict[str, Any]], None], ground: Ground
) -> list[Architecture]:
    return run_search(search, store, listen, ground.searched_feasible)  # type: ignore[arg-type]


def single(gates: Gates) -> list[int] | None:
    """The picks of gates that run one option of each decision, or None."""
    if all(len(gate.active) == 1 for gate in gates):
        return [gate.active[0] for gate in gates]
    return None


def watch_updates(search: Search, seen: list[Any]) -> None:
    """Updates of the beliefs leave the supernet as it was."""
    module, update = module_of(search.supernet), search.strategy.update

    def watched(probe: Any, clock: Any) -> Any:
        before = {name: value.clone() for name, value in module.state_dict().items()}
        learnt = update(probe, clock)
        seen.append(learnt)
        assert same(before, dict(module.state_dict()))
        assert all(param.grad is None for param in module.parameters())
        return learnt

    search.strategy.update = watched  # type: ignore[method-assign]


def watch_draws(search: Search, ground: Ground, strategy: str, drawn: list[list[int]]) -> None:
    """What is sampled and what is judged is valid, and for some strategies within the limit."""
    probe, sample = search.probe, search.strategy.sample
    losses, gradients, held_out = probe.losses, probe.gradients, probe.held_out_loss
    within = strategy in WITHIN

    def check(picks: Any, *, fits: bool) -> None:
        row = np.array([picks])
        drawn.append(list(picks))
        assert ground.searched.space.valid(row).all()
        assert not fits or ground.searched_feasible.contains(row).all()

    def watched_sample(clock: Any) -> Gates:
        gates = sample(clock)
        picks = single(gates)
        if picks is not None:
            check(picks, fits=within)
        return gates

    def watched_losses(picks: np.ndarray, batch: Any) -> np.ndarray:
        for row in picks.tolist():
            check(row, fits=within)
        return losses(picks, batch)

    def watched_gradients(gates: Gates, *rest: Any) -> Any:
        picks = single(gates)
        if picks is not None:
            check(picks, fits=within)
        return gradients(gates, *rest)

    def watched_held_out(picks: np.ndarray) -> float:
        check(picks.tolist(), fits=True)
        return held_out(picks)

    search.strategy.sample = watched_sample  # type: ignore[method-assign]
    probe.losses = watched_losses  # type: ignore[method-assign]
    probe.gradients = watched_gradients  # type: ignore[method-assign]
    probe.held_out_loss = watched_held_out  # type: ignore[method-assign]


def trains(family: Family, text: str, bundle: Bundle[Any]) -> None:
    trained = train_child(
        family.child(text), bundle.train, bundle.valid, bundle.task.loss, ALONE, 1, seed=0
    )
    assert math.isfinite(trained.valid_loss)
    assert math.isfinite(trained.train_losses[0])


@pytest.mark.parametrize("strategy", strategy_specs())
@pytest.mark.parametrize("space", SPACES)
def test_every_strategy_runs_on_every_space(space: str, strategy: str) -> None:
    without_cells = space in ("tabular", "rich-tabular", "convnet") or space.startswith("own ")
    if strategy == "pc-darts" and without_cells:
        with pytest.raises(UsageError) as caught:
            new_search(space, strategy)
        assert str(caught.value) == (
            "strategy 'pc-darts' trains a part of a cell's channels and this space has no cells; "
            "use 'darts'"
        )
        return
    ground = ground_of(space)
    search = new_search(space, strategy)
    rests = strategy in (*AFTER_THE_WEIGHTS, *NEVER)
    assert search.strategy.turns.phase == ("frozen" if rests else "joint")
    updates: list[Any] = []
    drawn: list[list[int]] = []
    watch_updates(search, updates)
    watch_draws(search, ground, strategy, drawn)
    whole, killed = Memory(), Memory()
    left: list[dict[str, Any]] = []

    def keep_a_copy(event: dict[str, Any]) -> None:
        """What a kill right after this event and its checkpoint would leave."""
        if event["step"] == search.plan.steps - 1:
            left.append(copied(search.state_dict()))
            killed.events = list(whole.events)

    torch.manual_seed(11)
    users = torch.get_rng_state()
    ranked = run(search, whole, keep_a_copy, ground)
    assert torch.equal(torch.get_rng_state(), users)

    assert any(updates) == (strategy not in NEVER)
    assert bool(drawn) == (strategy not in MIXTURES)
    assert len(set(ranked)) == len(ranked) > 0
    for architecture in ranked:
        assert ground.family.parse(str(architecture)).options == architecture.options
        assert ground.feasible.admits(architecture)
        assert ground.family.cost(architecture) <= limit_of(ground)
    for event in map(json.loads, whole.events):
        assert ground.family.cost(event["leader"]) <= limit_of(ground)
        assert 0 < event.get("feasible_probability", 0.5) <= 1
        assert math.isfinite(event.get("train_loss", 0.0))

    torch.manual_seed(12)  # the user's generator has no say in how a run goes on
    resumed = new_search(space, strategy)
    resumed.load_state_dict(left[0])
    assert run(resumed, killed, lambda _: None, ground) == ranked
    assert same(state_of(resumed), state_of(search))
    assert killed.events == whole.events
    assert len(whole.events) == search.plan.steps

    if strategy in TRAINED:
        trains(ground.family, str(ranked[0]), bundle_of(space))


@pytest.mark.parametrize("strategy", ["abs-reward", "mnasnet", "mnasnet-max"])
@pytest.mark.parametrize("space", ["nasbench201", "darts"])
def test_rewards_that_aim_at_a_limit_need_one(space: str, strategy: str) -> None:
    family = ground_of(space).family
    ground = make_ground(family, {})
    with pytest.raises(UsageError, match=f"'{strategy}' needs a limit to aim at"):
        make_search(settings_of(space, strategy, {}), ground, images(), JOINT, 0)
