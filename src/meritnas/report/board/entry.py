"""A run as a line of the board: what it was about, what it found, how far it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meritnas.report.charts.score_range import score_range
from meritnas.report.names import amount_text, cost_name, metric_name
from meritnas.report.run_files import RunFiles, read_run
from meritnas.store.file_lock import is_taken
from meritnas.wording import shortened

DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""What comes of files that are whole but hold other things than a search writes."""

_READ = ("config", "result", "retrain", "architecture")
_IDENTITY = ("kind", "name", "fingerprint", "target")
_LONGEST = 60
_FINISHED, _AT_WORK, _STOPPED = "finished", "at work", "not finished"

Curve = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Point:
    """A trained network of a run: what it costs, and how good it is.

    Attributes:
        network: in a few words.
        params: its parameters.
        score: on test rows, or the validation loss.
        spread: over trainings.
        reach: from where to where its scores are, by their spread.
    """

    network: str
    params: float
    score: float
    spread: float
    reach: tuple[float, float]


@dataclass(frozen=True)
class Entry:
    """A run as a line of the board.

    Attributes:
        folder: the run's.
        name: what it is called.
        same_data: a text that runs on the same data share.
        data: what it was about.
        strategy: its name.
        space: its name.
        limits: in words; empty without any.
        network: in a few words; empty where there is none yet.
        params: of the network.
        metric: what its score is; validation loss where there are no test rows.
        points: the network first, then those of its trade-off curve; none before it has a score.
        seed: of all its randomness.
        seconds: how long it took.
        state: finished, at work, or not finished.
        curves: name -> (x, y).
        problems: what could not be read.
    """

    folder: Path
    name: str
    same_data: str
    data: str
    strategy: str
    space: str
    limits: str
    network: str
    params: float | None
    metric: str
    points: tuple[Point, ...]
    seed: str
    seconds: float | None
    state: str
    curves: Mapping[str, Curve]
    problems: tuple[str, ...]

    @property
    def finished(self) -> bool:
        """Whether it has a result."""
        return self.state == _FINISHED

    @property
    def reported(self) -> bool:
        """Whether there is a page of it, which is no link."""
        page = self.folder / "report.html"
        return page.is_file() and not page.is_symlink()


def stamp(folder: Path) -> tuple[object, ...]:
    """What changes when a run does."""
    found: list[object] = [is_taken(folder)]
    for name in (*(f"{name}.json" for name in _READ), "events.jsonl"):
        try:
            state = (folder / name).lstat()
            found.append((state.st_mtime_ns, state.st_size))
        except OSError:
            found.append(None)
    return tuple(found)


def read_entry(folder: Path, name: str) -> Entry:
    """A run in a line.

    Raises:
        StoreError: It is no run.
    """
    run = read_run(folder)
    result, data = run["result"], run.config["data"]
    metric, points = _points(run)
    stopped = _AT_WORK if is_taken(folder) else _STOPPED
    params = result.get("params") if run.finished else _leading(run)
    seconds = result.get("seconds")
    return Entry(
        folder,
        name,
        json.dumps([data.get(each) for each in _IDENTITY]),
        shortened(str(data.get("name", "?")), _LONGEST),
        shortened(str(run["architecture"].get("strategy", run.named("strategy"))), _LONGEST),
        shortened(run.named("space"), _LONGEST),
        _limits(run.settings.get("limits") or {}),
        shortened(_short(run), _LONGEST),
        None if params is None else float(params),
        metric,
        points,
        str(run.settings.get("seed", "?")),
        None if seconds is None else float(seconds),
        _FINISHED if run.finished else stopped,
        _curves(run),
        run.problems,
    )


def _short(run: RunFiles) -> str:
    """The network in a few words."""
    if run.finished:
        return str(run["result"].get("short", run.network))
    if run.events and "chosen" not in run["architecture"]:
        return str(run.events[-1].get("leader_short", run.network))
    return str(run.network or "")


def _leading(run: RunFiles) -> int | None:
    """The parameters of what leads so far."""
    costs = run.events[-1].get("leader_costs", {}) if run.events else {}
    return int(costs["params"][0]) if "params" in costs else None


def _limits(limits: Mapping[str, int]) -> str:
    return ", ".join(
        f"{cost_name(name)} up to {amount_text(name, most)}" for name, most in limits.items()
    )


def _points(run: RunFiles) -> tuple[str, tuple[Point, ...]]:
    """The metric, and the networks that were trained to the end."""
    result = run["result"]
    if not run.finished:
        return "", ()
    test = result.get("test") or {}
    metric = next(iter(test), None)
    called = "validation loss" if metric is None else f"test {metric_name(str(metric))}"
    if metric is None:
        score, spread = _loss(run), 0.0
    else:
        score, spread = float(test[metric]), float(result.get("test_spread", {}).get(metric, 0.0))
    if score is None:
        return called, ()
    own = _point(_short(run), result["params"], score, spread, metric)
    return called, (own, *_curve_points(result.get("pareto") or (), metric))


def _curve_points(rows: Sequence[Mapping[str, Any]], metric: str | None) -> list[Point]:
    """Networks of a trade-off curve that have the same metric."""
    found = []
    for row in rows:
        score = row["valid_loss"] if metric is None else (row.get("test") or {}).get(metric)
        if score is not None:
            spread = 0.0 if metric is None else (row.get("test_spread") or {}).get(metric, 0.0)
            short = str(row.get("short", row["architecture"]))
            found.append(_point(short, row["params"], score, spread, metric))
    return found


def _point(network: str, params: Any, score: Any, spread: Any, metric: str | None) -> Point:
    score, spread = float(score), float(spread)
    reach = score_range(metric, score, spread)
    return Point(shortened(network, _LONGEST), float(params), score, spread, reach)


def _own_trainings(run: RunFiles) -> list[Mapping[str, Any]]:
    """Of the network, the best by validation loss first."""
    results = run["retrain"].get("results", ())
    own = [one for one in results if run.network in (one["architecture"], None)]
    return sorted((one for one in own if one["valid_loss"] is not None), key=_valid_loss)


def _valid_loss(training: Mapping[str, Any]) -> float:
    return float(training["valid_loss"])


def _loss(run: RunFiles) -> float | None:
    own = _own_trainings(run)
    return _valid_loss(own[0]) if own else None


def _curves(run: RunFiles) -> dict[str, Curve]:
    """Losses of the network's best training, and what the search said while it went on."""
    own = _own_trainings(run)
    losses = own[0].get("valid_losses", ()) if own else ()
    found = {"trained": tuple((float(k), float(loss)) for k, loss in enumerate(losses, start=1))}
    for key in ("train_loss", "reward"):
        found[key] = tuple(
            (float(event["step"]), float(event[key]))
            for event in run.events
            if isinstance(event.get(key), int | float)
        )
    return {name: curve for name, curve in found.items() if curve}
