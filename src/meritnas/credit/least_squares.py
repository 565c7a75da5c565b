"""A regression of losses on what was picked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from scipy import linalg
from torch import Tensor

from meritnas.cost.feasible import FeasibleSet
from meritnas.devices.placement import on_cpu
from meritnas.space.architecture import Architecture

_SINGULAR = 1e-10
_ROWS_AT_ONCE = 512


class LeastSquares:
    """Each option's share in losses, by linear regression (MANAS, section 4.1, linear).

    With one-hot columns z of joint actions and losses L, B = pinv(Z Z') Z L: the least squares
    solution of smallest norm. Normal equations are added up as losses come, a few hundred at once,
    in float64, so that memory does not grow with their number.

    Losses of one call are taken to be judged on one batch, whose difficulty they share. Both sides
    are centred within a call, which is the regression with one more unknown for each
    batch (Frisch, Waugh and Lovell); a call with one loss teaches nothing.

    Only differences within an agent can be known: Z Z' has rank N(K - 1) + 1 at most. Adding a
    block of ones for each agent fills the space that is left and makes its solution that
    of smallest norm, in which an agent's coefficients sum to zero; a Cholesky factor then does.
    Where losses are too few for that, eigenvectors do.

    Args:
        sizes: the number of options of each agent.
        ridge: added to the diagonal: so many draws of each option at which nothing was lost or
            won. An option that was drawn once would fit its own noise and come first or last;
            with many draws it does not matter. 0 for the paper's solution.
    """

    def __init__(self, sizes: Sequence[int], ridge: float = 0.0) -> None:
        self.sizes = tuple(sizes)
        self.ridge = ridge
        self._starts = np.concatenate([[0], np.cumsum(self.sizes)])
        columns = int(self._starts[-1])
        self._products = np.zeros((columns, columns))
        self._effects = np.zeros(columns)
        self._seen = np.zeros(columns)
        self._waiting = np.zeros((0, columns + 1))

    def add(self, picks: np.ndarray, losses: np.ndarray) -> None:
        """Joint actions [n, agents] and their losses [n] on one batch."""
        actions = np.zeros((len(picks), len(self._effects)))
        np.put_along_axis(actions, self._starts[:-1] + picks, 1.0, axis=1)
        self._seen += actions.sum(axis=0)
        rows = np.column_stack([actions, losses])
        self._waiting = np.concatenate([self._waiting, rows - rows.mean(axis=0)])
        if len(self._waiting) >= _ROWS_AT_ONCE:
            self._take_in()

    def _take_in(self) -> None:
        """A product for every few losses would take longer than all the rest."""
        actions, losses = self._waiting[:, :-1], self._waiting[:, -1]
        self._products += actions.T @ actions
        self._effects += actions.T @ losses
        self._waiting = self._waiting[:0]

    def forget(self, share: float) -> None:
        """Let what was seen count less; 1 for not at all."""
        self._take_in()
        kept = 1.0 - share
        self._products *= kept
        self._effects *= kept
        self._seen *= kept

    def seen(self) -> list[np.ndarray]:
        """For each agent booleans [options]: which of them occurred."""
        return np.split(self._seen > 0, self._starts[1:-1])

    def solve(self) -> list[np.ndarray]:
        """Coefficients, a row for each agent, that sum to zero; 0 for what never occurred."""
        self._take_in()
        seen = self._seen > 0
        filled = self._products + self.ridge * np.eye(len(self._products))
        filled[~seen, ~seen] = 1.0
        scale = max(float(np.diagonal(self._products).mean()), _SINGULAR)
        for first, last in zip(self._starts[:-1], self._starts[1:], strict=True):
            own = first + np.flatnonzero(seen[first:last])
            filled[np.ix_(own, own)] += scale
        try:
            factor = linalg.cholesky(filled, lower=True, check_finite=False)
        except linalg.LinAlgError:
            factor = None
        if factor is None or _nearly_singular(factor):
            found = _smallest_norm(self._products, self._effects)
        else:
            found = linalg.cho_solve((factor, True), self._effects, check_finite=False)
        return np.split(found, self._starts[1:-1])

    def best(self, feasible: FeasibleSet) -> Architecture | None:
        """None: the best network is that of the least coefficients."""
        del feasible
        return None

    def state_dict(self) -> dict[str, Any]:
        """The normal equations, and what was not yet added to them."""
        return {
            "products": torch.from_numpy(self._products.copy()),
            "effects": torch.from_numpy(self._effects.copy()),
            "seen": torch.from_numpy(self._seen.copy()),
            "waiting": torch.from_numpy(self._waiting.copy()),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._products = _own(state["products"])
        self._effects = _own(state["effects"])
        self._seen = _own(state["seen"])
        self._waiting = _own(state["waiting"])


def _nearly_singular(factor: np.ndarray) -> bool:
    pivots = np.diagonal(factor) ** 2
    return bool(pivots.min() < _SINGULAR * pivots.max())


def _smallest_norm(products: np.ndarray, effects: np.ndarray) -> np.ndarray:
    """pinv(products) @ effects."""
    values, vectors = linalg.eigh(products, check_finite=False)
    kept = values > _SINGULAR * max(values[-1], _SINGULAR)
    return np.asarray(vectors[:, kept] @ ((vectors[:, kept].T @ effects) / values[kept]))


def _own(tensor: Tensor) -> np.ndarray:
    return np.array(on_cpu(tensor).numpy(), dtype=np.float64)
