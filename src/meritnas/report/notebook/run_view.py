"""A run to look at from Python: its numbers, its figures, what a notebook shows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meritnas.errors import UsageError
from meritnas.families.family import Family
from meritnas.report.charts.figure import Figure
from meritnas.report.charts.network import graph_picture, layers_picture
from meritnas.report.notebook.blocks import facts_table, heading
from meritnas.report.notebook.pictures import RunFigure, drawn, images
from meritnas.report.page.page import sections_of
from meritnas.report.page.section import Section
from meritnas.report.run_files import RunFiles, read_run
from meritnas.report.run_network import run_network
from meritnas.report.terminal.summary import summary_rows
from meritnas.space.architecture import Architecture
from meritnas.store.checked_path import checked_path
from meritnas.wording import did_you_mean

_CALLED = {"tradeoff": "pareto"}
"""Parts of the page that flags and files have other names for."""

_SHOWN = ("network", "pareto")
_CELLS = 2
"""Of a network: others are like them."""

_DAMAGED = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class RunView:
    """A run's folder, finished or not, to look at; nothing that it names is imported.

    Attributes:
        run: the folder.
    """

    run: Path

    @property
    def summary(self) -> dict[str, Any]:
        """The numbers of `meritnas search --json`; empty before the run has ended."""
        return dict(read_run(self.run)["result"])

    @property
    def figures(self) -> dict[str, str]:
        """Name -> caption of every figure that the run's report has now."""
        return {name: figure.caption or name for name, figure in self._figures().items()}

    def figure(self, name: str) -> RunFigure:
        """One of the `figures`, as a notebook shows it and a file keeps it.

        Raises:
            UsageError: The run has none of this name.
        """
        found = self._figures()
        if name not in found:
            known = ", ".join(found) or "none"
            raise UsageError(
                f"run {self.run} has no figure {name!r};{did_you_mean(str(name), found)} "
                f"there are: {known}"
            )
        figure = found[name]
        return RunFigure(name, figure.caption or name, drawn(figure))

    def _figures(self) -> dict[str, Figure]:
        run = read_run(self.run)
        sections, _ = sections_of(run, run_network(run))
        return dict(_named(sections))

    def _repr_html_(self) -> str:
        run = read_run(self.run)
        found = self._figures()
        shown = [figure for name, figure in found.items() if name.rpartition("-")[0] in _SHOWN] + [
            found[name] for name in _SHOWN if name in found
        ]
        title = f"{run.config['data'].get('name', 'a run')}: {run.network or 'no network yet'}"
        return heading(title) + facts_table(_facts(run)) + images(shown)


def open_run(run: str | Path) -> RunView:
    """A run's folder to look at: its summary, and every figure of its report.

    Nothing that the run names is imported, and no data is read.

    Args:
        run: its folder; a search that goes on or was interrupted has figures, too.
    """
    folder = checked_path("run", run)
    read_run(folder)  # which complains about what is none
    return RunView(folder)


def network_picture(family: Family, architecture: Architecture) -> str:
    """A network as images; empty where nothing is known about how to draw it."""
    layers = family.layers(architecture)
    if layers:
        title = "The layers of the network and their widths"
        return images([Figure(layers_picture(title, layers), title)])
    drawings = family.drawings(architecture)
    return images([Figure(graph_picture(each), each.title) for each in drawings[:_CELLS]])


def _named(sections: Sequence[Section]) -> Iterator[tuple[str, Figure]]:
    """The figures of a page by the name of their part, with a number where it has several."""
    for section in sections:
        name = _CALLED.get(section.name, section.name)
        figures = [each for each in (*section.figures, *section.folded) if each.svg]
        for number, figure in enumerate(figures, start=1):
            yield name if len(figures) == 1 else f"{name}-{number}", figure


def _facts(run: RunFiles) -> list[tuple[str, str]]:
    """What a table in a terminal says."""
    if not run.finished:
        return [("note", text) for text in run.said]
    try:
        return summary_rows({**run["result"], "run": str(run.folder)})  # it may have moved
    except _DAMAGED:
        return [("network", str(run.network))]
