"""Endless batches of a part, in random order or as a text goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import torch
from torch import Tensor

from meritnas.data.augment import augmented
from meritnas.data.bundle import Part
from meritnas.data.rows import Rows
from meritnas.devices.placement import beside, on_cpu
from meritnas.errors import DataError
from meritnas.settings.augment import Augment

WINDOW = 1 << 19
"""Rows that are shuffled together, at least, where not all are in memory."""

_AUGMENT_SEED = 0x9E3779B9
"""Sets changes to rows apart from their orders; below 2**32, as torch ignores what is above."""


@dataclass
class Carry:
    """What a network remembers from one batch to the next.

    A batch may be looked at several times: each look begins with the same state.

    Attributes:
        state: [b, width], before the batch; None at the beginning.
        after: [b, width], after the last look at it; None before the first.
    """

    state: Tensor | None = None
    after: Tensor | None = None


@dataclass(frozen=True)
class Batch:
    """Some rows of a part.

    Attributes:
        inputs: Encoded rows, float32 [b, width], images [b, channels, height, width] with
            their channels last in memory, as convolutions like them, or words int64 [b, steps].
        target: Encoded targets [b], or the words that follow [b, steps].
        weights: How much each row counts [b], or None where all count alike.
        carry: Where batches continue each other, what is carried on; else None.
        taught: What a teacher answers to each row, as `Part.taught` has it; None without one.
    """

    inputs: Tensor
    target: Tensor
    weights: Tensor | None = None
    carry: Carry | None = None
    taught: Tensor | None = None

    def __len__(self) -> int:
        return len(self.target)

    def read(self) -> Batch:
        """Returns itself: it is in memory."""
        return self

    def first(self, rows: int) -> Batch:
        """Returns the batch's first rows."""
        return self.piece(0, rows)

    def piece(self, start: int, end: int) -> Batch:
        """Returns the rows from one on and before another."""
        weights = None if self.weights is None else self.weights[start:end]
        taught = None if self.taught is None else self.taught[start:end]
        return Batch(self.inputs[start:end], self.target[start:end], weights, taught=taught)


def joined(batches: Sequence[Batch]) -> Batch:
    """Several batches of one part as one."""
    if len(batches) == 1:
        return batches[0]
    inputs = torch.cat([batch.inputs for batch in batches])
    target = torch.cat([batch.target for batch in batches])
    weights = [batch.weights for batch in batches if batch.weights is not None]
    taught = [batch.taught for batch in batches if batch.taught is not None]
    return Batch(
        inputs,
        target,
        torch.cat(weights) if weights else None,
        taught=torch.cat(taught) if taught else None,
    )


class BatchToRead(Protocol):
    """A batch that is in memory, or will be where somebody reads it."""

    def __len__(self) -> int:
        """How many rows it has."""
        ...

    def first(self, rows: int) -> BatchToRead:
        """Its first rows."""
        ...

    def read(self) -> Batch:
        """The batch itself."""
        ...


class Stream(Protocol):
    """Endless batches of a part."""

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches in an epoch, at least 1."""
        ...

    def next(self) -> Batch:
        """Returns the next batch; a new epoch starts by itself."""
        ...

    def of_workers(self, workers: int) -> Sequence[BatchToRead]:
        """Returns the next batch of each worker; who does not need one of them does not read it."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """Returns where the stream stands."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where the stream that gave `state` stood."""
        ...


