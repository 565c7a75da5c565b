"""Curves of a run as TensorBoard's event files."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meritnas.errors import UsageError
from meritnas.report.run_files import RunFiles, read_run
from meritnas.store.run_store import RunStore
from meritnas.store.whole_files import check_folder

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
_NO_CURVES = ("kind", "step", "steps", "phase", "leader", "beliefs")


class TensorBoardEvents:
    """Writes a run's curves as TensorBoard's event files, into the run's folder `tensorboard`.

    Begun for a run that goes on, it writes what there is already first. Curves: all numbers of the
    search's events by step; of every training the losses by epoch and the test scores at its best
    epoch; the test scores of a trade-off curve by parameters.
    """

    def __init__(self) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as missing:
            raise UsageError(
                "the package tensorboard is not installed; install it with "
                "pip install 'meritnas[tensorboard]'"
            ) from missing
        self._make = SummaryWriter
        self._writer: SummaryWriter | None = None
        self._run: Path | None = None

    def __call__(self, event: Mapping[str, Any]) -> None:
        """What `listen=` of the library takes."""
        if event["kind"] == "run":
            self._run = Path(event["run"])
        elif event["kind"] in ("search", "retrain") and self._run is not None:
            if self._writer is None:
                # Not before: a killed run's log is cut back to its checkpoint when it goes on. By
                # now it has this event, too.
                self._writer = self._begin(self._run)
            elif event["kind"] == "search":
                _add_event(self._writer, event)

    def close(self) -> None:
        """Write what was trained and close the files; nothing happens where there is no run."""
        if self._run is None:
            return
        writer = self._writer or self._begin(self._run)
        run = read_run(self._run)
        _add_trainings(writer, "training", run["retrain"].get("results", ()))
        store = RunStore.open(self._run)
        for kept in sorted(self._run.glob("rung-*/retrain.json")):
            name = kept.parent.name
            _add_trainings(writer, name, store.inside(name).read_json(kept.name)["results"])
        _add_tradeoff(writer, run)
        writer.close()
        self._writer = self._run = None

    def _begin(self, run: Path) -> SummaryWriter:
        folder = run / FOLDER
        check_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)  # else a resumed run's curves double
        writer = self._make(str(folder))
        for event in read_run(run).events:
            _add_event(writer, event)
        return writer


def _add_event(writer: SummaryWriter, event: Mapping[str, Any]) -> None:
    for name, value in event.items():
        if name not in _NO_CURVES and isinstance(value, int | float):
            writer.add_scalar(f"search/{name}", value, int(event["step"]))


def _add_trainings(writer: SummaryWriter, group: str, results: Iterable[Mapping[str, Any]]) -> None:
    for one in results:
        name = f"{group}/{one['architecture']} dropout {one['dropout']:g} seed {one['seed']}"
        name += " taught" if one.get("taught") else ""
        for part in ("train", "valid"):
            for epoch, loss in enumerate(one[f"{part}_losses"], start=1):
                writer.add_scalar(f"{name}/{part}_loss", loss, epoch)
        for metric, score in one["test"].items():
            writer.add_scalar(f"{name}/test_{metric}", score, one["best_epoch"])


def _add_tradeoff(writer: SummaryWriter, run: RunFiles) -> None:
    """Smaller limits may have the same network, which is one point."""
    points = {int(row["params"]): row["test"] for row in run["result"].get("pareto", ())}
    for params, scores in sorted(points.items()):
        for metric, score in scores.items():
            writer.add_scalar(f"trade-off/test_{metric}_by_parameters", score, params)
