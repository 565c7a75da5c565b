"""What a search found, as Python sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from meritnas.explanation.network import NetworkExplanation, explain_run
from meritnas.families.family import Family
from meritnas.prediction.predictor import NewData, Predictor, load_predictor
from meritnas.report.charts.pareto_figure import pareto_file
from meritnas.report.notebook.pictures import RunFigure
from meritnas.report.notebook.run_view import RunView, network_picture
from meritnas.report.page.page import NAME, report_at_end, write_report
from meritnas.report.terminal.pareto_table import pareto_table
from meritnas.report.terminal.summary import summary_rows
from meritnas.run import stages
from meritnas.run.job import Job
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore

_CURVE = "pareto.svg"


@dataclass(frozen=True)
class SearchResult:
    """What a search found.

    Attributes:
        architecture: the network that was chosen.
        space: the space it was chosen from.
        run: the folder with everything about the search.
        summary: the numbers of `meritnas search --json`.
    """

    architecture: Architecture
    space: Family
    run: Path
    summary: dict[str, Any]
    _job: Job = field(repr=False, compare=False)

    def explain(self) -> NetworkExplanation:
        """Find out what each part of the network is worth, and what else was close."""
        with RunStore.take(self.run) as store:
            found = explain_run(self._job, store)
        report_at_end(self.run)
        return found

    @property
    def history(self) -> list[dict[str, Any]]:
        """The events of the search, in order: losses, rewards, beliefs."""
        return RunStore.open(self.run).events()

    @property
    def report(self) -> Path:
        """A page about the run, to open in a browser; it is written if it is not there."""
        path = self.run / NAME
        return path if path.is_file() else write_report(self.run)

    @property
    def test(self) -> dict[str, float]:
        """Metric -> mean score on held-out rows over the retraining seeds."""
        return dict(self.summary["test"])

    @property
    def module(self) -> nn.Module:
        """The trained network: a plain torch Module for encoded rows."""
        return self._predictor().module

    def predict(self, data: NewData) -> np.ndarray:
        """Answers for the rows of a table, or for pictures, like those that were searched on."""
        return self._predictor().predict(data)

    @property
    def figures(self) -> dict[str, str]:
        """Name -> caption of every figure of the report."""
        return RunView(self.run).figures

    def figure(self, name: str) -> RunFigure:
        """One of the `figures`, which a notebook shows, with `svg` and `save(path)`."""
        return RunView(self.run).figure(name)

    def _repr_html_(self) -> str:
        """What a notebook shows: the numbers, the network, the trade-off."""
        return RunView(self.run)._repr_html_()

    def _predictor(self) -> Predictor:
        return load_predictor(self.run, trust=self._job.trust)


def result_of(job: Job, store: RunStore) -> SearchResult:
    """The result that a run's folder holds."""
    kept = store.decode("result.json", _shown)
    summary = {**kept, "run": str(store.folder)}  # it may have moved
    chosen = job.ground.family.parse(summary["architecture"])
    family = job.ground.family.of(chosen)
    chosen = replace(chosen, picture=network_picture(family, chosen))
    return SearchResult(chosen, family, store.folder, summary, job)


def _shown(result: dict[str, Any]) -> dict[str, Any]:
    """A result that can be shown; any other is damaged."""
    summary_rows(result)
    if result.get("pareto"):
        pareto_table(result["pareto"])
    return {**result, "test": dict(result["test"])}


def is_complete(store: RunStore) -> bool:
    """Whether a run has its result, and all that is made of that at its end."""
    if not (stages.is_finished(store) and store.settled and store.has(NAME)):
        return False
    return store.has(_CURVE) or "pareto" not in store.read_json("result.json")


def ended(job: Job, store: RunStore) -> SearchResult:
    """What is done when a run has a new result: its figure, its page."""
    begun = time.perf_counter()
    result = result_of(job, store)
    if "pareto" in result.summary:
        store.write_text(_CURVE, pareto_file(result.summary["pareto"]))
    report_at_end(store.folder)
    report = {"report": round(time.perf_counter() - begun, 2)}
    result.summary["spent"] = {**result.summary.get("spent", {}), **report}
    store.write_json("result.json", result.summary)
    return result
