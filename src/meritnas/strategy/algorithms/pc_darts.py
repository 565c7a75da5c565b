"""PC-DARTS' weights of options and of edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from meritnas.clock import Clock
from meritnas.policy.policy import Policy
from meritnas.strategy.algorithms.darts import Softmax


@dataclass(frozen=True)
class EdgeNormalised:
    """DARTS' softmax, times a softmax over the edges of each node (PC-DARTS, section 3.3).

    The options of an edge are weighted by softmax(alpha) * beta, where beta is the softmax of one
    logit for each edge over the edges that feed the same node. The final choice goes by the
    product. (That only a part of the channels is mixed is the supernet's business.)

    Attributes:
        options: softmax(alpha).
        edges: the edges' logits, a row for each node.
        nodes: for each node the decisions that feed it; a decision that feeds none has beta 1.
    """

    options: Softmax
    edges: Policy
    nodes: Sequence[tuple[int, ...]]

    def leaves(self) -> list[Tensor]:
        """The options' logits, and the edges'."""
        return [*self.options.leaves(), self.edges.differentiable()]

    def rows(self, leaves: Sequence[Tensor], clock: Clock) -> list[Tensor]:
        """The products; a node's rows sum to one together."""
        rows = self.options.rows(leaves[:1], clock)
        for node, logits in zip(self.nodes, leaves[1].split(self.edges.sizes), strict=True):
            for edge, beta in zip(node, logits.softmax(0), strict=True):
                rows[edge] = rows[edge] * beta
        return rows

    def descend(self, gradients: Sequence[Tensor]) -> None:
        """One optimiser step of both."""
        self.options.descend(gradients[:1])
        self.edges.ascend(-gradients[1].double().numpy())

    def probabilities(self) -> list[np.ndarray]:
        """Those of the options within their edge."""
        return self.options.probabilities()

    def scores(self) -> list[np.ndarray]:
        """The products."""
        rows = self.options.probabilities()
        for node, betas in zip(self.nodes, self.edges.probabilities(), strict=True):
            for edge, beta in zip(node, betas, strict=True):
                rows[edge] = rows[edge] * beta
        return rows

    def state_dict(self) -> dict[str, Any]:
        """Both policies'."""
        return {"options": self.options.state_dict(), "edges": self.edges.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.options.load_state_dict(state["options"])
        self.edges.load_state_dict(state["edges"])
