"""The decision diagram: exact counts, probabilities and samples by sums over its edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Rows of logits whose spread, summed over decisions, stays below this cannot underflow a product
# of probabilities in double precision (the smallest is about exp(-708)).
_SAFE_SPREAD = 600.0


@dataclass(frozen=True)
class Diagram:
    """The feasible architectures as paths through a small layered graph, and nothing but them.

    A state of level i stands for all ways to answer the first i decisions that leave the *same*
    ways to go on; the graph is minimal in this sense (a reduced multi-valued decision diagram). A
    knapsack table over (decision, option, cost so far) holds the same information; merging the
    states that differ in cost but not in what is still possible makes it tens of times smaller.

    Attributes:
        levels: for each decision an integer array [states, options]: the state of the next level
            that an option leads to; the number of states of the next level means that it fits no
            more. Level 0 has one state, and so has the level after the last decision.
        order: the number of each level's decision. What goes in and comes out, rows and picks,
            is by these numbers.
    """

    levels: tuple[np.ndarray, ...]
    order: tuple[int, ...]

    @property
    def transitions(self) -> int:
        """The number of entries in all levels: what one pass costs."""
        return sum(level.size for level in self.levels)

    @property
    def whole(self) -> bool:
        """Whether every combination of options is a path."""
        dead = (level == self.states_after(i) for i, level in enumerate(self.levels))
        return not any(found.any() for found in dead)

    def count(self) -> int:
        """The number of paths, exactly (Python integers where 64 bits might not hold it)."""
        bound = 1
        for level in self.levels:
            bound *= level.shape[1]
        dtype = np.int64 if bound < 2**62 else object
        ways = np.array([1, 0], dtype=dtype)
        for level in reversed(self.levels):
            ways = np.append(ways[level].sum(axis=1), np.zeros(1, dtype=dtype))
        return int(ways[0])

    def reachable(self) -> list[np.ndarray]:
        """For each decision the indices of the options that lie on some path."""
        kept = []
        for i, level in enumerate(self.levels):
            kept.append(np.flatnonzero((level != self.states_after(i)).any(axis=0)))
        return self.by_number(kept)

    def by_number(self, rows: Sequence[np.ndarray]) -> list[np.ndarray]:
        """What there is for each level, in the order of decisions."""
        return [rows[k] for k in np.argsort(self.order)]

    def states_after(self, i: int) -> int:
        """The number of states after decision i, which is also the mark of a dead transition."""
        return len(self.levels[i + 1]) if i + 1 < len(self.levels) else 1

    def condition(self, log_probs: Sequence[np.ndarray]) -> PathLaw:
        """The law of a path whose options are drawn independently, given that the path exists."""
        spread = sum(float(row.max() - row.min()) for row in log_probs)
        read = [log_probs[i] for i in self.order]
        if spread < _SAFE_SPREAD:
            return self._condition_linear([np.exp(row) for row in read])
        return self._condition_log(read)

    def _condition_linear(self, probs: Sequence[np.ndarray]) -> PathLaw:
        ahead = np.array([1.0, 0.0])
        log_total = 0.0
        steps: list[np.ndarray] = []
        for level, row in zip(reversed(self.levels), reversed(probs), strict=True):
            step = ahead.take(level)
            step *= row
            ahead = np.append(step.sum(axis=1), 0.0)
            step /= ahead[:-1, None]
            steps.append(step)
            # Keep the numbers near one: only their ratios matter within a level.
            scale = ahead.max()
            ahead /= scale
            log_total += float(np.log(scale))
        return PathLaw(self, tuple(reversed(steps)), log_total)

    def _condition_log(self, log_probs: Sequence[np.ndarray]) -> PathLaw:
        ahead = np.array([0.0, -np.inf])
        steps: list[np.ndarray] = []
        for level, row in zip(reversed(self.levels), reversed(log_probs), strict=True):
            step = ahead.take(level) + row
            top = step.max(axis=1)
            finite_top = np.where(np.isfinite(top), top, 0.0)
            weights = np.exp(step - finite_top[:, None])
            sums = weights.sum(axis=1)
            with np.errstate(divide="ignore"):
                ahead = np.append(finite_top + np.log(sums), -np.inf)
            steps.append(weights / np.where(sums > 0, sums, 1.0)[:, None])
        return PathLaw(self, tuple(reversed(steps)), float(ahead[0]))

    def best(self, scores: Sequence[np.ndarray]) -> tuple[int, ...]:
        """The path with the largest sum of scores, one row of scores for each decision."""
        ahead = np.array([0.0, -np.inf])
        sums: list[np.ndarray] = []
        read = [scores[i] for i in self.order]
        for level, row in zip(reversed(self.levels), reversed(read), strict=True):
            step = ahead.take(level) + row
            ahead = np.append(step.max(axis=1), -np.inf)
            sums.append(step)
        state, picks = 0, [0] * len(self.levels)
        for i, (level, step) in enumerate(zip(self.levels, reversed(sums), strict=True)):
            alive = level[state] != self.states_after(i)
            # A feasible option may score minus infinity; a dead one must lose even to that.
            pick = int(np.argmax(np.where(alive, np.maximum(step[state], -1e300), -np.inf)))
            picks[self.order[i]] = pick
            state = int(level[state, pick])
        return tuple(picks)

    def k_best(self, scores: Sequence[np.ndarray], k: int) -> np.ndarray:
        """The k paths with the largest sums of scores, best first: picks [at most k, decisions].

        From the front, the k beginnings whose best ends give the largest sums are kept at each
        level. That is exact: whoever has k better ones before it is no beginning of the k best. It
        costs one pass over the diagram and k rows a level, however many states a level has.

        Among options that score minus infinity, paths with fewer of them come first. Equal sums
        are in the order of their picks as levels are read.
        """
        read = _with_lowest([scores[i] for i in self.order])
        ahead = [np.array([0.0, -np.inf])]
        for level, row in zip(reversed(self.levels), reversed(read), strict=True):
            ahead.append(np.append((ahead[-1].take(level) + row).max(axis=1), -np.inf))
        ahead.reverse()
        states, sums = np.zeros(1, dtype=np.intp), np.zeros(1)
        begun = np.empty((1, 0), dtype=np.int64)
        for level, row, rest in zip(self.levels, read, ahead[1:], strict=True):
            after = level[states]  # [beginnings, options]
            sums_after = sums[:, None] + row
            whole = (sums_after + rest.take(after)).ravel()
            # Beginnings and options are in order, so a stable sort leaves equal ones in theirs.
            best = np.argsort(-whole, kind="stable")[:k]
            kept = np.sort(best[np.isfinite(whole[best])])
            before, option = np.divmod(kept, len(row))
            begun = np.column_stack((begun[before], option))
            states, sums = after.ravel()[kept], sums_after.ravel()[kept]
        found = begun[np.argsort(-sums, kind="stable")]
        return found[:, np.argsort(self.order)]


def _with_lowest(rows: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Rows with a number in place of minus infinity that all finite scores together cannot make up.

    A sum of them orders paths by how many such options they have, and then by the rest.
    """
    largest = (np.abs(row[row > -np.inf]).max(initial=0.0) for row in rows)
    lowest = -1.0 - 2.0 * float(sum(largest))
    return [np.where(row > -np.inf, row, lowest) for row in rows]


