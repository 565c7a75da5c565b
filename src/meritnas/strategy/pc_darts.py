"""PC-DARTS (Xu et al., 2020)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from meritnas.errors import UsageError
from meritnas.strategy.gradient import GradientSpec

if TYPE_CHECKING:
    from meritnas.settings.spec import SpaceSpec
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy


@dataclass(frozen=True)
class PcDarts(GradientSpec):
    """PC-DARTS: DARTS on a part of the channels, with weights for edges too.

    Attributes:
        edge_normalisation: Whether PC-DARTS weighs the edges of a node.
    """

    name: ClassVar[str] = "pc-darts"

    edge_normalisation: bool = True

    def partial_channels(self, space: SpaceSpec) -> int:
        """A quarter of the channels, on every space."""
        del space
        return 4

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture of options, and of edges."""
        from meritnas.strategy.algorithms.darts import INITIAL_SPREAD, softmax_weights
        from meritnas.strategy.algorithms.dense import Dense
        from meritnas.strategy.algorithms.pace import make_policy
        from meritnas.strategy.algorithms.pc_darts import EdgeNormalised

        if not problem.nodes:
            raise UsageError(
                "strategy 'pc-darts' trains a part of a cell's channels and this space has no "
                "cells; use 'darts'"
            )
        rng = problem.rng()
        options = softmax_weights(problem, "pc-darts", self.policy_rate, rng)
        if not self.edge_normalisation:
            return Dense(problem.feasible, options)
        sizes = tuple(len(node) for node in problem.nodes)
        initial = INITIAL_SPREAD * rng.standard_normal(sum(sizes))
        edges = make_policy("pc-darts", sizes, problem.joint_steps, self.policy_rate, initial)
        return Dense(problem.feasible, EdgeNormalised(options, edges, problem.nodes))
