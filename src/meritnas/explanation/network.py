"""What each part of the network that a search found is worth, and what else was close."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import t as student

from meritnas.credit.chosen_game import ChosenGame
from meritnas.credit.shapiq_game import shapiq_game
from meritnas.credit.shapley import shapley_values
from meritnas.data.task import Task
from meritnas.engine.loop import Search
from meritnas.errors import StoreError, UsageError
from meritnas.prepare.ground import Ground
from meritnas.report.notebook.explained import network_html
from meritnas.run.job import Job
from meritnas.run.kept_search import ended_search
from meritnas.space.decision import ZERO
from meritnas.space.rule import ABSENT
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import score_name
from meritnas.training.threads import limited_threads

_LOG = logging.getLogger(__name__)
"""Told how far an explanation is, which can take minutes: what is being done, `:`, how far."""

_DRAWS = {True: 12, False: 6}
"""Of validation rows: where all coalitions are tried, and where not."""

_JUDGED = 512
"""Rows of each draw; of a text, pieces with twice as many words."""

_EVALUATIONS = 160
_MOST_EXACT = 8
_INTERACTION_EVALUATIONS = 512
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Part:
    """One decision of the chosen network, and what its answer is worth.

    Attributes:
        decision: its name.
        option: the answer.
        value: Shapley value for the validation score, by the supernet's shared weights.
        low: lower end of the 95 % interval over validation rows (bootstrap).
        high: upper end.
        chosen: always true: it is a part of the chosen network.
    """

    decision: str
    option: str
    value: float
    low: float
    high: float
    chosen: bool = True


@dataclass(frozen=True)
class Alternative:
    """A network that answers one decision otherwise.

    Attributes:
        decision: its name.
        option: the other answer.
        instead_of: the chosen one.
        loss_change: how much larger its validation loss is, by shared weights.
        cost: its parameters.
        fits: whether it keeps the limits.
        architecture: its text.
    """

    decision: str
    option: str
    instead_of: str
    loss_change: float
    cost: int
    fits: bool
    architecture: str


@dataclass(frozen=True)
class Interaction:
    """How much more, or less, two parts are worth together than each by itself."""

    first: str
    second: str
    value: float


@dataclass(frozen=True)
class NetworkExplanation:
    """Why a run's network looks as it does.

    Attributes:
        architecture: the chosen network.
        metric: what scores are.
        score: of all parts together on validation rows, by shared weights.
        parts: the worth of each.
        alternatives: all networks that differ in one answer, the closest first.
        interactions: of pairs of parts, the strongest first; empty without the package shapiq.
        absent: what a part that is taken away is replaced by.
        narrowest: layers of a table's network that are that already, so that they are no parts.
    """

    architecture: str
    metric: str
    score: float
    parts: tuple[Part, ...]
    alternatives: tuple[Alternative, ...]
    interactions: tuple[Interaction, ...]
    absent: str
    narrowest: tuple[str, ...] = ()

    def table(self) -> pd.DataFrame:
        """The worth of each part, a row for each."""
        return self.tables()["credit"]

    def tables(self) -> dict[str, pd.DataFrame]:
        """All there is, a row for each part, alternative and interaction."""
        return {
            "credit": _frame(Part, map(asdict, self.parts)),
            "alternatives": _frame(Alternative, map(asdict, self.alternatives)),
            "interactions": _frame(Interaction, map(asdict, self.interactions)),
        }

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "architecture": self.architecture,
            "metric": self.metric,
            "score": self.score,
            "absent": self.absent,
            "narrowest": list(self.narrowest),
            "rows": [asdict(part) for part in self.parts],
            "alternatives": [asdict(other) for other in self.alternatives],
            "interactions": [asdict(pair) for pair in self.interactions],
        }

    def _repr_html_(self) -> str:
        """The figures of the report, in a notebook."""
        return network_html(self.to_json())


def explain_run(job: Job, store: RunStore) -> NetworkExplanation:
    """What each part of a run's network is worth; the run keeps it."""
    if not store.has("result.json"):
        raise StoreError(
            f"run {store.folder} has not ended yet; continue it with: "
            f"meritnas search --resume {store.folder}"
        )
    beside = _beside(job, store)
    if not store.has("plan.json") and not store.lost("plan.json"):
        raise UsageError(
            f"run {store.folder} trained a given network without a search, so there is no "
            f"supernet to judge its parts by{beside}"
        )
    running = ended_search(job, store)
    text = str(store.read_json("result.json", "architecture")["architecture"])
    with limited_threads(job.settings.threads), running.own_draws():
        found = explain_search(job.ground, running, job.bundle.task, text, beside=beside)
    store.write_json("credit.json", found.to_json())
    for name, frame in found.tables().items():
        store.write_text(f"{name}.csv", frame.to_csv(index=False))
    return found


def _beside(job: Job, store: RunStore) -> str:
    """How to find out what columns are worth, where there are any."""
    if not job.prepared.kind.column_places(job.bundle.encoder):
        return ""
    return f"; what each column is worth: meritnas explain {store.folder} --features"