@dataclass(frozen=True)
class PathLaw:
    """The exact conditional law of architectures given that they are feasible.

    Attributes:
        diagram: the feasible architectures.
        steps: for each level an array [states, options]: the probability of each option at each
            state, given feasibility.
        log_probability: log P(V), the log of the probability that an unconditional draw fits.
    """

    diagram: Diagram
    steps: tuple[np.ndarray, ...]
    log_probability: float

    def marginals(self) -> list[np.ndarray]:
        """m_ij = P(option j at decision i | feasible), a row for each decision."""
        visits: np.ndarray = np.ones(1)
        rows = []
        for i, (level, step) in enumerate(zip(self.diagram.levels, self.steps, strict=True)):
            # Not visits @ step: its rounding would depend on how many threads BLAS has.
            flow = visits[:, None] * step
            rows.append(flow.sum(axis=0))
            size = self.diagram.states_after(i)
            visits = np.bincount(level.ravel(), weights=flow.ravel(), minlength=size + 1)[:size]
        return self.diagram.by_number(rows)

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws as a pick matrix [n, decisions]; every one is feasible."""
        states = np.zeros(n, dtype=np.int64)
        picks = np.empty((n, len(self.steps)), dtype=np.int64)
        for i, (level, step) in enumerate(zip(self.diagram.levels, self.steps, strict=True)):
            rows = np.cumsum(step[states], axis=1)
            marks = rng.random(n) * rows[:, -1]
            # The first option whose cumulated probability exceeds the mark has itself probability
            # above zero, so rounding can never pick a dead option.
            chosen = (rows <= marks[:, None]).sum(axis=1)
            picks[:, self.diagram.order[i]] = chosen
            states = level[states, chosen]
        return picks
