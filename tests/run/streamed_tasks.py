"""A search on rows that are streamed, for tests to give to several processes."""

from __future__ import annotations

import hashlib
import io
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from rank_tasks import _plain, tell
from torch import Tensor

from meritnas.workers.workers import Workers

WORKERS = 4
WINDOW = 200
GROUP = 60
DYING = 5
"""The weight step in which a rank ends: in the second window of an epoch of two."""

_PLAN = 2, 11, 0
_BATCH = 8


class Kept:
    """A checkpoint in memory."""

    state: dict[str, Any] | None = None

    def append(self, event: dict[str, Any]) -> None:
        """Events are not looked at."""

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """As a file would have it."""
        self.state = _copied(state)


def _copied(state: dict[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing."""
    written = io.BytesIO()
    torch.save(state, written)
    written.seek(0)
    found: dict[str, Any] = torch.load(written, weights_only=False)
    return found


def search(path: Path, ranks: Workers, kept: Kept, dying: int | None = None) -> dict[str, str]:
    """A digest of all state that a search comes to, and an x for each group that was read here.

    Args:
        path: of a Parquet file with the target y.
        ranks: who computes.
        kept: its state after every step; it goes on from that where there is any.
        dying: the rank that is killed in a weight step.
    """
    # Here: this is imported where there is nothing to search for, too.
    from meritnas import TableReading, Tabular, Training
    from meritnas.engine.plan import Plan
    from meritnas.engine.search_together import search_to_its_end
    from meritnas.engine.start import make_panel, make_search
    from meritnas.run.begin import begin
    from meritnas.settings.request import Request

    request = Request(
        space=Tabular(layers=2, widths=(2, 4)),
        strategy="darts-2nd",
        epochs=2,
        workers=WORKERS,
        reading=TableReading(stream=True, scaling="standard", yardstick=False),
        training=Training(batch_size=_BATCH),
    )
    job, _ = begin(path, "y", request)
    with _small_windows(ranks.rank == dying) as read:
        found = make_search(job.settings, job.ground, job.bundle, Plan(*_PLAN), 0, ranks)
        if kept.state is not None:
            found.load_state_dict(kept.state)
        panel = make_panel(found, job.ground, job.bundle)
        feasible = job.ground.searched_feasible
        result = search_to_its_end(found, kept, lambda _: None, feasible, panel)
    state = {name: value for name, value in found.state_dict().items() if "seconds" not in name}
    digest = hashlib.sha1(repr((result, _plain(state))).encode()).hexdigest()
    every = range(len(job.bundle.train.groups))
    return {"digest": digest, "read": "".join("x" if group in read else "-" for group in every)}


def search_twice(path: Path, ranks: Workers) -> None:
    """What another rank does: it tells the first what it found, then is killed in a search."""
    tell(search(path, ranks, Kept()), ranks)
    search(path, ranks, Kept(), ranks.rank)


@contextmanager
def _small_windows(dies: bool) -> Iterator[list[int]]:
    """Inside, windows are small, every step is kept, and it is noted which groups are read."""
    from meritnas.data import stream
    from meritnas.data.tables.streamed import StreamedRows
    from meritnas.engine import loop

    read: list[int] = []
    window, weight_step = StreamedRows.window, loop.Search.weight_step

    def counted(self: StreamedRows, groups: Sequence[int]) -> Any:
        read.extend(groups)
        return window(self, groups)

    def step(self: loop.Search, clock: Any) -> Tensor:
        if clock.step == DYING and dies:
            os.kill(os.getpid(), signal.SIGKILL)
        return weight_step(self, clock)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "WINDOW", WINDOW)
        patch.setattr(StreamedRows, "window", counted)
        patch.setattr(loop.Search, "weight_step", step)
        patch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", -1.0)
        yield read
