"""Trains the networks of a trade-off curve from scratch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from meritnas.errors import DivergedError
from meritnas.families.family import Family
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import Crew
from meritnas.tasks.task import Material
from meritnas.training.race import Race, best_of
from meritnas.training.relay import Listener, run_races
from meritnas.training.retrain import Retrained, ended
from meritnas.training.running_race import RunningRace

Row = dict[str, Any]
"""One point of a trade-off curve: `limit`, `architecture`, `short`, `params`, `valid_loss`,
`test`, `test_spread`, `folder` (where its weights are, in the run) and `best` (see `mark_best`)."""


def train_rungs(
    crew: Crew,
    ground: Material,
    ladder: Sequence[Mapping[str, Any]],
    race: Race,
    recipe: TrainRecipe,
    store: RunStore,
    listen: Listener,
    seconds: float = math.inf,
    threads: int | None = None,
) -> list[Row]:
    """Train the network found for each smaller limit, as the run's own network was trained.

    Where time is limited, as many rungs have the same share of it as are trained at a time;
    otherwise whatever can be trained is.

    Args:
        crew: who trains.
        ground: the `Ground` of all trainings.
        ladder: `limit` and `architecture` of each rung, largest first, and in `reserves` who is
            trained besides where there is time left.
        race: of the run's own network; its dropouts, seeds and epochs are everyone's.
        recipe: how weights are trained.
        store: the run; each rung gets a folder of its own in it.
        listen: told of every epoch.
        seconds: that all of them may take.
        threads: of each training; None for as many as there are.

    Returns:
        A row for each rung but those whose trainings have all diverged.
    """
    firsts: dict[str, tuple[int, Mapping[str, Any]]] = {}
    for number, rung in enumerate(ladder, start=1):
        firsts.setdefault(str(rung["architecture"]), (number, rung))
    left, limited = [*firsts.items()], seconds < math.inf
    rows: dict[str, Row] = {}
    while left:
        some = left[: crew.size if limited else None]
        share = seconds / math.ceil(len(left) / len(some))
        left = left[len(some) :]
        running = {
            text: RunningRace(
                Race((text,), race.dropouts, race.seeds, race.epochs),
                recipe,
                store.inside(f"rung-{number}"),
                share,
                rung.get("reserves", ()) if limited else (),
                crew.size if len(some) == 1 else 1,
                threads,
            )
            for text, (number, rung) in some
        }
        run_races([*running.values()], crew, ground, listen)
        seconds -= max(one.spent for one in running.values())
        for text, one in running.items():
            number, rung = firsts[text]
            with suppress(DivergedError):
                found, folder = ended(one), f"rung-{number}"
                rows[text] = point(ground.value.family, int(rung["limit"]), found, folder)
    known = [(rows.get(str(rung["architecture"])), int(rung["limit"])) for rung in ladder]
    return [{**row, "limit": limit} for row, limit in known if row is not None]


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
