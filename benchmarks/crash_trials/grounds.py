"""The runs that trials start from, each made once and undisturbed but for what its name says."""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from crash_trials.operations import Kill, Operation
from crash_trials.process import Outcome, run

SAID = ("--quiet", "--json")
_LENGTH = ("--epochs", "6", "--retrain-epochs", "2", "--retrain-seeds", "1", "--threads", "1")
_SPACE = ("--target", "churn", "--max-params", "300", "--widths", "4,8,16")


class Grounds:
    """Folders that hold a run called `run`, or are empty, or hold a comparison."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = itertools.count()
        self.data = root / "sales.csv"
        _table(60, 0).to_csv(self.data, index=False)
        self.new = root / "new.csv"
        _table(12, 1).to_csv(self.new, index=False)
        self.search = ("search", str(self.data), *_SPACE, *_LENGTH, *SAID, "--out", "run")
        self.pareto = (*self.search, "--pareto")
        self.resume = ("search", "--resume", "run", *SAID)
        chosen = ("--strategies", "tabnas,random", "--seeds", "1", "--out", "runs")
        self.compare = ("compare", str(self.data), *_SPACE, *_LENGTH, *SAID, *chosen)

    @contextmanager
    def copy(self, start: Path) -> Iterator[Path]:
        """A copy of one of the folders, for one trial."""
        folder = self._root / f"trial-{next(self._numbers)}"
        shutil.copytree(start, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    @cached_property
    def empty(self) -> Path:
        """Nothing."""
        return self._new("empty")

    @cached_property
    def in_search(self) -> Path:
        """Killed between an event of the search and the checkpoint after it, the third."""
        return self._killed("in-search", "checkpoint.pt", 3)

    @cached_property
    def in_race(self) -> Path:
        """Killed before the third training of the race was written down."""
        return self._killed("in-race", "retrain.json", 4)

    @cached_property
    def finished(self) -> Path:
        """A run with a trade-off curve."""
        folder = self._new("finished")
        _undisturbed(self.pareto, folder)
        return folder

    @cached_property
    def rung(self) -> str:
        """The network of a smaller limit in that run."""
        result = json.loads((self.finished / "run" / "result.json").read_text())
        return str(result["pareto"][1]["architecture"])

    @cached_property
    def used(self) -> Path:
        """A run with a trade-off curve, explained and exported."""
        explain, export = ("explain", "run", "--quiet"), ("export", "run", "--to", "python")
        folder = shutil.copytree(self.finished, self._root / "used")
        for command in (explain, export):
            _undisturbed(command, folder)
        return folder

    @cached_property
    def compared(self) -> Path:
        """A comparison of two strategies."""
        folder = self._new("compared")
        _undisturbed(self.compare, folder)
        return folder

    @cached_property
    def _searching(self) -> tuple[Operation, ...]:
        """What the search does to files."""
        with self.copy(self.empty) as folder:
            return _undisturbed(self.search, folder).operations

    def _killed(self, name: str, file: str, number: int) -> Path:
        """The search, killed right before it writes this file for the time of this number."""
        folder = self._new(name)
        written = [k for k, one in enumerate(self._searching) if one.writes and file in one.path]
        run(self.search, folder, Kill(written[number - 1]))
        return folder

    def _new(self, name: str) -> Path:
        folder = self._root / name
        folder.mkdir()
        return folder


def _undisturbed(command: tuple[str, ...], folder: Path) -> Outcome:
    outcome = run(command, folder)
    if outcome.code != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {outcome.code}: {outcome.err}")
    return outcome


def _table(rows: int, seed: int) -> pd.DataFrame:
    """Two numbers, a category and a class that depends on them."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "height": rng.normal(170, 10, rows).round(2),
            "income": rng.lognormal(10, 1, rows).round(2),
            "city": rng.choice(["Bonn", "Rome", "Ulm"], rows),
        }
    )
    frame["churn"] = np.where((frame.height > 170) ^ (frame.city == "Ulm"), "yes", "no")
    return frame
