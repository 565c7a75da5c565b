"""The HTML page over many runs, put together from what each of them says."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from meritnas.errors import StoreError
from meritnas.report.board.entry import DAMAGED, Entry, read_entry, stamp
from meritnas.report.board.figures import ground_figures
from meritnas.report.board.found import LeftOut, find_runs
from meritnas.report.board.grounds import Listed, grounds_of, listed
from meritnas.report.charts.figure import Figure
from meritnas.report.numbers import count_text, duration_text, score_text
from meritnas.report.page.page import NAME as REPORT
from meritnas.store.whole_files import write_whole
from meritnas.version import __version__

NAME = "board.html"
"""The file in a folder of runs."""

_MOST_LEFT_OUT = 100


@dataclass(frozen=True)
class Cell:
    """What is in a column of a run: as text, and as what it is sorted by."""

    text: str
    by: str | float


@dataclass(frozen=True)
class Row:
    """A run in the list.

    Attributes:
        run: which.
        link: its page, from the board on; empty where there is none.
        cells: the columns after its name.
    """

    run: Listed
    link: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Part:
    """Runs on the same data, drawn."""

    title: str
    metric: str
    groups: tuple[str, ...]
    figures: tuple[Figure, ...]


HEAD = (
    *("data", "strategy", "network", "parameters", "score", "state", "limits"),
    *("space", "seed", "time"),
)
"""The columns after the run's name."""

CHOICES = ("data", "strategy", "space", "state")
"""Columns by which runs are chosen from a list."""


class Board:
    """The runs in a folder; asked again, it reads those anew that have changed.

    Args:
        folder: which has folders of runs in it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[tuple[object, ...], Entry | LeftOut]] = {}
        self.entries: list[Entry] = []
        self.others: list[LeftOut] = []

    def read(self) -> None:
        """Look for runs and read them.

        Raises:
            StoreError: There is none.
        """
        found = find_runs(self._folder)
        read = [self._entry(run, found.name(run)) for run in found.runs]
        self.entries = [one for one in read if isinstance(one, Entry)]
        self.others = [*(one for one in read if isinstance(one, LeftOut)), *found.others]

    def page(self, place: Path | None = None, reload_seconds: int | None = None) -> str:
        """One HTML page about the runs, which needs nothing but itself.

        Args:
            place: the folder that it will be in, for links to the reports that there are; None
                where links are answered for every run, see `link_of`.
            reload_seconds: how often the page asks for itself anew; None for never.
        """
        runs = listed(self.entries)
        return _template().render(
            title=f"Runs in {self._folder.absolute().name or self._folder}",
            head=HEAD,
            choices=CHOICES,
            rows=[Row(one, _link(one.entry, place), _cells(one.entry)) for one in runs],
            parts=_parts(runs),
            others=self.others[:_MOST_LEFT_OUT],
            more=max(0, len(self.others) - _MOST_LEFT_OUT),
            problems=[(one.name, text) for one in self.entries for text in one.problems],
            reload_seconds=reload_seconds,
            version=__version__,
        )

    def _entry(self, run: Path, name: str) -> Entry | LeftOut:
        now = stamp(run)
        before, known = self._known.get(run, (None, None))
        if known is None or before != now:
            known = _read(run, name)
            self._known[run] = (now, known)
        return known


def write_board(folder: Path, out: Path | None = None) -> tuple[Path, Board]:
    """Write the page over a folder's runs, by default into it; returns where, and what is on it."""
    path = folder / NAME if out is None else out
    board = Board(folder)
    board.read()
    write_whole(path, board.page(path.parent).encode("utf-8", "backslashreplace"))
    return path, board


def link_of(entry: Entry) -> str:
    """Where a run's report is answered for, beside a board that is served."""
    return quote(f"{entry.name}/{REPORT}")


def _read(run: Path, name: str) -> Entry | LeftOut:
    try:
        return read_entry(run, name)
    except StoreError as error:
        return LeftOut(name, str(error))
    except OSError as error:
        return LeftOut(name, f"it could not be read ({error.strerror})")
    except DAMAGED as error:
        return LeftOut(name, f"its files hold other things than a search writes ({error!r})")


def _link(entry: Entry, place: Path | None) -> str:
    if place is None:
        return link_of(entry)
    if not entry.reported:
        return ""
    return quote(Path(os.path.relpath(entry.folder / REPORT, place)).as_posix())


def _cells(entry: Entry) -> tuple[Cell, ...]:
    """A run in the columns of the list."""
    score = entry.points[0] if entry.points else None
    params, seconds = entry.params, entry.seconds
    words = "" if score is None else score_text(score.score, score.spread or None)
    return (
        *(Cell(text, text) for text in (entry.data, entry.strategy, entry.network)),
        Cell("" if params is None else count_text(int(params)), "" if params is None else params),
        Cell(f"{words} {entry.metric}" if words else "", "" if score is None else score.score),
        Cell(entry.state, entry.state),
        Cell(entry.limits or "none", entry.limits),
        Cell(entry.space, entry.space),
        Cell(entry.seed, float(entry.seed) if entry.seed.isdigit() else entry.seed),
        Cell("" if seconds is None else duration_text(seconds), "" if seconds is None else seconds),
    )


def _parts(runs: Sequence[Listed]) -> list[Part]:
    """Runs by their data, but for data of which there is nothing to draw."""
    drawn = [(ground, ground_figures(ground)) for ground in grounds_of(runs)]
    return [
        Part(ground.title, ground.metric, tuple(one.group for one in ground.runs), figures)
        for ground, figures in drawn
        if figures
    ]


@cache
def _template() -> Template:
    own = Path(__file__).parent
    places = (own / "templates", own.parent / "page" / "templates", own.parent / "charts")
    environment = Environment(
        loader=FileSystemLoader(places),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("board.html")
