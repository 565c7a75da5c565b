"""What a strategy is made for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

    from meritnas.cost.feasible import FeasibleSet
    from meritnas.cost.terms import Cost


@dataclass(frozen=True)
class Problem:
    """What a strategy is built for.

    Attributes:
        feasible: the space and the architectures of it that keep the limits.
        costs: what architectures cost, by the cost's name.
        joint_steps: how many weight steps will have a turn of learning beside them.
        seed: where all the strategy's randomness comes from.
        judgements: how many architectures a strategy that learns after the weights may judge.
        weight_rate: the learning rate of the weights.
        nodes: groups of decisions, by index, that feed the same node of a cell; empty where there
            are no cells.
        tables: groups of decisions, by index, that make up one searched cell; all decisions are
            one where none are given.
        chance_loss: what a network that knows nothing of its inputs loses.
        epoch_steps: how many weight steps make an epoch.
        workers: how many networks a weight step trains, and so many more a policy learns from.
    """

    feasible: FeasibleSet
    costs: Mapping[str, Cost]
    joint_steps: int
    seed: int
    judgements: int = 100
    weight_rate: float = 0.025
    nodes: tuple[tuple[int, ...], ...] = ()
    tables: tuple[tuple[int, ...], ...] = ()
    chance_loss: float = 1.0
    epoch_steps: int = 1
    workers: int = 1

    def rng(self) -> np.random.Generator:
        """The strategy's own generator."""
        import numpy as np  # here: specs are listed without it

        return np.random.default_rng([self.seed, 1])
