"""Agents of MANAS: one for each decision, which choose by blame."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from meritnas.cost.diagram import PathLaw
from meritnas.cost.feasible import FeasibleSet
from meritnas.policy.neighbours import is_free
from meritnas.policy.policy import draw
from meritnas.policy.pooled import Kin, pooled_means
from meritnas.space.architecture import Architecture


class Sampling(Protocol):
    """How an agent's blame for losses becomes a choice among its options."""

    @property
    def exploration(self) -> float:
        """The chance of an equal choice instead."""
        ...

    @property
    def settings(self) -> Mapping[str, float]:
        """What it was set to, by the paper's names, for a run's record."""
        ...

    def logits(self, blame: np.ndarray) -> np.ndarray:
        """Logarithms of unnormalised probabilities [options], given blame [options]."""
        ...


@dataclass(frozen=True)
class Softmax:
    """EXP3: pi = (1 - gamma) * softmax(-eta * B) + gamma / K (MANAS, section 4.2 and B.1).

    Deviation: section 4.2 prints exp(+eta * B), which prefers the largest loss.

    Attributes:
        rate: eta.
        exploration: gamma.
    """

    rate: float
    exploration: float

    @property
    def settings(self) -> Mapping[str, float]:
        """They follow from the number of rounds, unless they were given."""
        return {"eta": self.rate, "gamma": self.exploration}

    def logits(self, blame: np.ndarray) -> np.ndarray:
        """The largest is 0, whatever was added to all of an agent's blame."""
        return -self.rate * (blame - blame.min())


@dataclass(frozen=True)
class Zipf:
    """pi_k = 1 / (rank_k * H_K), the least blame first (MANAS, section 4.2).

    No option is ever drawn less often than 1 / (K * H_K). Equal options share what their ranks
    give: the paper leaves ties open, and whatever comes first, `none` often, has not earned a rank.
    """

    exploration: float = 0.0

    @property
    def settings(self) -> Mapping[str, float]:
        """None."""
        return {}

    def logits(self, blame: np.ndarray) -> np.ndarray:
        """Minus the logarithms of ranks from 1, where no two are equal."""
        by_rank = 1.0 / np.arange(1, len(blame) + 1)
        _, group, sizes = np.unique(blame, return_inverse=True, return_counts=True)
        firsts = np.cumsum(sizes) - sizes
        shares = np.add.reduceat(by_rank, firsts) / sizes
        return np.asarray(np.log(shares[group.ravel()]))


def exp3_rate(options: int, rounds: int) -> float:
    """EXP3.P's eta = .95 * sqrt(ln K / (n K)); MANAS prints it without the root over n and K."""
    return 0.95 * math.sqrt(math.log(max(2, options)) / (max(1, rounds) * options))


def exp3_exploration(options: int, rounds: int) -> float:
    """EXP3.P's gamma = 1.05 * sqrt(K ln K / n), at most 1; MANAS prints it without the root."""
    return min(1.0, 1.05 * math.sqrt(options * math.log(max(2, options)) / max(1, rounds)))


@dataclass(frozen=True)
class Proposals:
    """Joint actions, and how probable each single one was.

    Attributes:
        picks: [n, agents].
        marginals: a row for each agent: the probability of each option under the law that the
            picks came from.
    """

    picks: np.ndarray
    marginals: list[np.ndarray]


