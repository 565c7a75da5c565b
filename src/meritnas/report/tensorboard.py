from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from meritnas.errors import UsageError
from meritnas.report.run_files import read_run

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

FOLDER = "tensorboard"
_NO_CURVES = ("kind", "step", "steps", "phase", "leader", "beliefs")


class TensorBoardEvents:
    """Writes a run's curves as TensorBoard's event files, into the run's folder `tensorboard`.

    Begun for a run that goes on, it writes what there is already first. Curves: all numbers of the
    search's events by step, and of every training the losses by epoch.
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
            self._begin(Path(event["run"]))
        elif event["kind"] == "search":
            self._add(event)

    def close(self) -> None:
        """Write the trainings and close the files; nothing happens where there is no run."""
        if self._writer is None or self._run is None:
            return
        for training in read_run(self._run)["retrain"].get("results", []):
            name = f"training/{training['architecture']} seed {training['seed']}"
            for part in ("train", "valid"):
                for epoch, loss in enumerate(training[f"{part}_losses"], start=1):
                    self._writer.add_scalar(f"{name}/{part}_loss", loss, epoch)
        self._writer.close()
        self._writer = None

    def _begin(self, run: Path) -> None:
        self._run = run
        folder = run / FOLDER
        shutil.rmtree(folder, ignore_errors=True)  # else a resumed run's curves double
        self._writer = self._make(str(folder))
        for event in read_run(run).events:
            self._add(event)

    def _add(self, event: Mapping[str, Any]) -> None:
        assert self._writer is not None
        for name, value in event.items():
            if name not in _NO_CURVES and isinstance(value, int | float):
                self._writer.add_scalar(f"search/{name}", value, int(event["step"]))
