"""What a search's beliefs come to: candidates, what witnesses say of them, and their order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.terms import CostTerms
from meritnas.engine.loop import Search
from meritnas.space.architecture import Architecture
from meritnas.supernet.probe import Probe
from meritnas.witness import one_shot, size
from meritnas.witness.one_shot import OneShot
from meritnas.witness.size import Size
from meritnas.witness.vote import rank_sums
from meritnas.witness.witness import Witness

JUDGING = "candidates"
"""What the time after a search's last step is called beside that of its phases."""

WEIGHTS: Mapping[str, float] = {one_shot.NAME: 1.0, size.NAME: 0.25}
"""How much the rank of each witness counts.

Mean over 50 searches on tables (`digits` within 3,000 and 8,000 parameters, four strategies; `wine`
within 700, three; five seeds each, 30 epochs) of the smallest validation loss of the first three
networks, and of the first alone: .1046 and .1519 in the strategies' own order; .0996 and .1241 by
one-shot loss; with sizes weighted .25, .5, 1, 2: .1001 and .1174, .1004 and .1183, .1007 and .1182,
.1031 and .1193.
"""


@dataclass(frozen=True)
class Candidate:
    """A network that a search may have looked for.

    Attributes:
        architecture: which one.
        said: by the name of each witness, what it says; the larger, the better.
        votes: the weighted sum of its ranks; the smaller, the better.
    """

    architecture: Architecture
    said: Mapping[str, float]
    votes: float

    def to_json(self) -> dict[str, Any]:
        """Plain data; None for what a witness could not judge."""
        said = {name: x if math.isfinite(x) else None for name, x in self.said.items()}
        return {"architecture": self.architecture.text, "said": said, "votes": self.votes}


def judged(
    search: Search,
    own: Sequence[Architecture],
    feasible: FeasibleSet,
    costs: Mapping[str, CostTerms],
) -> list[Candidate]:
    """The candidates of a search that has taken all its steps, best first.

    Every strategy ends this way, on every space and under every limit: its own choices and the
    most probable feasible networks are judged on common rows, and the votes of all witnesses decide
    their order. With one candidate the strategy's own choices stay as they are, unjudged, which is
    how the papers end.

    Args:
        search: with its beliefs and shared weights.
        own: what the strategy has chosen, best first.
        feasible: what may be proposed.
        costs: what architectures cost, by the cost's name.
    """
    if search.plan.candidates == 1:
        return [Candidate(one, {}, float(place)) for place, one in enumerate(own, start=1)]
    proposed = propose(own, search.strategy.beliefs(), feasible, search.plan.candidates)
    return judge(proposed, feasible, witnesses_of(search.probe, feasible, costs))


def witnesses_of(
    probe: Probe, feasible: FeasibleSet, costs: Mapping[str, CostTerms]
) -> tuple[Witness, ...]:
    """All who are asked about candidates; the size that counts is that of the first limit."""
    counted = feasible.limits[0].name if feasible.limits else "params"
    sizes = (Size(costs[counted]),) if counted in costs else ()
    return (OneShot(probe), *sizes)


def propose(
    own: Sequence[Architecture],
    beliefs: Sequence[np.ndarray],
    feasible: FeasibleSet,
    count: int,
) -> list[Architecture]:
    """The strategy's own choices, then the most probable feasible networks, without repeats.

    Args:
        own: feasible, best first; none of them is left out.
        beliefs: how probable each option is, a row for each decision.
        feasible: what may be proposed.
        count: how many there are to be in all.
    """
    with np.errstate(divide="ignore"):  # an option may have no probability left
        probable = feasible.k_best([np.log(row) for row in beliefs], count)
    found = list(dict.fromkeys([*own, *probable]))
    return found[: max(count, len(own))]


def judge(
    proposed: Sequence[Architecture],
    feasible: FeasibleSet,
    witnesses: Sequence[Witness],
    weights: Mapping[str, float] = WEIGHTS,
) -> list[Candidate]:
    """What witnesses say about networks, and these in the order of their votes, best first.

    Those with equal votes stay as they were proposed.
    """
    picks = np.array([feasible.space.picks(one) for one in proposed])
    said = {witness.name: witness.judge(picks) for witness in witnesses}
    sums = rank_sums(said, weights)
    return [
        Candidate(proposed[k], {name: float(x[k]) for name, x in said.items()}, float(sums[k]))
        for k in np.argsort(sums, kind="stable")
    ]
