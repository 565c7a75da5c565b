"""Smaller limits for a trade-off curve, and the best network for each of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from meritnas.cost.diagram import PathLaw
from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.reduced import cheapest
from meritnas.errors import InfeasibleError
from meritnas.families.family import Family
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.black_box import BlackBox
from meritnas.strategy.algorithms.evolution import EvolutionProposer
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet

COST = "params"
"""What the ladder counts."""

_RUNGS = 5
_JUDGEMENTS = 120


@dataclass(frozen=True)
class Rung:
    """A smaller limit, and the architectures that keep it and all the other limits."""

    limit: int
    feasible: FeasibleSet

    @cached_property
    def uniform(self) -> PathLaw:
        """The law under which all of them are equally likely."""
        return self.feasible.condition([np.zeros(size) for size in self.feasible.space.sizes])


def ladder(family: Family, limits: Mapping[str, int]) -> list[Rung]:
    """Limits on parameters below the run's own, largest first.

    Up to five, each half of the one before or less, so that they come down close to the cheapest
    network. Where the run's own limit is above the largest network of its space, or where there
    is none, they start from that network.
    """
    rungs = []
    for limit in _smaller(family, limits):
        try:
            rungs.append(Rung(limit, family.within({**limits, COST: limit})))
        except InfeasibleError:
            break
    return rungs


def no_curve(family: Family, limits: Mapping[str, int]) -> str:
    """What a user should know where the ladder has no rung."""
    first = _smaller(family, limits)[0]
    return (
        "there is no trade-off curve, as nothing smaller is left to compare with: no network that "
        f"keeps the limits has at most {first:,} parameters, half of what is allowed or less; "
        "raise the limit on parameters or offer smaller options"
    )


def _smaller(family: Family, limits: Mapping[str, int]) -> list[int]:
    """The limits to try, largest first."""
    terms = family.costs[COST]
    least = cheapest(terms, family.space)[0]
    most = -cheapest(terms.scaled(-1, 0, terms.unit), family.space)[0]
    top = min(most, limits.get(COST, most))
    factor = max(2.0, (top / (1.25 * least)) ** (1 / _RUNGS))
    return [int(top / factor**k) for k in range(1, _RUNGS + 1)]


def drawn_beside(rungs: Sequence[Rung], own: FeasibleSet, supernet: Supernet) -> list[PathLaw]:
    """What a search with a ladder trains beside what its strategy asks for; nothing without rungs.

    Where narrow layers are slices of wide ones, small networks must be trained as such: a law for
    each rung. Where options have weights of their own, one law for all that the run's own limits
    admit: under small limits the same few options recur, and the others are left behind. After
    2,000 steps on NAS-Bench-201's cells, Spearman's correlation of one-shot losses with the table
    was .22 with draws from rungs and .80 with uniform ones. A supernet with slices *and* options of
    their own (convnet) counts as the latter, which was not measured.

    Args:
        rungs: the ladder.
        own: what keeps the run's own limits.
        supernet: whose weights are trained.
    """
    if not rungs:
        return []
    if supernet.whole() is not None:
        return [rung.uniform for rung in rungs]
    return [own.condition([np.zeros(size) for size in own.space.sizes])]


def path_of_one(laws: Sequence[PathLaw], rng: np.random.Generator) -> list[int]:
    """Picks under one of the laws, all of those equally likely."""
    law = laws[int(rng.integers(len(laws)))]
    found: list[int] = law.sample(1, rng)[0].tolist()
    return found


def best_within(feasible: FeasibleSet, probe: Probe, seed: int) -> list[Architecture]:
    """The few architectures with the smallest one-shot losses that evolution finds in this set."""
    rng = np.random.default_rng([seed, 3])
    judgements = min(_JUDGEMENTS, 2 * feasible.count())
    box = BlackBox(feasible, EvolutionProposer(max(4, judgements // 3), 4), rng)
    for _ in range(judgements):
        box.judge(probe)
    return box.derive(probe)
