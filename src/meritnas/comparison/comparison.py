from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from meritnas.api import Given, nobody, resume, search
from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.prepare.preparation import AnyData
from meritnas.report.charts.comparison_figure import comparison_file
from meritnas.store.run_store import RunStore, write_whole
from meritnas.strategy.catalogue import strategy_spec

_LESS_IS_MORE = ("perplexity", "rmse", "log_loss")
_PLAN = "compare.json"
_FIGURE = "comparison.svg"
_RESULT = ("architecture", "params", "seconds", "seed", "strategy", "test")
_ALIKE = 1e-9
"""Gaps that differ by less, in parts of the largest, differ by rounding only."""

Listener = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Comparison:
    """Several strategies on the same data, with the same budget and the same seeds.

    Attributes:
        metric: what scores are.
        runs: a row for each search: strategy, seed, score, params, passes, seconds, architecture.
        table: a row for each strategy, the best first: mean score, spread, mean rank over seeds,
            p (that it is as good as the best: paired t-test over seeds, Holm's correction), passes
            through the supernet, seconds.
        differ: the chance of ranks so far apart if all strategies were alike (Friedman's test);
            NaN with fewer than three strategies or two seeds, and where all are the same.
        folder: where all runs are, and the figure.
    """

    metric: str
    runs: pd.DataFrame
    table: pd.DataFrame
    differ: float
    folder: Path

    @property
    def figure(self) -> Path:
        """Where it is drawn."""
        return self.folder / _FIGURE

    def to_json(self) -> dict[str, Any]:
        """Plain data; what cannot be computed is null."""
        return {
            "metric": self.metric,
            "table": json.loads(self.table.to_json(orient="records")),
            "runs": json.loads(self.runs.to_json(orient="records")),
            "differ": None if np.isnan(self.differ) else self.differ,
            "folder": str(self.folder),
            "figure": str(self.figure),
        }


def compare(
    data: Given,
    target: str | None = None,
    *,
    strategies: Sequence[str],
    seeds: int = 3,
    out: str | Path,
    listen: Listener = nobody,
    **settings: Any,
) -> Comparison:
    """Run several strategies under equal conditions; the same call goes on where it was.

    Args:
        data: as for `search`.
        target: as for `search`.
        strategies: their names.
        seeds: how many; every strategy gets the seeds 0, 1, ...
        out: the folder for all runs. Runs in it that have ended are taken as they are, others go
            on; it must have been made by the same comparison.
        listen: called with every event.
        settings: all else that `search` takes, the same for all.
    """
    names = list(dict.fromkeys(strategies))
    if len(names) < 2:
        raise UsageError(f"a comparison takes at least 2 strategies, got {', '.join(names)}")
    count = whole_number("seeds", seeds, 1)
    for given in ("strategy", "seed"):
        if settings.get(given) is not None:
            raise UsageError(f"{given} is what a comparison goes through; leave it out")
    for name in names:
        strategy_spec(name, settings.get("strategy_options") or {})
    folder = Path(out)
    _remember(folder, data, target, settings)
    rows = []
    for seed in range(count):
        for number, name in enumerate(names):
            run = seed * len(names) + number + 1
            told = {"strategy": name, "seed": seed, "run": run, "runs": count * len(names)}
            listen({"kind": "compare", **told})
            summary = _run(folder / f"{name}-{seed}", data, target, name, seed, listen, settings)
            rows.append(_row(summary, folder / f"{name}-{seed}"))
    found = _compared(pd.DataFrame(rows), folder)
    plain = found.to_json()
    write_whole(folder / "comparison.json", lambda path: path.write_text(json.dumps(plain)))
    drawn = comparison_file(plain).encode()
    write_whole(found.figure, lambda path: path.write_bytes(drawn))
    return found


def _remember(folder: Path, data: Any, target: str | None, settings: Mapping[str, Any]) -> None:
    """Keep what was asked for, or check that it is the same as before."""
    where = str(Path(data).expanduser().resolve()) if _is_path(data) else None
    asked = {
        "data": str(data) if where is None and isinstance(data, str) else where,
        "target": target,
        "settings": {name: value for name, value in settings.items() if value is not None},
    }
    plain = json.loads(json.dumps(asked, default=str))
    plan = folder / _PLAN
    if plan.exists():
        if _read_plan(plan) != plain:
            raise UsageError(
                f"{folder} holds another comparison (see {plan}); give another --out, or ask for "
                "the same to go on with it"
            )
        return
    if folder.exists() and any(folder.iterdir()):
        raise StoreError(f"{folder} exists already and is no comparison; give another --out")
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(plan, lambda path: path.write_text(json.dumps(plain, indent=1) + "\n"))