class BatchStream:
    """Endless batches of rows, in a fresh random order every epoch.

    Rows that are in groups are read a few groups at a time, a window of at least `WINDOW` rows:
    groups come in a random order, and the rows of a window are shuffled together. What is in
    memory is one window, so that all its rows are.

    The rows left over after the last full batch of an epoch wait for another epoch's order. A
    part smaller than a batch is one batch. What a part's `changes` say is done to every batch.

    Args:
        rows: What to draw from.
        batch_size: Rows per batch.
        seed: Seed of the orders; the stream neither reads nor moves torch's global generator.
        augment: What is done to images, each time in another way; None for nothing.
    """

    def __init__(
        self, rows: Rows, batch_size: int, seed: int, augment: Augment | None = None
    ) -> None:
        if batch_size < 1:
            raise DataError(f"a batch size of {batch_size} holds no rows; give at least 1")
        if len(rows) == 0:
            raise DataError("a part with 0 rows gives no batches; give at least 1 row")
        self._rows = rows
        self._size = min(batch_size, len(rows))
        self._usable = len(rows) - len(rows) % self._size
        self._generator = torch.Generator().manual_seed(seed)
        self._augment = augment if augment is not None and augment.changes else None
        # Of its own: an epoch's order is drawn from a state that is saved before its batches.
        self._augment_generator = torch.Generator().manual_seed(seed ^ _AUGMENT_SEED)
        self._draws = self._augment is not None or rows.sample.changes is not None
        self._part: Part | None = None
        self._read: list[int] = []
        self._start_epoch()

    @property
    def steps_per_epoch(self) -> int:
        """Number of batches in an epoch, at least 1."""
        return self._usable // self._size

    def next(self) -> Batch:
        """Returns the next batch; a new epoch starts by itself."""
        if self._position == self._usable:
            self._start_epoch()
        self._position += self._size
        lacking, found = self._size, []
        while lacking:
            if self._at == len(self._order):
                self._go_to_next_window()
            rows = self._order[self._at : self._at + lacking]
            found.append(self._take(rows))
            self._at += len(rows)
            lacking -= len(rows)
        batch = joined(found)
        if self._augment is not None:
            inputs = augmented(batch.inputs, self._augment, self._augment_generator)
            batch = replace(batch, inputs=inputs)
        return batch

    def of_workers(self, workers: int) -> list[Batch]:
        """Returns the next batches, one for each worker."""
        return [self.next() for _ in range(workers)]

    def _take(self, rows: Tensor) -> Batch:
        """Rows of the window by their number; it is read when the first of them is needed."""
        if self._part is None:
            self._read = self._windows[self._window]
            self._part = self._rows.window(self._read)
        batch, changes = batch_of(self._part, rows), self._part.changes
        if changes is None:
            return batch
        inputs = changes.changed(batch.inputs, rows, self._augment_generator)
        return replace(batch, inputs=inputs)

    def state_dict(self) -> dict[str, Any]:
        """Returns where the stream stands, as tensors and integers only."""
        state = {
            "epoch_start": self._epoch_start.clone(),
            "position": self._position,
            "rows": len(self._rows),
            "batch_size": self._size,
        }
        if self._draws:
            state["augment"] = self._augment_generator.get_state()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where the stream that gave `state` stood.

        Raises:
            DataError: That stream had another number of rows or another batch size.
        """
        check_saved(state, rows=len(self._rows), batch_size=self._size)
        if "augment" in state:
            self._augment_generator.set_state(on_cpu(state["augment"]))
        self._generator.set_state(on_cpu(state["epoch_start"]))
        self._start_epoch()
        self._position = int(state["position"])
        before = 0
        while before + len(self._order) < self._position:  # orders are drawn, nothing is read
            before += len(self._order)
            self._go_to_next_window()
        self._at = self._position - before

    def _start_epoch(self) -> None:
        # The generator before the draw says as much as all orders themselves and stays small.
        self._epoch_start = self._generator.get_state()
        self._windows = self._drawn_windows()
        self._window = -1
        self._position = 0
        self._go_to_next_window()

    def _go_to_next_window(self) -> None:
        self._window += 1
        groups = self._rows.groups
        rows = sum(groups[group] for group in self._windows[self._window])
        self._order = torch.randperm(rows, generator=self._generator)
        self._at = 0
        if self._windows[self._window] != self._read:
            self._part = None  # before the next one is read: two need not be in memory

    def _drawn_windows(self) -> list[list[int]]:
        """The groups of each window; in one window their order does not matter."""
        groups = self._rows.groups
        if sum(groups) <= WINDOW or len(groups) == 1:
            return [list(range(len(groups)))]
        windows: list[list[int]] = []
        room = 0
        for group in torch.randperm(len(groups), generator=self._generator).tolist():
            if room <= 0:
                windows.append([])
                room = WINDOW
            windows[-1].append(group)
            room -= groups[group]
        return windows


class ContinuingStream:
    """Endless batches of pieces of a text in their order; what a network remembers goes along.

    The state is carried from batch to batch and forgotten where the text begins again.

    Args:
        part: Pieces that continue each other.
        first: The window that it begins with.
        end: The window that it ends before; None for the end of the text.
    """

    def __init__(self, part: Part, first: int = 0, end: int | None = None) -> None:
        if not part.columns or len(part) < part.columns:
            raise DataError(
                f"a part of {len(part)} pieces in {part.columns} columns does not continue itself; "
                "give as many pieces as columns at least"
            )
        self._part = part
        self._columns = part.columns
        self._first = first
        self._end = len(part) // part.columns if end is None else end
        self._step = 0
        self._carry = Carry()

    @property
    def steps_per_epoch(self) -> int:
        """Number of windows from where it begins to where it ends."""
        return self._end - self._first

    def next(self) -> Batch:
        """Returns the next window of all columns."""
        if self._step == self.steps_per_epoch:
            self._step = 0
        self._carry = Carry(self._carry.after if self._step else None)
        first = (self._first + self._step) * self._columns
        self._step += 1
        some = self._part.slice(first, first + self._columns)
        return Batch(some.inputs, some.target, some.weights, self._carry)

    def of_workers(self, workers: int) -> list[Batch]:
        """Returns the next window for the only worker; several have a `SharedText`."""
        assert workers == 1
        return [self.next()]

    def state_dict(self) -> dict[str, Any]:
        """Returns where the stream stands and what is carried on."""
        after = self._carry.after
        return {
            "step": self._step,
            "rows": len(self._part),
            "carried": None if after is None else after.clone(),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues where the stream that gave `state` stood.

        Raises:
            DataError: That stream had another number of pieces.
        """
        if int(state["rows"]) != len(self._part):
            raise DataError(
                f"the saved stream has rows={state['rows']} but this one rows={len(self._part)}; "
                "resume with the data of the saved run"
            )
        self._step = int(state["step"])
        carried = state["carried"]
        self._carry = Carry(after=None if carried is None else beside(carried, self._part.inputs))


