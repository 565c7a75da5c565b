"""Several strategies on the same data, with the same budget and the same seeds."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from meritnas.api import Given
from meritnas.comparison.all_runs import all_runs
from meritnas.comparison.one_run import (
    PLAN,
    ByArguments,
    ByRequest,
    Common,
    Listener,
    OneRun,
)
from meritnas.data.files.plain_file import given_path
from meritnas.data.kinds import recognise
from meritnas.data.metric_names import is_loss
from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.families.catalogue import space_spec
from meritnas.families.own import asked_space
from meritnas.plugins import is_own
from meritnas.progress.heard import heard
from meritnas.report.charts.comparison_figure import comparison_figure, comparison_file
from meritnas.report.notebook.pictures import images
from meritnas.settings.checks import check_arguments
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.spec import StrategySpec
from meritnas.settings.training import MOST_TRAININGS, Retraining
from meritnas.store.checked_path import out_path
from meritnas.store.disk_errors import disk_errors
from meritnas.store.file_lock import FolderLock
from meritnas.store.json_text import MOST_BYTES, parse_json, read_bytes
from meritnas.store.run_folder import has_content
from meritnas.store.run_store import RunStore
from meritnas.store.whole_files import remove_stale, write_whole
from meritnas.strategy.catalogue import strategy_spec
from meritnas.tasks.crew import Crew
from meritnas.tasks.hire import hired

_LESS_IS_MORE = ("perplexity",)
_FIGURE = "comparison.svg"
_ALIKE = 1e-9
"""Gaps that differ by less, in parts of the largest, differ by rounding only."""


@dataclass(frozen=True)
class Comparison:
    """Several strategies on the same data, with the same budget and the same seeds.

    Attributes:
        metric: what scores are.
        runs: a row for each search: strategy (with its options), seed, score, valid_loss (of the
            network that is kept), kept (its own score), params, passes, seconds, architecture.
        table: a row for each strategy, the best first: mean score, spread, mean rank over seeds,
            p (that it is as good as the best: paired t-test over seeds, Holm's correction), best
            (`kept` of the run with the smallest validation loss, which is what papers report as the
            best of several runs), passes through the supernet, seconds.
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

    def _repr_html_(self) -> str:
        """The figure, in a notebook."""
        return images([comparison_figure(self.to_json())])


def _plain_if_asked(retraining: Retraining) -> Retraining:
    """A plain network that wins says nothing about strategies."""
    return replace(retraining, plain=bool(retraining.plain))


def _without_yardstick(data: Any, space: Any, reading: Any) -> Any:
    """How the data is read; what others make of it is found out where it was asked for."""
    if reading is None:
        spec = asked_space(space)
        wanted = None if spec is None else space_spec(spec).data or None
        reading = recognise(data, wanted).reading()
    asked = getattr(reading, "yardstick", False)
    return replace(reading, yardstick=False) if asked is None else reading


def compare(
    data: Given,
    target: str | None = None,
    *,
    strategies: Sequence[str | StrategySpec],
    seeds: int = 3,
    out: str | Path,
    listen: Listener | None = None,
    executor: Executor | None = None,
    **same: Any,
) -> Comparison:
    """Run several strategies under equal conditions; the same call goes on where it was.

    Whole runs are what several do at a time (`executor`, or `jobs` and `ray` of `run`), each with
    one thread unless `run` says otherwise. They must see the folder and the data.

    Args:
        data: as for `search`; all strategies see the same rows in the same parts.
        target: the column to predict.
        strategies: their names, or specs: `[Tabnas(), Tabnas(sampling="rejection"), "random"]`.
        seeds: how many runs each strategy has, with the seeds 0, 1, ...
        out: a folder for all runs; runs in it that are finished are taken as they are, others go
            on; it must have been made by the same comparison.
        listen: called with every event; where runs are done by others, with how far all are; None
            for a progress bar in a notebook or on a terminal.
        executor: who does the runs; with none, this process, one after the other.
        same: all else that `search` takes, the same for all.
    """
    check_arguments(compare, target=target, strategies=strategies, listen=listen, executor=executor)
    for given in ("strategy", "seed"):
        if same.get(given) is not None:
            raise UsageError(f"{given} is what a comparison goes through; leave it out")

    options = same.get("run") or RunOptions()
    if executor is not None:
        options = replace(options, executor=executor)
    again = _plain_if_asked(same.get("retraining") or Retraining())
    reading = _without_yardstick(data, same.get("space"), same.get("reading"))
    each = {**same, "retraining": again, "reading": reading, "run": _by_itself(options)}
    asked = {name: value for name, value in same.items() if value is not None}
    if "run" in asked:
        asked["run"] = _by_itself(options)
    specs = [strategy_spec(one) for one in strategies]
    named = _own_code(same.get("space"), same.get("reading"))
    common = Common(data, target, ByArguments(each), named, _is_in_memory(data))
    with heard(listen) as hears, hired(options) as crew:
        return _compare(common, specs, seeds, out_path(out), hears, asked, crew)


def compare_requests(
    data: Given,
    target: str | None,
    request: Request,
    specs: Sequence[StrategySpec],
    seeds: int,
    out: Path,
    listen: Listener,
) -> Comparison:
    """The same by what a request asks for, but for its strategy and its seed."""
    again, alone = _plain_if_asked(request.retraining), _by_itself(request.run)
    options, request = request.run, replace(request, run=alone)
    reading = _without_yardstick(data, request.space, request.reading)
    asked = {**asdict(request), "strategy": None, "seed": None, "run": _kept_run(alone)}
    named = _own_code(request.space, request.reading)
    asks = ByRequest(replace(request, retraining=again, reading=reading))
    common = Common(data, target, asks, named, _is_in_memory(data))
    with hired(options) as crew:
        return _compare(common, specs, seeds, out, listen, asked, crew)


def _by_itself(options: RunOptions) -> RunOptions:
    """A run that others do does all by itself; who does it is no part of what a comparison is."""
    return RunOptions(options.device, options.threads, latency_table=options.latency_table)


def _kept_run(options: RunOptions) -> dict[str, Any]:
    """What a comparison remembers of it."""
    return {"device": options.device, "threads": options.threads}


def label_of(spec: StrategySpec) -> str:
    """A strategy with the options that are not as usual: `tabnas(sampling=rejection)`."""
    options = ",".join(f"{name}={value}" for name, value in spec.options().items())
    return f"{spec.name}({options})" if options else spec.name


def _compare(
    common: Common,
    specs: Sequence[StrategySpec],
    seeds: int,
    folder: Path,
    listen: Listener,
    asked: Mapping[str, Any],
    crew: Crew,
) -> Comparison:
    labelled = {label_of(spec): spec for spec in specs}
    count = whole_number("seeds", seeds, 1, MOST_TRAININGS)
    if len(labelled) < 2 and (len(specs) != 1 or count < 2):
        raise UsageError(
            "a comparison takes at least 2 strategies, or one with several seeds, got "
            f"{', '.join(labelled) or 'none'}"
        )
    lock = _taken(folder)
    try:
        _remember(folder, common, asked)
        return _compare_in(folder, common, labelled, count, listen, crew)
    finally:
        lock.release()


def _taken(folder: Path) -> FolderLock:
    """The right to write into the folder of a comparison, which is made if need be."""
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        return FolderLock.take(folder)


def _compare_in(
    folder: Path,
    common: Common,
    labelled: Mapping[str, StrategySpec],
    count: int,
    listen: Listener,
    crew: Crew,
) -> Comparison:
    """Do what is left of a comparison."""
    remove_stale(folder)
    plan = read_bytes(folder / PLAN, MOST_BYTES)
    runs = [
        OneRun(label, spec, seed, folder / _folder_of(label, seed), plan)
        for seed in range(count)
        for label, spec in labelled.items()
    ]
    if crew.threads is not None:
        common = common.by(crew.threads)
        runs = [replace(run, folder=run.folder.absolute()) for run in runs]
    found = zip(runs, all_runs(runs, common, crew, listen), strict=True)
    rows = [_row(summary, run.label, run.folder) for run, summary in found]
    compared = _compared(pd.DataFrame(rows), folder)
    plain = compared.to_json()
    write_whole(folder / "comparison.json", json.dumps(plain).encode())
    write_whole(compared.figure, comparison_file(plain).encode())
    return compared


def _folder_of(label: str, seed: int) -> str:
    return f"{re.sub(r'[^A-Za-z0-9_.=,()-]', '-', label)}-{seed}"


def _remember(folder: Path, common: Common, asked: Mapping[str, Any]) -> None:
    """Keep what was asked for, or check that it is the same as before."""
    data = common.data
    where = str(given_path(data).resolve()) if _is_path(data) else None
    remembered = {
        "data": str(data) if where is None and isinstance(data, str) else where,
        "target": common.target,
        "settings": {name: value for name, value in asked.items() if value is not None},
    }
    plain = json.loads(json.dumps(remembered, default=str))
    plan = folder / PLAN
    with disk_errors(folder):
        known = plan.exists()
    if known:
        if _read_plan(plan) != plain:
            raise UsageError(
                f"{folder} holds another comparison (see {plan}); give another --out, or ask for "
                "the same to go on with it"
            )
        return
    if has_content(folder):
        raise StoreError(f"{folder} exists already and is no comparison; give another --out")
    write_whole(plan, (json.dumps(plain, indent=1) + "\n").encode())


def _read_plan(plan: Path) -> Any:
    try:
        return parse_json(read_bytes(plan, MOST_BYTES))
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{plan} is damaged ({error}), so nobody can tell what the runs beside it were made "
            "with; restore it, or give another --out"
        ) from error


