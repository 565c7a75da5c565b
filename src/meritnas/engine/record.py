"""Collects what the steps of a search report and makes events of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.errors import DivergedError
from meritnas.space.architecture import Architecture
from meritnas.strategy.strategy import Learnt, Strategy
from meritnas.supernet.probe import Probe

Price = Callable[[Architecture], Mapping[str, tuple[int, int | None]]]
"""By the cost's name: what an architecture costs, and what it may cost (None for anything)."""

Short = Callable[[Architecture], str]
"""An architecture in a few words."""


class Record:
    """Gathers what steps report and makes an event of it every so many steps."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._losses: list[Tensor] = []
        self._values: dict[str, list[float]] = {}

    def state_dict(self) -> dict[str, Any]:
        """What has been gathered since the last event."""
        return {"losses": [float(loss) for loss in self._losses], "values": dict(self._values)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._losses = [torch.tensor(loss) for loss in state["losses"]]
        self._values = {name: list(values) for name, values in state["values"].items()}

    def trained(self, loss: Tensor) -> None:
        """A weight step's loss; it is read only when an event is due."""
        self._losses.append(loss)

    def learnt(self, learnt: Learnt | None) -> None:
        """What an update of the beliefs was based on."""
        for name, value in learnt.values.items() if learnt else ():
            self._values.setdefault(name, []).append(value)

    def is_due(self, clock: Clock) -> bool:
        """Whether this step ends with an event."""
        return (clock.step + 1) % self._every == 0 or clock.step + 1 == clock.steps

    def event(
        self,
        clock: Clock,
        strategy: Strategy,
        probe: Probe,
        price: Price | None = None,
        feasible: FeasibleSet | None = None,
        short: Short = str,
    ) -> dict[str, Any]:
        """Means since the last event, and the beliefs as they are.

        Args:
            clock: of the step.
            strategy: whose beliefs they are.
            probe: which counts the passes.
            price: what the leader costs and may cost.
            feasible: what a draw by the beliefs may miss.
            short: the leader in a few words.

        Raises:
            DivergedError: A loss, a belief or what it is based on is no finite number.
        """
        beliefs = strategy.beliefs()
        means = {name: float(np.mean(values)) for name, values in self._values.items()}
        loss = float(np.mean([float(loss) for loss in self._losses])) if self._losses else None
        if not np.isfinite(np.concatenate([[loss or 0.0, *means.values()], *beliefs])).all():
            raise DivergedError
        leader = strategy.leader()
        event: dict[str, Any] = {
            "kind": "search",
            "step": clock.step + 1,
            "steps": clock.steps,
            "phase": clock.phase,
            "passes": probe.passes,
            "leader": str(leader),
            "leader_short": short(leader),
            "leader_costs": {n: list(c) for n, c in price(leader).items()} if price else {},
            "entropy": round(_entropy(beliefs), 6),
            "beliefs": [[round(float(p), 5) for p in row] for row in beliefs],
        }
        if loss is not None:
            event["train_loss"] = loss
        chance = 0.0 if feasible is None else _chance(beliefs, feasible)
        if chance > 0:  # weights of operations alone, as on DARTS' edges, are no law of networks
            event["feasible_probability"] = chance
        event |= means
        self._losses.clear()
        self._values.clear()
        return event


def _chance(rows: list[np.ndarray], feasible: FeasibleSet) -> float:
    """P(V): how probable it is that a network drawn decision by decision is feasible."""
    with np.errstate(divide="ignore"):  # an option may have no probability left
        return min(1.0, feasible.probability([np.log(row) for row in rows]))


def _entropy(rows: list[np.ndarray]) -> float:
    """How undecided the beliefs are: 1 for uniform rows, 0 when every row is certain."""
    total = sum(float(-(p * np.log(np.maximum(p, 1e-300))).sum()) for p in rows)
    most = float(np.log([len(p) for p in rows]).sum())
    return total / most if most else 0.0