def make_stream(
    rows: Rows, batch_size: int, seed: int, augment: Augment | None = None
) -> BatchStream | ContinuingStream:
    """Returns batches to train on: in random order, or of a text as it goes on.

    A text has as many columns as its batches have rows, whatever the batch size here.
    """
    if rows.columns is not None:
        return ContinuingStream(rows.sample)
    return BatchStream(rows, batch_size, seed, augment)


def batch_of(part: Part, rows: Tensor) -> Batch:
    """The rows of a part with these numbers."""
    at = beside(rows, part.inputs)
    weights = None if part.weights is None else part.weights.index_select(0, at)
    taught = None if part.taught is None else part.taught.index_select(0, at)
    target = part.target.index_select(0, at)
    return Batch(_rows(part.inputs, at), target, weights, taught=taught)


def check_saved(state: Mapping[str, Any], **here: int) -> None:
    """Complains about the state of a stream of other batches.

    Args:
        state: As it was saved.
        here: What it must say about itself, by name.

    Raises:
        DataError: It says something else.
    """
    for key, own in here.items():
        if state.get(key) != own:
            raise DataError(
                f"the saved stream has {key}={state.get(key)} but this one {key}={own}; "
                "resume with the data and batch size of the saved run"
            )


def _rows(inputs: Tensor, rows: Tensor) -> Tensor:
    """Some rows of a table, or some images with their channels last in memory."""
    if inputs.ndim != 4:
        return inputs.index_select(0, rows)
    # `index_select` always gives its result in the order of its dimensions.
    return inputs.permute(0, 2, 3, 1).index_select(0, rows).permute(0, 3, 1, 2)
