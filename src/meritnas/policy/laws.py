"""How a policy becomes architectures to learn from, with or without limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.policy.neighbours import is_free
from meritnas.policy.policy import Policy, draw


@dataclass(frozen=True)
class Draw:
    """Architectures to learn from, and what makes their score function unbiased.

    Attributes:
        picks: [n, decisions]; may be empty when all draws were rejected.
        center: a row for each decision: the gradient of the log-probability of picks y with
            respect to the logits is onehot(y) - center.
        probability: P(V) under the policy, exact or estimated; None where it plays no part.
    """

    picks: np.ndarray
    center: list[np.ndarray]
    probability: float | None


class Law(Protocol):
    """How a policy becomes architectures to learn from."""

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """At most n architectures."""
        ...


@dataclass(frozen=True)
class Unrestricted:
    """y ~ p, whatever it costs (TabNAS algorithm 1)."""

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """Centred at the policy."""
        probabilities = policy.probabilities()
        return Draw(draw(probabilities, n, rng), probabilities, None)


@dataclass(frozen=True)
class Conditional:
    """y ~ p(. | V) exactly: every draw fits and every step is used.

    Goes beyond TabNAS' algorithm 2, whose rejected draws are lost steps; the law of what is
    learnt from, and so the expected gradient, is the same.
    """

    feasible: FeasibleSet

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """Centred at the marginals given feasibility."""
        law = self.feasible.condition(policy.rows())
        picks = law.sample(n, rng)
        return Draw(picks, law.marginals(), float(np.exp(law.log_probability)))


@dataclass(frozen=True)
class Rejection:
    """y ~ p, infeasible draws dropped, exact P(V) (TabNAS algorithm 2 where V is enumerable)."""

    feasible: FeasibleSet

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """What is left of n draws, centred at the marginals given feasibility."""
        picks = draw(policy.probabilities(), n, rng)
        law = self.feasible.condition(policy.rows())
        kept = picks[self.feasible.contains(picks)]
        return Draw(kept, law.marginals(), float(np.exp(law.log_probability)))


@dataclass(frozen=True)
class MonteCarloRejection:
    """y ~ p, infeasible draws dropped, P(V) estimated from N samples (TabNAS algorithm 2).

    With the proposal q = stop_grad(p) the estimate is the feasible fraction of the N samples, and
    the gradient of its log is the mean of onehot(z) - p over the feasible samples z, so the
    centre is the mean of onehot(z). Without any feasible sample nothing is learnt (the paper's
    objective would be infinite there).
    """

    feasible: FeasibleSet
    samples: int
    chunk: int = 500_000

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """What is left of n draws, centred at the estimated marginals."""
        probabilities = policy.probabilities()
        picks = draw(probabilities, n, rng)
        kept = picks[self.feasible.contains(picks)]
        probability, center = self.estimate(probabilities, rng)
        return Draw(kept if probability > 0 else kept[:0], center, probability)

    def estimate(
        self, probabilities: list[np.ndarray], rng: np.random.Generator
    ) -> tuple[float, list[np.ndarray]]:
        """(estimate of P(V), estimated marginals given feasibility)."""
        counts = [np.zeros(len(row)) for row in probabilities]
        fitting = 0
        for start in range(0, self.samples, self.chunk):
            z = draw(probabilities, min(self.chunk, self.samples - start), rng)
            z = z[self.feasible.contains(z)]
            fitting += len(z)
            for i, row in enumerate(counts):
                row += np.bincount(z[:, i], minlength=len(row))
        return fitting / self.samples, [row / max(fitting, 1) for row in counts]


@dataclass(frozen=True)
class Uncorrected:
    """y ~ p, infeasible draws dropped, P(V) left out: J(y) = stop_grad(Q - Qbar) * log P(y).

    An ablation of TabNAS (section 4.3, appendix F), here to be compared with. Its two forms, no
    P(V) at all and a P(V) that is not differentiated, are this one law: a constant log P(V) has no
    gradient, so that of y is onehot(y) - p in both. (A Monte-Carlo estimate that is not
    differentiated matters only where it is 0 and a step is lost.)

    Its mean misses the gradient of E[r | V] by (E[r | V] - b) * (m - p), where m are the marginals
    given feasibility and m - p is the gradient of log P(V): while draws do worse than the average
    b, the policy leaves V, while they do better it runs into V, whatever their order. Where the
    signals of an update sum to zero, as with `Paired`, the centre drops out and nothing is missed.
    """

    feasible: FeasibleSet

    def draw(self, policy: Policy, n: int, rng: np.random.Generator) -> Draw:
        """What is left of n draws, centred at the policy."""
        probabilities = policy.probabilities()
        picks = draw(probabilities, n, rng)
        return Draw(picks[self.feasible.contains(picks)], probabilities, None)


def feasible_law(feasible: FeasibleSet) -> Law:
    """The law p(. | V); where V is everything simply p, which is the same and cheaper."""
    return Unrestricted() if is_free(feasible) else Conditional(feasible)


def valid_law(feasible: FeasibleSet) -> Law:
    """The law p, whatever draws cost, but valid: given the space's rule where it has one."""
    space = feasible.space
    if space.rule is None:
        return Unrestricted()
    return Conditional(FeasibleSet(space, {}, ()) if feasible.limits else feasible)
