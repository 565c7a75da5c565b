"""What tests give to other processes to do."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.workers.workers import Workers

WORKERS = 2


def searches(ranks: Workers) -> dict[str, str]:
    """A digest of what each of some searches comes to, with all its state and events."""
    found = {}
    for space in ("table", "cells"):
        for strategy in ("random", "advantage", "tabnas", "darts", "parsec", "manas"):
            found[f"{space} {strategy}"] = _search(space, strategy, ranks)
    for strategy in ("gdas", "darts-2nd", "shapley"):
        found[f"table {strategy}"] = _search("table", strategy, ranks)
    return found


def _search(space: str, strategy: str, ranks: Workers) -> str:
    # Here: the other tasks are begun sooner without all this.
    from meritnas import nasbench201_space, tabular_space
    from meritnas.data.bundle import Part
    from meritnas.data.stream import BatchStream
    from meritnas.engine.ladder import ladder
    from meritnas.engine.loop import Search, Unkept
    from meritnas.engine.plan import Plan
    from meritnas.engine.search_together import search_to_its_end
    from meritnas.settings.recipe import TrainRecipe
    from meritnas.strategy.catalogue import strategy_spec
    from meritnas.strategy.problem import Problem
    from meritnas.supernet.probe import Probe
    from meritnas.witness.panel import panel_of
    from meritnas.workers.virtual import VirtualWorkers

    generator = torch.Generator().manual_seed(0)
    limits = {"params": 60} if space == "table" else {}
    family: Any
    if space == "table":
        family = tabular_space(3, 1, 3, (2, 3, 4, 5))
        rows = torch.randn(40, 3, generator=generator)
    else:
        family = nasbench201_space(1, channels=4, cells=1, image=(3, 8, 8))
        rows = torch.randn(150, 3, 8, 8, generator=generator)
    part = Part(rows, rows.flatten(1)[:, 0] * rows.flatten(1)[:, 1])
    feasible = family.within(limits)
    supernet = family.supernet(0)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    workers = VirtualWorkers(WORKERS, ranks)
    probe = Probe(supernet, _noisy_square, *streams, part, workers=workers)
    spec = strategy_spec(strategy)
    learner = spec.make(Problem(feasible, family.costs, 10, 0))
    plan = Plan(4, 10, 6 if learner.turns.phase == "frozen" else 0)
    search = Search(
        *(supernet, probe, learner, TrainRecipe(batch_size=8, learning_rate=0.02, clip=1.0)),
        *(plan, np.random.default_rng(0), ladder(family, limits) if limits else ()),
    )
    events: list[Any] = []
    panel = panel_of(family, probe, part, _noisy_square, 0)
    result = search_to_its_end(search, Unkept(), events.append, feasible, panel)
    state = {n: v for n, v in search.state_dict().items() if "seconds" not in n}
    digest = hashlib.sha1(repr((result, events, _plain(state))).encode())
    return digest.hexdigest()


def _noisy_square(outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    """A loss that draws from torch's own generator, as operations that make noise do."""
    del weights
    return (outputs[:, 0] + 0.3 * torch.randn_like(outputs[:, 0]) - target).square().mean()


def _plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy().tobytes()
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def send_searches(ranks: Workers) -> None:
    """The same on another rank, which tells the first what it found."""
    tell(searches(ranks), ranks)


def tell(found: dict[str, str], ranks: Workers) -> list[str]:
    """What all ranks found, as text."""
    text = torch.tensor(list(repr(found).encode()), dtype=torch.float32)
    sent = ranks.gather(text, [len(text)] * ranks.size)
    return [bytes(map(int, one.tolist())).decode() for one in sent]


def killed(ranks: Workers) -> None:
    ranks.barrier()
    os.kill(os.getpid(), signal.SIGKILL)


def failing(ranks: Workers) -> None:
    ranks.barrier()
    raise ValueError("these are its last words\nand more")


def starving(ranks: Workers) -> None:
    ranks.barrier()
    torch.empty(10**16)


def silent(ranks: Workers) -> None:
    ranks.barrier()
    time.sleep(600)


def apart(ranks: Workers) -> None:
    """Numbers of another length: the ranks do not do the same."""
    ranks.gather(torch.zeros(3), [3, 3])


def own_tables(inputs: Any, outputs: int, *, layers: int = 1) -> Any:
    """A space of a user's own."""
    from meritnas import tabular_space

    return tabular_space(inputs, outputs, layers, (2, 4))


def own_with_statistics(inputs: Any, outputs: int) -> Any:
    """The same with a norm in its supernet that keeps running statistics."""
    from dataclasses import fields

    from torch import nn

    from meritnas.families.tabular.family import TabularSpace

    class Normed(TabularSpace):
        def supernet(self, seed: int, *more: Any) -> Any:
            found = super().supernet(seed, *more)
            found.norm = nn.BatchNorm1d(4)
            return found

    made = own_tables(inputs, outputs)
    return Normed(**{each.name: getattr(made, each.name) for each in fields(made)})