def _read_plan(plan: Path) -> Any:
    try:
        return json.loads(plan.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise StoreError(
            f"{plan} is damaged ({error}), so nobody can tell what the runs beside it were made "
            "with; restore it, or give another --out"
        ) from error


def _is_path(data: Any) -> bool:
    return isinstance(data, Path) or (isinstance(data, str) and Path(data).expanduser().exists())


def _run(
    run: Path,
    data: Any,
    target: str | None,
    strategy: str,
    seed: int,
    listen: Listener,
    settings: Mapping[str, Any],
) -> dict[str, Any]:
    if (run / "result.json").exists() and (run / "model.safetensors").exists():
        return {**RunStore.open(run).read_json("result.json", *_RESULT), "run": str(run)}
    if (run / "config.json").exists():
        memory: AnyData | None = None if _is_path(data) or isinstance(data, str) else data
        return resume(run, memory, listen).summary
    found = search(data, target, strategy=strategy, seed=seed, out=run, listen=listen, **settings)
    return found.summary


def _row(summary: Mapping[str, Any], run: Path) -> dict[str, Any]:
    metric = next(iter(summary["test"]))
    return {
        "strategy": summary["strategy"],
        "seed": int(summary["seed"]),
        "metric": metric,
        "score": float(summary["test"][metric]),
        "params": int(summary["params"]),
        "passes": int(RunStore.open(run).read_json("architecture.json", "passes")["passes"]),
        "seconds": float(summary["seconds"]),
        "architecture": summary["architecture"],
    }


def _compared(runs: pd.DataFrame, folder: Path) -> Comparison:
    metric = str(runs["metric"].iloc[0])
    sign = 1.0 if metric in _LESS_IS_MORE else -1.0
    scores = runs.pivot(index="seed", columns="strategy", values="score")
    ranks = (sign * scores).rank(axis=1)
    by = runs.groupby("strategy")
    table = pd.DataFrame(
        {
            "score": by["score"].mean(),
            "spread": by["score"].std(ddof=1).fillna(0.0).round(12),  # equal scores have none
            "rank": ranks.mean(),
            "passes": by["passes"].mean().round().astype(int),
            "seconds": by["seconds"].mean().round(1),
        }
    )
    order = (sign * table["score"]).sort_values(kind="stable").index
    table = table.loc[order]
    table.insert(3, "p", _against_best(scores[order]))
    differ = float("nan")
    tied = (scores.nunique(axis=1) == 1).all()
    if scores.shape[1] > 2 and scores.shape[0] > 1 and not tied:
        differ = float(stats.friedmanchisquare(*(scores[name] for name in order)).pvalue)
    return Comparison(metric, runs.drop(columns="metric"), table.reset_index(), differ, folder)


def _against_best(scores: pd.DataFrame) -> list[float]:
    """For each strategy p against the first: a paired t-test, with Holm's correction."""
    best, others = scores.iloc[:, 0], scores.iloc[:, 1:]
    if len(scores) < 2:
        return [float("nan")] * scores.shape[1]
    single = [_chance((best - others[name]).to_numpy()) for name in others]
    corrected, largest = [1.0] * len(single), 0.0
    for place, k in enumerate(np.argsort(single)):
        largest = max(largest, min(1.0, (len(single) - place) * single[k]))
        corrected[k] = largest
    return [float("nan"), *corrected]


def _chance(gaps: np.ndarray) -> float:
    """P of a paired t-test, which needs gaps that differ.

    For a gap that is the same for all seeds it is that of as many signs that are alike.
    """
    largest = np.abs(gaps).max()
    if largest == 0:
        return 1.0
    if np.ptp(gaps) <= _ALIKE * largest:
        return float(2.0 ** (1 - len(gaps)))
    return float(stats.ttest_1samp(gaps, 0).pvalue)
