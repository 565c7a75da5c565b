"""Trains the networks of a trade-off curve from scratch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.data.bundle import Bundle
from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.training.race import Race, best_of
from meritnas.training.retrain import Listener, Retrained, retrain_child

Row = dict[str, Any]
"""One point of a trade-off curve: `limit`, `architecture`, `short`, `params`, `valid_loss`,
`test`, `test_spread`, `folder` (where its weights are, in the run) and `best` (see `mark_best`)."""


def train_rungs(
    family: Family,
    ladder: Sequence[Mapping[str, Any]],
    race: Race,
    bundle: Bundle[Any],
    recipe: TrainRecipe,
    store: RunStore,
    listen: Listener,
    seconds: float = math.inf,
) -> list[Row]:
    """Train the network found for each smaller limit, as the run's own network was trained.

    Args:
        family: the space.
        ladder: `limit` and `architecture` of each rung, largest first, and in `reserves` who is
            trained besides where there is time left.
        race: of the run's own network; its dropouts, seeds and epochs are everyone's.
        bundle: the data.
        recipe: how weights are trained.
        store: the run; each rung gets a folder of its own in it.
        listen: told of every epoch.
        seconds: that all of them may take.

    Returns:
        A row for each rung but those whose trainings have all diverged.
    """
    rows: list[Row] = []
    known: dict[str, Row | None] = {}
    for number, rung in enumerate(ladder, start=1):
        text = str(rung["architecture"])
        if text not in known:
            folder = f"rung-{number}"
            own = Race((text,), race.dropouts, race.seeds, race.epochs)
            inside = store.inside(folder)
            share = seconds / (len(ladder) - number + 1)
            try:
                others = rung.get("reserves", ()) if seconds < math.inf else ()
                trained = retrain_child(family, own, bundle, recipe, inside, listen, share, others)
            except DivergedError:
                known[text] = None
            else:
                seconds -= trained.seconds
                known[text] = point(family, int(rung["limit"]), trained, folder)
        row = known[text]
        if row is not None:
            rows.append({**row, "limit": int(rung["limit"])})
    return rows


def point(family: Family, limit: int | None, trained: Retrained, folder: str) -> Row:
    """A point of the curve: what was trained under a limit."""
    winner = best_of(
        [one for one in trained.results if one["architecture"] == trained.architecture]
    )
    return {
        "limit": limit,
        "architecture": trained.architecture,
        "short": family.short(trained.architecture),
        "params": family.cost(trained.architecture, "params"),
        "valid_loss": float(winner["valid_loss"]),
        **({"judged": float(winner["judged"])} if "judged" in winner else {}),
        "test": trained.test,
        "test_spread": trained.test_spread,
        "folder": folder,
    }


def mark_best(rows: Sequence[Row]) -> list[Row]:
    """Say of each point whether no other is both smaller and better on validation rows."""

    def judged(row: Row) -> float:
        return float(row["judged" if "judged" in row else "valid_loss"])

    return [
        {
            **row,
            "best": not any(
                other["params"] <= row["params"]
                and judged(other) <= judged(row)
                and (other["params"], judged(other)) != (row["params"], judged(row))
                for other in rows
            ),
        }
        for row in rows
    ]
