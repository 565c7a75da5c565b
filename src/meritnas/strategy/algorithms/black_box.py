"""Search by one-shot losses, once the supernet has been trained on uniform paths."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.space.architecture import Architecture
from meritnas.strategy.strategy import Learnt, rng_state, set_rng_state
from meritnas.strategy.turns import AFTER_WEIGHTS, Turns
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.probe import Probe


@dataclass
class Archive:
    """What has been judged so far: picks and one-shot losses, in the order of judging."""

    picks: list[tuple[int, ...]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def best_first(self) -> list[int]:
        """Positions sorted by loss, the earlier first where equal."""
        return sorted(range(len(self.losses)), key=self.losses.__getitem__)


class Proposer(Protocol):
    """What to judge next, given what has been judged."""

    def propose(
        self, archive: Archive, feasible: FeasibleSet, rng: np.random.Generator
    ) -> tuple[int, ...]:
        """A feasible architecture's picks."""
        ...


@dataclass
class BlackBox:
    """Train the supernet on uniform paths, then search the feasible set by one-shot losses.

    TabNAS appendix D: random, evolutionary and Bayesian search with weight sharing, given as many
    passes as the policy gradient uses, or fewer where proposals themselves are dear.
    """

    feasible: FeasibleSet
    proposer: Proposer
    rng: np.random.Generator
    keep: int = 3
    turns: Turns = AFTER_WEIGHTS
    archive: Archive = field(default_factory=Archive)

    def sample(self, clock: Clock) -> Gates:
        """A path drawn uniformly from the whole space."""
        del clock
        space = self.feasible.space
        return one_path(space.picks(space.random(self.rng)))

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """Judge one proposal on the whole validation part."""
        del clock
        return Learnt({"reward": 1.0 - self.judge(probe), "used": 1.0})

    def judge(self, probe: Probe) -> float:
        """The one-shot loss of the next proposal, which goes into the archive."""
        picks = self.proposer.propose(self.archive, self.feasible, self.rng)
        if picks in self.archive.picks:
            loss = self.archive.losses[self.archive.picks.index(picks)]
        else:
            loss = probe.held_out_loss(np.array(picks))
        self.archive.picks.append(picks)
        self.archive.losses.append(loss)
        return loss

    def beliefs(self) -> list[np.ndarray]:
        """How often each option occurs among the best tenth of what was judged."""
        order = self.archive.best_first()
        elite = order[: max(1, len(order) // 10)]
        rows = []
        for i, size in enumerate(self.feasible.space.sizes):
            if not elite:
                rows.append(np.full(size, 1.0 / size))
                continue
            picked = [self.archive.picks[k][i] for k in elite]
            rows.append(np.bincount(picked, minlength=size) / len(elite))
        return rows

    def leader(self) -> Architecture:
        """The best judged so far; before that, the middle of the feasible set."""
        order = self.archive.best_first()
        if order:
            return self.feasible.space.architecture(self.archive.picks[order[0]])
        return self.feasible.mode([np.zeros(size) for size in self.feasible.space.sizes])

    def derive(self, probe: Probe) -> list[Architecture]:
        """The few best judged ones."""
        del probe
        found: list[Architecture] = []
        for k in self.archive.best_first():
            architecture = self.feasible.space.architecture(self.archive.picks[k])
            if architecture not in found:
                found.append(architecture)
            if len(found) == self.keep:
                break
        return found or [self.leader()]

    def state_dict(self) -> dict[str, Any]:
        """Archive and generator."""
        return {
            "picks": [list(picks) for picks in self.archive.picks],
            "losses": list(self.archive.losses),
            "rng": rng_state(self.rng),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self.archive = Archive([tuple(row) for row in state["picks"]], list(state["losses"]))
        set_rng_state(self.rng, state["rng"])


def uniform_draw(feasible: FeasibleSet, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw architectures, every feasible one equally likely: a pick matrix [n, decisions]."""
    return feasible.condition([np.zeros(size) for size in feasible.space.sizes]).sample(n, rng)


@dataclass(frozen=True)
class RandomProposer:
    """Every feasible architecture equally likely."""

    def propose(
        self, archive: Archive, feasible: FeasibleSet, rng: np.random.Generator
    ) -> tuple[int, ...]:
        """A uniform draw."""
        del archive
        return tuple(uniform_draw(feasible, 1, rng)[0].tolist())
