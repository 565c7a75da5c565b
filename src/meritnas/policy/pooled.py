"""What agents know together: an option's mean drawn towards that of its kin, by evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.space.space import Space

SHARES = (
    *((0.0, 0.0, 1.0), (0.0, 0.1, 0.9), (0.0, 0.25, 0.75), (0.0, 0.5, 0.5), (0.0, 0.75, 0.25)),
    *((0.1, 0.0, 0.9), (0.25, 0.0, 0.75), (0.5, 0.0, 0.5), (0.25, 0.25, 0.5), (0.1, 0.4, 0.5)),
)
"""Of what options differ by: due to the operation, to it on that edge, to it there in that cell."""

_SIZES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_NOTHING_SHARED = 30.0
"""How much likelier than each other share the first one is before anything was seen."""


@dataclass(frozen=True)
class Kin:
    """Agents that choose among the same operations.

    Attributes:
        agents: [agents], their numbers, those of one edge next to each other.
        starts: [edges], where the agents of each edge begin.
    """

    agents: np.ndarray
    starts: np.ndarray


def kin_of(space: Space, tables: Sequence[Sequence[int]]) -> tuple[Kin, ...]:
    """Decisions with the same options by name; those at the same place of their cell are one edge.

    Args:
        space: whose decisions the agents answer.
        tables: the decisions of each cell; decisions of no cell are edges of their own.
    """
    places = {agent: place for table in tables for place, agent in enumerate(table)}
    kinds: dict[tuple[str, ...], list[int]] = {}
    for agent, decision in enumerate(space.decisions):
        kinds.setdefault(tuple(option.name for option in decision.options), []).append(agent)
    found = []
    for agents in kinds.values():
        edges: dict[int, list[int]] = {}
        for agent in agents:
            edges.setdefault(places.get(agent, -1 - agent), []).append(agent)
        lengths = [len(edge) for edge in edges.values()]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        found.append(Kin(np.array([a for edge in edges.values() for a in edge]), starts))
    return tuple(found)


def pooled_means(
    means: Sequence[np.ndarray], times: Sequence[np.ndarray], noise: float, kin: Sequence[Kin]
) -> list[np.ndarray]:
    """How much options differ from the mean of their agent: a row for each agent.

    A mean of few draws is mostly noise. The same operation on the same edge of another cell, and
    on any edge, says something about it if operations do alike there, and nothing if not. With
    effects x = operation + operation on the edge + operation there in the cell, all three normal,
    this is the expectation of x given all means, over ten ways in which variance may be divided
    between the three and seven sizes of it, each counting as much as it makes the means likely
    (empirical Bayes). Before anything was seen, that nothing is shared counts thirty times as much
    as each other way: in simulations it loses nothing then where nothing is shared.

    Args:
        means: of losses by option, a row for each agent; anything where it was not drawn.
        times: how often options were drawn.
        noise: the variance of a loss.
        kin: who is whose.
    """
    found = [np.zeros(len(row)) for row in means]
    for some in kin:
        count = np.array([times[agent] for agent in some.agents])
        if noise <= 0 or not count.any():
            continue
        seen = np.where(count > 0, np.array([means[agent] for agent in some.agents]), 0.0)
        own = (seen * count).sum(axis=1) / np.maximum(count.sum(axis=1), 1e-12)
        seen = np.where(count > 0, seen - own[:, None], 0.0)
        for agent, row in zip(some.agents, _expected(seen, count, noise, some.starts), strict=True):
            found[agent] = row
    return found


def _expected(means: np.ndarray, times: np.ndarray, noise: float, starts: np.ndarray) -> np.ndarray:
    unit = noise / float(times.mean())
    tried = [
        _given(means, times / noise, starts, *(size * unit * part for part in shares))
        for shares in SHARES
        for size in _SIZES
    ]
    prior = np.repeat([_NOTHING_SHARED] + [1.0] * (len(SHARES) - 1), len(_SIZES))
    evidence = np.log(prior) + np.array([likely for _, likely in tried])
    weights = np.exp(evidence - evidence.max())
    weights /= weights.sum()
    total = np.zeros_like(means)
    for weight, (rows, _) in zip(weights, tried, strict=True):
        total += weight * rows
    return total


def _given(
    means: np.ndarray,
    precision: np.ndarray,
    starts: np.ndarray,
    by_operation: float,
    by_edge: float,
    by_cell: float,
) -> tuple[np.ndarray, float]:
    """(expected effects [agents, options], log-likelihood of the means) for given variances.

    Sums go up from agents to edges to operations, expectations down again.

    Args:
        means: [agents, options].
        precision: of the means, likewise; 0 for what was not drawn.
        starts: [edges], where the agents of each edge begin.
        by_operation: variance of effects of operations.
        by_edge: of operations on edges.
        by_cell: of operations on edges in cells; above 0.
    """
    edge_of = np.repeat(np.arange(len(starts)), np.diff([*starts, len(means)]))
    weights = precision / (1.0 + by_cell * precision)
    sums = np.add.reduceat(weights, starts, axis=0)
    edges = np.add.reduceat(weights * means, starts, axis=0) / np.maximum(sums, 1e-300)
    above = sums / (1.0 + by_edge * sums)
    total = above.sum(axis=0)
    operations = (above * edges).sum(axis=0) / np.maximum(total, 1e-300)
    likely = -0.5 * float(
        _surprise(weights, means - edges[edge_of])
        + _logs(sums)
        + _surprise(above, edges - operations)
        + _logs(total)
        + _surprise(total / (1.0 + by_operation * total), operations)
    )
    top = by_operation * total / (1.0 + by_operation * total) * operations
    middle = (top + by_edge * sums * edges) / (1.0 + by_edge * sums)
    return (middle[edge_of] + by_cell * precision * means) / (1.0 + by_cell * precision), likely


def _surprise(precision: np.ndarray, gaps: np.ndarray) -> float:
    """Minus twice the log-density of gaps with these precisions, where there is any."""
    return float((precision * gaps**2).sum()) - _logs(precision)


def _logs(precision: np.ndarray) -> float:
    return float(np.log(precision[precision > 0]).sum())
