"""The witnesses who look at networks before anything has been trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.devices.placement import placed
from meritnas.families.family import Family, seeded
from meritnas.supernet.probe import Loss
from meritnas.witness.first_look import FirstLook, first_look
from meritnas.workers.virtual import VirtualWorkers

PATTERNS, GRADIENTS = "patterns", "gradients"

ROWS = 32
"""How many rows an untrained network is shown."""


@dataclass
class Looks:
    """First looks at the networks of a family, each taken once.

    Weights are He's (2015), whatever the child begins with otherwise: with those, gradients are
    neither made larger nor smaller by convolutions that no norm follows.

    Attributes:
        family: whose children are looked at, as large as they will be.
        rows: what they are shown.
        loss: what is differentiated.
        seed: of their weights.
        workers: over whom looks are shared out.
    """

    family: Family
    rows: Part
    loss: Loss
    seed: int
    workers: VirtualWorkers = field(default_factory=VirtualWorkers)
    _known: dict[tuple[int, ...], FirstLook] = field(default_factory=dict, repr=False)

    def at(self, picks: np.ndarray) -> list[FirstLook]:
        """A look at each architecture [n, decisions]."""
        keys = [tuple(row) for row in picks.tolist()]
        new = list(dict.fromkeys(key for key in keys if key not in self._known))
        count = self.workers.count

        def work(v: int) -> Tensor:
            found = [self._look(key) for key in new[v::count]]
            both = [number for look in found for number in (look.patterns, look.growth)]
            return torch.tensor(both, dtype=torch.float64)

        lengths = [2 * len(new[v::count]) for v in range(count)]
        for v, numbers in enumerate(self.workers.each(work, lengths)):
            for key, (patterns, growth) in zip(
                new[v::count], numbers.reshape(-1, 2).tolist(), strict=True
            ):
                self._known[key] = FirstLook(patterns, growth)
        return [self._known[key] for key in keys]

    def _look(self, picks: tuple[int, ...]) -> FirstLook:
        module = self.family.child(self.family.space.architecture(picks), self.seed)
        with seeded(self.seed):
            for part in module.modules():
                if isinstance(part, nn.Conv1d | nn.Conv2d | nn.Linear):
                    nn.init.kaiming_normal_(part.weight)
        placed(module, self.rows.inputs.device).train()

        def loss(outputs: Tensor) -> Tensor:
            return self.loss(outputs, self.rows.target, self.rows.weights)

        return first_look(module, self.rows.inputs, loss, self.family.trunk(module))


@dataclass(frozen=True)
class Untrained:
    """One of the things that untrained networks show.

    Attributes:
        name: as records have it.
        looks: at the networks.
        value: what is asked of a look; the larger, the better.
    """

    name: str
    looks: Looks
    value: Callable[[FirstLook], float]

    def judge(self, picks: np.ndarray) -> np.ndarray:
        """What each network shows."""
        return np.array([self.value(look) for look in self.looks.at(picks)])


def patterns(looks: Looks) -> Untrained:
    """Takes networks for good that tell rows apart by which of their ReLUs are on (NASWOT)."""
    return Untrained(PATTERNS, looks, lambda look: look.patterns)


def gradients(looks: Looks) -> Untrained:
    """Takes networks for good through which gradients come back without having grown.

    A short way past the convolutions of each cell does that. Without one, a network as deep as
    children are trains badly, which shared weights of few cells do not show.
    """
    return Untrained(GRADIENTS, looks, lambda look: -look.growth)


def some_rows(part: Part) -> Part:
    """As many rows as an untrained network is shown, from everywhere in a part."""
    generator = torch.Generator().manual_seed(0)
    return part.rows(torch.randperm(len(part), generator=generator)[:ROWS])
