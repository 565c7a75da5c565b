"""Runs whose files may be changed, as if they were of before there were digests."""

from __future__ import annotations

import shutil
from pathlib import Path


def unchecked(run: Path) -> Path:
    """The run, without its digests."""
    (run / "digests.json").unlink()
    return run


def unchecked_copy(run: Path, place: Path | str) -> Path:
    """A copy of a run, without its digests."""
    return unchecked(Path(shutil.copytree(run, place)))
