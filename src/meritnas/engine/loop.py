"""A running search and the loop that runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.cost.diagram import PathLaw
from meritnas.cost.feasible import FeasibleSet
from meritnas.data.stream import BatchToRead
from meritnas.devices.placement import on_cpu
from meritnas.engine.ladder import Rung, path_of_one
from meritnas.engine.plan import Plan
from meritnas.engine.record import Price, Record, Short
from meritnas.engine.weight_gradients import Drawn, mean_gradients, path_gradients
from meritnas.errors import StoreError
from meritnas.families.family import seeded
from meritnas.settings.recipe import TrainRecipe
from meritnas.space.architecture import Architecture
from meritnas.strategy.strategy import Strategy, rng_state, set_rng_state
from meritnas.supernet.gates import one_path
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet, module_of
from meritnas.training.block_optimizer import BlockOptimizer
from meritnas.workers.workers import Workers

Listener = Callable[[dict[str, Any]], None]
"""Told of every event as it is recorded."""


class Kept(Protocol):
    """Where a search is kept: a run's folder, or nowhere."""

    def append(self, event: dict[str, Any]) -> None:
        """Add one event to the log."""
        ...

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint."""
        ...


class Unkept:
    """Keeps nothing: of the ranks of a search only the first one writes."""

    def append(self, event: dict[str, Any]) -> None:
        """Forget it."""

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Forget it."""


_SECONDS_BETWEEN_CHECKPOINTS = 5.0
_EVENTS_A_SEARCH = 100
_LEAST_ROWS = 32


@dataclass
class Search:
    """Everything a running search consists of; its state is the sum of its parts' states.

    With a ladder of limits (`rungs`), every other weight step after the warm-up trains a network
    that is drawn under one of the laws `beside`: a policy that has made up its mind would leave
    the networks of other limits untrained.

    `seed` is that of operations which draw numbers, from torch's own generator: noise. `price` says
    what the leader costs, for the record, and `short` which one it is in a few words.
    """

    supernet: Supernet
    probe: Probe
    strategy: Strategy
    recipe: TrainRecipe
    plan: Plan
    rng: np.random.Generator
    rungs: Sequence[Rung] = ()
    beside: Sequence[PathLaw] = ()
    seed: int = 0
    price: Price | None = None
    short: Short = str

    def __post_init__(self) -> None:
        self.optimizer = BlockOptimizer(module_of(self.supernet), self.recipe)
        self.record = Record(every=max(1, self.plan.steps // _EVENTS_A_SEARCH))
        self.step = 0
        self.seconds = 0.0
        self.phase_seconds: dict[str, float] = {}
        with seeded(self.seed):
            self._draws = torch.get_rng_state()
        self._drawing = False

    @contextmanager
    def own_draws(self) -> Iterator[None]:
        """Torch's generator is the search's own inside, and as it was afterwards."""
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(self._draws)
            self._drawing = True
            try:
                yield
            finally:
                self._draws = torch.get_rng_state()
                self._drawing = False

    @property
    def ranks(self) -> Workers:
        """The processes that compute for it."""
        return self.probe.workers.ranks

    def join(self, ranks: Workers) -> None:
        """Compute together with these from now on."""
        self.probe.workers = replace(self.probe.workers, ranks=ranks)

    def weight_step(self, clock: Clock) -> torch.Tensor:
        """Train the weights that the next gates use on one batch; the loss, without gradient.

        With several workers each has gates and a batch of its own.
        """
        drawn = [self._gates_and_batch(clock, batch) for batch in self.probe.train_batches()]
        parts = self.probe, self.supernet, self.optimizer
        if len(drawn) == 1:
            found = path_gradients(*parts, drawn[0])
        else:
            found = mean_gradients(*parts, drawn)
        rate = self.recipe.rate_at(clock.step, self.plan.weight_steps)
        self.optimizer.step(found.leaves, found.grads, rate, found.used)
        return found.loss

    def _gates_and_batch(self, clock: Clock, batch: BatchToRead) -> Drawn:
        """TabNAS section 3.1: in warm-up all weights with a probability that falls from 1 to 0.

        Deviation: a step of all weights, which costs up to ten times a usual one, sees only a
        quarter of its batch, but not less than 32 rows.

        In a supernet of cells there is no such thing as all weights at once; its warm-up trains
        what the strategy samples while it has learnt nothing.
        """
        if clock.phase == "warmup":
            chance = 1.0 - clock.phase_step / clock.phase_steps
            whole = self.supernet.whole()
            if whole is not None and self.rng.random() < chance:
                rows = max(_LEAST_ROWS, len(batch) // 4)
                return whole, batch.first(rows)
        elif self.beside and clock.step % 2:
            return one_path(path_of_one(self.beside, self.rng)), batch
        return self.strategy.sample(clock), batch

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on as if nothing had happened."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "phase_seconds": dict(self.phase_seconds),
            "supernet": module_of(self.supernet).state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "strategy": self.strategy.state_dict(),
            "probe": self.probe.state_dict(),
            "record": self.record.state_dict(),
            "rng": rng_state(self.rng),
            "draws": torch.get_rng_state() if self._drawing else self._draws,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.step = state["step"]
        self.seconds = state["seconds"]
        self.phase_seconds = dict(state["phase_seconds"])
        _load_shared(self.supernet, state["supernet"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.strategy.load_state_dict(state["strategy"])
        self.probe.load_state_dict(state["probe"])
        self.record.load_state_dict(state["record"])
        set_rng_state(self.rng, state["rng"])
        self._draws = on_cpu(state["draws"])


def _load_shared(supernet: Supernet, weights: Mapping[str, Tensor]) -> None:
    try:
        module_of(supernet).load_state_dict(weights)
    except RuntimeError as error:
        raise StoreError(
            "checkpoint.pt does not belong to this run: it has shared weights that the networks do "
            "not have, as where another version of MeritNAS began it; go on with that version, or "
            "search again"
        ) from error


def run_search(
    search: Search, store: Kept, listen: Listener, feasible: FeasibleSet | None = None
) -> list[Architecture]:
    """The one loop: beliefs first, then weights, until the plan is done; then the final choice.

    A checkpoint is written every few seconds, and holds all state of that moment. With `feasible`,
    events tell how probable it is that a draw by the beliefs is in it, unless that is certain.
    """
    if feasible is not None and feasible.diagram.whole:
        feasible = None
    with search.own_draws():
        _take_steps(search, store, listen, feasible)
        return search.strategy.derive(search.probe)


def _take_steps(
    search: Search, store: Kept, listen: Listener, feasible: FeasibleSet | None
) -> None:
    record = search.record
    begun = time.perf_counter() - search.seconds
    saved = search.seconds
    for clock in search.plan.clocks(search.step):
        if clock.phase == search.strategy.turns.phase:
            record.learnt(search.strategy.update(search.probe, clock))
        if clock.phase != "frozen":
            record.trained(search.weight_step(clock))
        search.step = clock.step + 1
        if record.is_due(clock):
            event = record.event(
                clock, search.strategy, search.probe, search.price, feasible, search.short
            )
            store.append(event)
            listen(event)
        now = time.perf_counter() - begun
        spent = search.phase_seconds.get(clock.phase, 0.0)
        search.phase_seconds[clock.phase] = spent + now - search.seconds
        search.seconds = now
        last = search.step == clock.steps
        if last or search.seconds - saved > _SECONDS_BETWEEN_CHECKPOINTS:
            store.write_checkpoint(search.state_dict())
            saved = search.seconds