def _is_in_memory(data: Any) -> bool:
    return not isinstance(data, str | Path)


def _is_path(data: Any) -> bool:
    return isinstance(data, Path) or (isinstance(data, str) and given_path(data).exists())


def _own_code(space: Any, reading: Any) -> frozenset[Any]:
    """What of a user's own a comparison was asked for, so that runs in it may have it imported."""
    given = asked_space(space)
    found: frozenset[Any]
    if isinstance(given, str):
        found = frozenset([given]) if is_own(given) else frozenset()
    else:
        found = frozenset() if given is None else given.own_code
    return found if reading is None else found | reading.own_names


def _row(summary: Mapping[str, Any], label: str, run: Path) -> dict[str, Any]:
    metric = next(iter(summary["test"]))
    return {
        "strategy": label,
        "seed": int(summary["seed"]),
        "metric": metric,
        "score": float(summary["test"][metric]),
        "valid_loss": float(summary.get("valid_loss", "nan")),
        "kept": float(summary["test_best"][metric]),
        "params": int(summary["params"]),
        "passes": int(RunStore.open(run).read_json("architecture.json", "passes")["passes"]),
        "seconds": float(summary["seconds"]),
        "architecture": summary["architecture"],
    }


def _compared(runs: pd.DataFrame, folder: Path) -> Comparison:
    metric = str(runs["metric"].iloc[0])
    sign = 1.0 if metric in _LESS_IS_MORE or is_loss(metric) else -1.0
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
    best = runs.sort_values("valid_loss", kind="stable").groupby("strategy")["kept"].first()
    order = (sign * table["score"]).sort_values(kind="stable").index
    table = table.loc[order]
    table.insert(3, "p", _against_best(scores[order]))
    table.insert(4, "best", best.loc[order])
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
