"""Batches of rows that are not in memory, dealt to workers: each reads what it trains on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch

from meritnas.data import stream
from meritnas.data.bundle import Part, joined_parts
from meritnas.data.rows import Rows
from meritnas.data.shared_text import SharedText
from meritnas.data.stream import (
    Batch,
    BatchStream,
    ContinuingStream,
    batch_of,
    check_saved,
    make_stream,
)
from meritnas.devices.placement import on_cpu
from meritnas.settings.augment import Augment


def make_shared_stream(
    rows: Rows, batch_size: int, seed: int, augment: Augment | None, workers: int
) -> BatchStream | ContinuingStream | DealtStream | SharedText:
    """Returns batches to train on for so many workers.

    Rows in memory, and those that one window holds, are there for everybody: all workers draw from
    one order. Of a text each goes on with a stretch of its own. Only images, which are in memory,
    are changed by `augment`.
    """
    if workers > 1 and rows.columns is not None:
        return SharedText(rows.sample, workers)
    one_window = len(rows.groups) == 1 or len(rows) <= stream.WINDOW
    if workers == 1 or one_window or len(rows) < workers * batch_size:
        return make_stream(rows, batch_size, seed, augment)
    return DealtStream(rows, batch_size, seed, workers)


@dataclass(frozen=True)
class UnreadBatch:
    """A batch that is read by whoever trains on it.

    Attributes:
        rows: How many it will have.
        fetch: Reads it.
    """

    rows: int
    fetch: Callable[[], Batch]

    def __len__(self) -> int:
        return self.rows

    def first(self, rows: int) -> UnreadBatch:
        """Its first rows."""
        return UnreadBatch(min(rows, self.rows), lambda: self.fetch().first(rows))

    def read(self) -> Batch:
        """The batch itself."""
        return self.fetch()


class DealtStream:
    """Endless batches of rows in groups, for several workers, each of which reads its own.

    In every epoch groups come in another random order and are laid one after the other. Of this
    line every worker has a stretch of as many rows, a whole number of batches: groups in which one
    ends and the next begins are read by both. A worker's rows are shuffled a window at a time, and
    windows of all workers end at the same step and have about `WINDOW` rows together. Less than a
    batch for each worker is left over at the end of the line and waits for another epoch's order.

    What is read for a worker follows from the epoch, the step, and the worker's number alone, so it
    is the same whichever process computes for it.

    Args:
        rows: What to draw from, at least a batch for each worker.
        batch_size: Rows per batch.
        seed: Seed of the orders; the stream neither reads nor moves torch's global generator.
        workers: How many there are.
    """

    def __init__(self, rows: Rows, batch_size: int, seed: int, workers: int) -> None:
        self._rows = rows
        self._size = batch_size
        self._workers = workers
        self._steps = len(rows) // (batch_size * workers)
        self._generator = torch.Generator().manual_seed(seed)
        self._common = BatchStream(rows.sample, batch_size, seed)
        self._start_epoch()

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches in an epoch, those of all workers counted."""
        return self._steps * self._workers

    def next(self) -> Batch:
        """Returns a batch on which all workers look together: of the rows that are in memory."""
        return self._common.next()

    def of_workers(self, workers: int) -> list[UnreadBatch]:
        """Returns the next batch of each worker; a new epoch starts by itself."""
        assert workers == self._workers
        if self._step == self._steps:
            self._start_epoch()
        step = self._step
        self._step += 1
        return [UnreadBatch(self._size, partial(own.batch, step)) for own in self._stretches]

    def state_dict(self) -> dict[str, Any]:
        """Returns where the stream stands, as tensors and integers only."""
        return {
            "epoch_start": self._epoch_start.clone(),
            "step": self._step,
            "rows": len(self._rows),
            "batch_size": self._size,
            "workers": self._workers,
            "common": self._common.state_dict(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where the stream that gave `state` stood; nothing is read for that.

        Raises:
            DataError: That stream had another number of rows or workers, or another batch size.
        """
        check_saved(state, rows=len(self._rows), batch_size=self._size, workers=self._workers)
        self._common.load_state_dict(state["common"])
        self._generator.set_state(on_cpu(state["epoch_start"]))
        self._start_epoch()
        self._step = int(state["step"])

    def _start_epoch(self) -> None:
        # The generator before the draw says as much as the order itself and stays small.
        self._epoch_start = self._generator.get_state()
        self._step = 0
        order = torch.randperm(len(self._rows.groups), generator=self._generator).tolist()
        seeds = torch.randint(2**62, (self._workers,), generator=self._generator).tolist()
        length = self._steps * self._size
        windows = max(1, round(length * self._workers / stream.WINDOW))
        steps = -(-self._steps // windows)
        self._stretches = [
            _Stretch(
                self._rows,
                _stretch(order, self._rows.groups, v * length, (v + 1) * length),
                self._size,
                steps,
                seed,
            )
            for v, seed in enumerate(seeds)
        ]


@dataclass(frozen=True)
class _Piece:
    """Some rows of a group: from `start` up to `end`."""

    group: int
    start: int
    end: int


class _Stretch:
    """A worker's rows of an epoch.

    Args:
        rows: What they are of.
        pieces: Of which groups, in their order.
        size: Rows per batch.
        steps: Batches in a window; the last window may have fewer.
        seed: Of the orders in windows.
    """

    def __init__(
        self, rows: Rows, pieces: Sequence[_Piece], size: int, steps: int, seed: int
    ) -> None:
        self._rows = rows
        self._pieces = pieces
        self._size = size
        self._steps = steps
        self._seed = seed
        self._length = sum(piece.end - piece.start for piece in pieces)
        self._window = -1
        self._part: Part | None = None
        self._last: tuple[int, Part] | None = None
        """The group that was read last, of which the next window may need the rest."""

    def batch(self, step: int) -> Batch:
        """The rows of a step; their window is read when the first of them is needed."""
        window, place = divmod(step, self._steps)
        if self._part is None or window != self._window:
            self._part = None  # before the next one is read: two need not be in memory
            self._part = self._read(window)
            self._window = window
            generator = torch.Generator().manual_seed(self._seed + window)
            self._order = torch.randperm(len(self._part), generator=generator)
        return batch_of(self._part, self._order[place * self._size :][: self._size])

    def _read(self, window: int) -> Part:
        first = window * self._steps * self._size
        last = min(self._length, first + self._steps * self._size)
        parts, before = [], 0
        for piece in self._pieces:
            start = piece.start + max(0, first - before)
            end = min(piece.end, piece.start + last - before)
            before += piece.end - piece.start
            if start < end:
                parts.append(self._group(piece.group).slice(start, end))
        return joined_parts(parts)

    def _group(self, group: int) -> Part:
        if self._last is None or self._last[0] != group:
            self._last = None
            self._last = group, self._rows.window([group])
        return self._last[1]


def _stretch(order: Sequence[int], groups: Sequence[int], start: int, end: int) -> list[_Piece]:
    """The rows from one place on and before another of groups laid one after the other."""
    pieces, before = [], 0
    for group in order:
        first, last = max(0, start - before), min(groups[group], end - before)
        if first < last:
            pieces.append(_Piece(group, first, last))
        before += groups[group]
    return pieces
