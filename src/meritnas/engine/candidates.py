"""What a search's beliefs come to: candidates, what witnesses say of them, and their order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.cost.feasible import FeasibleSet
from meritnas.engine.loop import Search
from meritnas.errors import SpaceError
from meritnas.policy.neighbours import fitting_options
from meritnas.space.architecture import Architecture
from meritnas.witness.panel import Panel
from meritnas.witness.vote import rank_sums
from meritnas.witness.witness import Witness

JUDGING = "candidates"
"""What the time after a search's last step is called beside that of its phases."""

_LONG_LIST = 4
"""So many times as many networks are proposed as are judged by everybody, where untrained networks
are looked at: 43 ms for a cell of NAS-Bench-201 on one core, one-shot losses take 150 to 200."""


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
    panel: Panel,
) -> list[Candidate]:
    """The candidates of a search that has taken all its steps, best first.

    Every strategy ends this way, on every space and under every limit: its own choices and the
    most probable feasible networks are judged on common rows, and the votes of all witnesses decide
    their order. Where some witnesses look at untrained networks, they choose from a longer list who
    is judged by all. With one candidate the strategy's own choices stay as they are, unjudged,
    which is how the papers end.

    Args:
        search: with its beliefs and shared weights.
        own: what the strategy has chosen, best first.
        feasible: what may be proposed.
        panel: who is asked about them.
    """
    count = search.plan.candidates
    if count == 1:
        return [Candidate(one, {}, float(place)) for place, one in enumerate(own, start=1)]
    return most_liked(own, search.strategy.beliefs(), feasible, panel, count, search.seed)


def most_liked(
    own: Sequence[Architecture],
    beliefs: Sequence[np.ndarray],
    feasible: FeasibleSet,
    panel: Panel,
    count: int,
    seed: int = 0,
) -> list[Candidate]:
    """Candidates that the whole panel has judged, best first.

    Args:
        own: what the strategy has chosen; all of them are judged.
        beliefs: how probable each option is, a row for each decision.
        feasible: what may be proposed.
        panel: who is asked.
        count: how many of them everybody judges.
        seed: of what is drawn.
    """
    if panel.looks is None:
        proposed = propose(own, beliefs, feasible, count)
    else:
        rng = np.random.default_rng([seed, 4])
        near = around(panel.plain(_most(feasible)), feasible)  # of which up to half stay
        many = propose_widely(own, beliefs, feasible, _LONG_LIST * count, rng, near)
        first = panel.without_weights(feasible, beliefs)
        liked = [each.architecture for each in judge(many, feasible, first, panel.weights)]
        plain_like = set(near)
        known = [one for one in liked if one in plain_like][: count // 2]
        proposed = list(dict.fromkeys([*own, *known, *liked]))[: max(count, len(own))]
    return judge(proposed, feasible, panel.within(feasible, beliefs), panel.weights)


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


def propose_widely(
    own: Sequence[Architecture],
    beliefs: Sequence[np.ndarray],
    feasible: FeasibleSet,
    count: int,
    rng: np.random.Generator,
    near: Sequence[Architecture] = (),
) -> list[Architecture]:
    """Half of them as `propose` has them, then some that are near what people build, or at random.

    The most probable networks differ in a decision or two. Where beliefs are wrong all of them are,
    and witnesses who do not share these beliefs should have somebody else to vote for: networks of
    `near` in any order, and where these are not enough, of all feasible ones, each equally likely.
    """
    first = propose(own, beliefs, feasible, (count + 1) // 2)
    some = [near[k] for k in rng.permutation(len(near))]
    uniform = feasible.condition([np.zeros(size) for size in feasible.space.sizes])
    drawn = [feasible.space.architecture(row) for row in uniform.sample(count, rng)]
    return list(dict.fromkeys([*first, *some, *drawn]))[: max(count, len(first))]


def around(known: Sequence[Architecture], feasible: FeasibleSet) -> list[Architecture]:
    """These, as far as they are members, and all feasible ones that differ in one decision."""
    space, found = feasible.space, []
    for one in known:
        try:
            picks = np.array(space.picks(one))
        except SpaceError:  # with options that nothing here can use
            continue
        found.append(one)
        for decision, fitting in enumerate(fitting_options(picks, feasible)):
            for option in np.flatnonzero(fitting):
                changed = picks.copy()
                changed[decision] = option
                found.append(space.architecture(changed))
    return list(dict.fromkeys(found))


def _most(feasible: FeasibleSet) -> dict[str, int]:
    return {limit.name: limit.maximum for limit in feasible.limits}


def judge(
    proposed: Sequence[Architecture],
    feasible: FeasibleSet,
    witnesses: Sequence[Witness],
    weights: Mapping[str, float],
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