def explain_search(
    ground: Ground,
    search: Search,
    task: Task,
    text: str,
    *,
    interactions: bool = True,
    beside: str = "",
) -> NetworkExplanation:
    """Find out what each part of a network is worth, and what else was close.

    All is judged by the supernet of the search as it is, on validation rows: the parts share its
    weights, so that they can be taken away and put back.

    Args:
        ground: the space that was searched.
        search: at its end.
        task: what scores are of.
        text: the network.
        interactions: whether pairs are looked at, too, where the package shapiq is installed.
        beside: how to find out something else, for messages.
    """
    family, space = ground.searched, ground.searched.space
    own = ground.family.of(text)
    if own is not ground.family.asked:
        raise UsageError(
            f"{text} is a plain network that raced beside what was found, so the search's shared "
            f"weights know nothing of its parts; {own.explained}{beside}"
        )
    picks = space.picks(ground.family.pruned(text))
    absence = family.absence
    playing = [
        i
        for i, (decision, pick) in enumerate(zip(space.decisions, picks, strict=True))
        if i in family.parts
        and not {ABSENT, ZERO} & decision.options[pick].tags
        and pick != absence.option
    ]
    others: list[int | None] = [absence.option for _ in playing]
    rng = np.random.default_rng(0)
    game = ChosenGame(search.probe, picks, playing, others, rng, judged_rows=_rows(search, task))
    names = [space.decisions[i].name for i in playing]
    values, low, high, score = _values(game, names)  # nobody plays where all are the narrowest
    slack = float(np.finfo(np.float32).eps) * max([abs(score), *map(abs, values)])
    parts = tuple(
        Part(
            names[k],
            space.decisions[i].options[picks[i]].name,
            _seen(values[k], slack),
            _seen(low[k], slack),
            _seen(high[k], slack),
        )
        for k, i in enumerate(playing)
    )
    pairs = _interactions(game, names, slack) if interactions and len(names) > 1 else ()
    return NetworkExplanation(
        text,
        score_name(task),
        score,
        parts,
        _alternatives(ground, search, picks),
        pairs,
        absence.words,
        tuple(space.decisions[i].name for i, pick in enumerate(picks) if pick == absence.option),
    )


def _rows(search: Search, task: Task) -> int:
    if task.kind != "language":
        return _JUDGED
    return max(1, 2 * _JUDGED // search.probe.valid_batch().target.shape[1])


def _values(
    game: ChosenGame, names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """(values, lower ends, upper ends) [players] over several draws of rows, and the mean score."""
    exact = len(names) <= _MOST_EXACT
    everybody = np.ones((1, len(names)), dtype=bool)
    found, scores = [], []
    draws = _DRAWS[exact]
    for number in range(draws):
        _LOG.info("what each part is worth: %d of %d", number + 1, draws)
        game.renew()
        if not names:
            found.append(np.zeros(0))
        elif exact:
            found.append(shapley_values(game, list(names), method="exact").values)
        else:
            budget, way = _EVALUATIONS, "regression"
            found.append(shapley_values(game, list(names), way, budget=budget, seed=number).values)
        scores.append(float(game.value(everybody)[0]))
    rows = np.array(found)
    spread = float(student.ppf((1 + _CONFIDENCE) / 2, draws - 1)) * rows.std(axis=0, ddof=1)
    mean = rows.mean(axis=0)
    return mean, mean - spread, mean + spread, float(np.mean(scores))


def _frame(kind: type, rows: Iterable[dict[str, Any]]) -> pd.DataFrame:
    """Rows with the fields of a class as columns, which are there even if no row is."""
    return pd.DataFrame(list(rows), columns=[field.name for field in fields(kind)])


def _seen(value: float, slack: float) -> float:
    """A difference of scores, which are in single precision; 0 where that is too coarse for it."""
    return float(value) if abs(value) > slack else 0.0


def _interactions(game: ChosenGame, names: Sequence[str], slack: float) -> tuple[Interaction, ...]:
    """Pairwise Shapley interactions, on one batch."""
    try:
        import shapiq
    except ImportError:
        return ()
    _LOG.info("how parts work together: %d parts", len(names))
    adapted = shapiq_game(game, names)
    if len(names) <= _MOST_EXACT + 2:
        found = shapiq.ExactComputer(n_players=len(names), game=adapted)("k-SII", order=2)
    else:
        estimator = shapiq.KernelSHAPIQ(n=len(names), index="k-SII", max_order=2, random_state=0)
        found = estimator.approximate(budget=_INTERACTION_EVALUATIONS, game=adapted)
    pairs = [
        Interaction(names[a], names[b], _seen(found[(a, b)], slack))
        for a, b in itertools.combinations(range(len(names)), 2)
    ]
    return tuple(sorted(pairs, key=lambda pair: -abs(pair.value)))


def _alternatives(ground: Ground, search: Search, picks: Sequence[int]) -> tuple[Alternative, ...]:
    """What one other answer would change, the smallest loss first."""
    family, space = ground.searched, ground.searched.space
    own = search.probe.held_out_loss(np.array(picks))
    found = []
    for i, decision in enumerate(space.decisions):
        _LOG.info("what else was close: %d of %d", i + 1, len(space.decisions))
        for k, option in enumerate(decision.options):
            changed = [*picks[:i], k, *picks[i + 1 :]]
            if k == picks[i] or not space.valid(np.array([changed]))[0]:
                continue
            architecture = space.architecture(changed)
            found.append(
                Alternative(
                    decision.name,
                    option.name,
                    decision.options[picks[i]].name,
                    search.probe.held_out_loss(np.array(changed)) - own,
                    family.cost(architecture),
                    ground.searched_feasible.admits(architecture),
                    str(architecture),
                )
            )
    return tuple(sorted(found, key=lambda other: other.loss_change))