@dataclass
class Agents:
    """One agent for each decision, each with its own blame for its options (MANAS, section 3).

    Without limits each agent draws by its own row (1 - gamma) * pi + gamma / K. With limits the
    agents propose together what is feasible, exactly: from p(. | V) with probability 1 - gamma
    and from the uniform law on V with gamma, so that options have the
    marginals (1 - gamma) * m + gamma * u. The bounds on regret hold without limits only.

    Attributes:
        feasible: what may be proposed.
        sampling: how blame becomes a choice.
        blame: B, a row for each agent; zeros at first, when all options are equal.
        draws: how many rounds an option's blame stands for, a row for each agent; 0 for what was
            never drawn.
        excess: what the recommendation goes by, in as many rounds, a row for each agent; blame
            itself unless something else was learnt.
        times: how often an option was drawn, a row for each agent.
        noise: the variance of a round's loss.
        kin: agents who learn from each other for the recommendation; empty for none.
    """

    feasible: FeasibleSet
    sampling: Sampling
    blame: list[np.ndarray] = field(default_factory=list)
    draws: list[np.ndarray] = field(default_factory=list)
    excess: list[np.ndarray] = field(default_factory=list)
    times: list[np.ndarray] = field(default_factory=list)
    noise: float = 0.0
    kin: tuple[Kin, ...] = ()
    _reachable: list[np.ndarray] = field(default_factory=list, init=False)
    _uniform: tuple[PathLaw, list[np.ndarray]] | None = field(default=None, init=False)
    _own: tuple[PathLaw, list[np.ndarray]] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self._reachable = self.feasible.reachable()
        if not self.blame:
            self.blame = [np.zeros(size) for size in self.feasible.space.sizes]
        if not self.draws:
            self.draws = [np.zeros(size) for size in self.feasible.space.sizes]
        if not self.excess:
            self.excess = self.blame
        if not self.times:
            self.times = [np.zeros(size) for size in self.feasible.space.sizes]

    @property
    def free(self) -> bool:
        """Whether a draw costs next to nothing: no table has to be filled for it."""
        return is_free(self.feasible)

    def learn(
        self,
        blame: list[np.ndarray],
        draws: list[np.ndarray],
        excess: list[np.ndarray] | None = None,
        times: list[np.ndarray] | None = None,
    ) -> None:
        """Choose by this blame for so many rounds from now on, and recommend by the excess."""
        self.blame, self.draws = blame, draws
        self.excess = blame if excess is None else excess
        self.times = self.times if times is None else times
        self._own = None

    def logits(self) -> list[np.ndarray]:
        """Of each agent's choice, exploration left out; equal while it blames nothing.

        What is in no feasible architecture takes no rank from the others.
        """
        return [self._logits(*own) for own in zip(self.blame, self._reachable, strict=True)]

    def _logits(self, blame: np.ndarray, reachable: np.ndarray) -> np.ndarray:
        if not blame.any():
            return np.zeros_like(blame)
        known = self.sampling.logits(blame[reachable])
        found = np.full(len(blame), known.min())
        found[reachable] = known
        return found

    def probabilities(self) -> list[np.ndarray]:
        """A row for each agent, exploration included, limits left out."""
        share = self.sampling.exploration
        return [(1.0 - share) * _softmax(row) + share / len(row) for row in self.logits()]

    def propose(self, n: int, rng: np.random.Generator) -> Proposals:
        """Joint actions, all of them feasible."""
        if self.free:
            rows = self.probabilities()
            return Proposals(draw(rows, n, rng), rows)
        if self._own is None:
            self._own = self._law(self.logits())
        law, marginals = self._own
        picks = law.sample(n, rng)
        share = self.sampling.exploration
        if share > 0:
            if self._uniform is None:
                self._uniform = self._law([np.zeros_like(row) for row in self.blame])
            uniform, equal = self._uniform
            explores = rng.random(n) < share
            picks[explores] = uniform.sample(int(explores.sum()), rng)
            marginals = [
                (1.0 - share) * m + share * u for m, u in zip(marginals, equal, strict=True)
            ]
        return Proposals(picks, marginals)

    def _law(self, logits: list[np.ndarray]) -> tuple[PathLaw, list[np.ndarray]]:
        law = self.feasible.condition(logits)
        return law, law.marginals()

    def favourite(self) -> Architecture:
        """The feasible architecture with the least excess a round in all.

        Deviation: the paper's mode is that of B itself. B adds up over rounds, so in short searches
        it is least for what was drawn by chance the least often.

        What was never drawn comes after all that was: a short search would end with what it knows
        nothing of.

        With kin, an option's mean excess is drawn towards that of the same operation elsewhere, as
        much as evidence says (`pooled_means`; not in the paper).
        """
        return self.feasible.best(self._worths())

    def recommended(self) -> list[np.ndarray]:
        """How probable each option is under what the agents recommend: a row for each agent.

        A softmax of what options are worth, in units of two standard errors of their means, so that
        differences which chance alone makes leave rows nearly equal. The most probable feasible
        network is the favourite.
        """
        rounds = float(np.mean([row.mean() for row in self.times]))
        if self.noise <= 0 or rounds <= 0:
            return [np.full(len(row), 1.0 / len(row)) for row in self.blame]
        error = math.sqrt(self.noise / rounds)
        return [_softmax(row / (2.0 * error)) for row in self._worths()]

    def _worths(self) -> list[np.ndarray]:
        """How much worse each option is in a round than its agent's best: 0 or less."""
        means = [_mean(*known) for known in zip(self.excess, self.draws, strict=True)]
        if self.kin:
            pooled = pooled_means(means, self.times, self.noise, self.kin)
            parts = zip(pooled, means, strict=True)
            means = [np.where(np.isfinite(own), row, np.inf) for row, own in parts]
        worth = [_worth(row) for row in means]
        unknown = -1.0 + sum(row[np.isfinite(row)].min(initial=0.0) for row in worth)
        return [np.maximum(row, unknown) for row in worth]

    def one_draw(self, rng: np.random.Generator) -> Architecture:
        """A feasible architecture by the agents' choice, without exploration (algorithm 1)."""
        return self.feasible.sample(self.logits(), 1, rng)[0]


def _mean(excess: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """The excess in a round; infinite for what was never drawn."""
    return np.divide(excess, draws, out=np.full(len(excess), np.inf), where=draws > 0)


def _worth(mean: np.ndarray) -> np.ndarray:
    """How much worse an option is in a round than its agent's best: 0 to -inf."""
    return mean.min() - mean if np.isfinite(mean).any() else np.zeros(len(mean))


def _softmax(row: np.ndarray) -> np.ndarray:
    weights = np.exp(row - row.max())
    return np.asarray(weights / weights.sum())
