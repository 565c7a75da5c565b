"""All of a search that its ranks do together: its steps, its choice, its ladder of limits."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import torch

from meritnas.cost.feasible import FeasibleSet
from meritnas.data.bundle import Bundle
from meritnas.devices.placement import on_cpu
from meritnas.engine.candidates import Candidate, judged
from meritnas.engine.ladder import best_within
from meritnas.engine.loop import Kept, Listener, Search, Unkept, run_search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_panel, make_search
from meritnas.errors import WorkersError
from meritnas.prepare.ground import Ground
from meritnas.settings.settings import SearchSettings
from meritnas.supernet.supernet import module_of
from meritnas.training.threads import limited_threads
from meritnas.witness.panel import Panel
from meritnas.workers.workers import Workers

_DIGITS = 15
"""Of a digest that are compared: as many as fit into an integer."""


@dataclass(frozen=True)
class Found:
    """What a search comes to.

    Attributes:
        candidates: its favourites, best first.
        ladder: for each smaller limit (limit, the favourites that keep it, best first).
    """

    candidates: list[Candidate]
    ladder: list[tuple[int, list[Candidate]]]


def search_to_its_end(
    search: Search, kept: Kept, listen: Listener, feasible: FeasibleSet, panel: Panel
) -> Found:
    """What is left of a search; every rank calls it.

    Args:
        search: as it stands, the same on all ranks.
        kept: where it is kept.
        listen: told of every event.
        feasible: what may be found.
        panel: who is asked about candidates.
    """
    own = run_search(search, kept, listen, feasible)
    with search.own_draws():
        candidates = judged(search, own, feasible, panel)
        ladder = [
            (rung.limit, judged(search, evolved, rung.feasible, panel))
            for rung in search.rungs
            for evolved in [best_within(rung.feasible, search.probe, search.seed)]
        ]
    _check_agreement(search)
    return Found(candidates, ladder)


def help_search(
    settings: SearchSettings,
    ground: Ground,
    bundle: Bundle[Any],
    plan: Plan,
    state: dict[str, Any],
    ranks: Workers,
) -> None:
    """What a rank other than the first does: the same, and nothing of it is kept.

    Args:
        settings: what the user decided.
        ground: the space and its feasible part.
        bundle: the data.
        plan: how many steps the search takes.
        state: of the first rank's search.
        ranks: this process, and its way to the others.
    """
    check_same_data(bundle, ranks)
    search = make_search(settings, ground, bundle, plan, 0, ranks)
    search.load_state_dict(state)
    with limited_threads(settings.threads):
        panel = make_panel(search, ground, bundle)
        search_to_its_end(search, Unkept(), _nobody, ground.searched_feasible, panel)


def check_same_data(bundle: Bundle[Any], ranks: Workers) -> None:
    """Complain where each rank reads a table from its path, and one finds another there."""
    if ranks.size == 1:
        return
    own = torch.tensor([int(bundle.train.origin()[:_DIGITS] or "0", 16)])
    found = [int(one) for one in ranks.gather(own, [1] * ranks.size)]
    others = [str(rank) for rank, one in enumerate(found) if one != found[0]]
    if others:
        raise WorkersError(
            f"process {' and '.join(others)} of the search finds another table than process 0 "
            "where the data is; copy the same there"
        )


def _nobody(event: dict[str, Any]) -> None:
    del event


def _check_agreement(search: Search) -> None:
    """Complain where ranks that should have computed the same have not."""
    if search.ranks.size == 1:
        return
    digest = hashlib.sha256()
    for param in module_of(search.supernet).parameters():
        digest.update(on_cpu(param.detach()).contiguous().numpy().tobytes())
    for row in search.strategy.beliefs():
        digest.update(row.tobytes())
    own = torch.tensor([int.from_bytes(digest.digest()[:7])])
    found = search.ranks.gather(own, [1] * search.ranks.size)
    if len({int(one) for one in found}) > 1:
        raise WorkersError(
            "the processes of the search have come to different weights or beliefs, so the "
            "strategy or the space draws numbers that its seed does not decide"
        )
