"""Rows that are not in memory, dealt to workers: every row once, each read by whoever needs it."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data import stream
from meritnas.data.bundle import Part
from meritnas.data.dealt_stream import DealtStream, make_shared_stream
from meritnas.data.stream import BatchStream
from meritnas.errors import DataError

SIZES = st.lists(st.integers(1, 9), min_size=2, max_size=9)


class Groups:
    """Rows in groups, numbered from 0, that are made when they are asked for."""

    columns = None

    def __init__(self, sizes: Sequence[int]) -> None:
        self.groups = sizes
        self.read: list[int] = []
        self._starts = np.cumsum([0, *sizes])

    def __len__(self) -> int:
        return sum(self.groups)

    @property
    def sample(self) -> Part:
        return part(range(0, len(self), 2))

    def window(self, groups: Sequence[int]) -> Part:
        self.read += groups
        return part([row for g in groups for row in self._of(g)])

    def share(self, share: float) -> Groups:
        raise NotImplementedError

    def origin(self) -> str:
        return ""

    def to(self, device: torch.device | str) -> Groups:
        del device
        return self

    def _of(self, group: int) -> range:
        return range(self._starts[group], self._starts[group + 1])


def part(rows: Sequence[int]) -> Part:
    numbers = torch.tensor(rows, dtype=torch.float32)
    return Part(torch.stack((numbers, -numbers), dim=1), numbers, numbers + 1)


def drawn(source: DealtStream, workers: int, steps: int) -> Iterator[list[list[float]]]:
    """The rows of each worker, step by step."""
    for _ in range(steps):
        batches = [batch.read() for batch in source.of_workers(workers)]
        for batch in batches:
            assert torch.equal(batch.inputs, torch.stack((batch.target, -batch.target), dim=1))
            assert batch.weights is not None
            assert torch.equal(batch.weights, batch.target + 1)
        yield [batch.target.tolist() for batch in batches]


@settings(deadline=None, max_examples=60)
@given(SIZES, st.integers(1, 4), st.integers(2, 5), st.integers(1, 30))
def test_an_epoch_has_every_row_once_but_for_less_than_a_batch_for_each_worker(
    sizes: list[int], batch: int, workers: int, window: int
) -> None:
    rows = Groups(sizes)
    if len(rows) < batch * workers:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "WINDOW", window)
        source = DealtStream(rows, batch, 3, workers)
        steps = source.steps_per_epoch // workers
        for _ in range(3):
            seen = [row for step in drawn(source, workers, steps) for own in step for row in own]
            assert len(set(seen)) == len(seen) == steps * workers * batch
            assert 0 <= len(rows) - len(seen) < workers * batch


def test_workers_change_their_groups_and_the_order_with_every_epoch() -> None:
    source = DealtStream(Groups([10] * 8), 5, 0, 2)
    epochs = [list(drawn(source, 2, 8)) for _ in range(30)]
    firsts = [frozenset(row for step in epoch for row in step[0]) for epoch in epochs]
    assert len(set(firsts)) > 20
    assert frozenset().union(*firsts) == set(range(80))
    other = DealtStream(Groups([10] * 8), 5, 1, 2)
    assert list(drawn(other, 2, 8)) != epochs[0]


@settings(deadline=None, max_examples=40)
@given(SIZES, st.integers(1, 3), st.integers(2, 4), st.integers(1, 30), st.data())
def test_what_a_worker_gets_does_not_depend_on_who_reads_the_others(
    sizes: list[int], batch: int, workers: int, window: int, data: st.DataObject
) -> None:
    if sum(sizes) < batch * workers:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "WINDOW", window)
        together = list(drawn(DealtStream(Groups(sizes), batch, 0, workers), workers, 12))
        alone = DealtStream(Groups(sizes), batch, 0, workers)
        own = data.draw(st.integers(0, workers - 1))
        for step in together:
            assert alone.of_workers(workers)[own].read().target.tolist() == step[own]


@pytest.mark.parametrize(("groups", "workers"), [(12, 2), (12, 5), (3, 2), (2, 4)])
def test_a_worker_reads_its_stretch_and_each_of_its_groups_once(
    groups: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "WINDOW", 300)
    read = []
    for own in range(workers):
        rows = Groups([97] * groups)
        source = DealtStream(rows, 8, 0, workers)
        for _ in range(source.steps_per_epoch // workers):
            source.of_workers(workers)[own].read()
        assert len(set(rows.read)) == len(rows.read) <= -(-groups // workers) + 1
        read += rows.read
    assert len(read) <= groups + workers - 1
    assert set(read) == set(range(groups))


@settings(deadline=None, max_examples=40)
@given(SIZES, st.integers(1, 3), st.integers(2, 4), st.integers(1, 30), st.integers(0, 30))
def test_a_resumed_stream_goes_on_as_if_nothing_had_happened(
    sizes: list[int], batch: int, workers: int, window: int, steps: int
) -> None:
    if sum(sizes) < batch * workers:
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "WINDOW", window)
        stopped = DealtStream(Groups(sizes), batch, 1, workers)
        list(drawn(stopped, workers, steps))
        stopped.next()
        saved = io.BytesIO()
        torch.save(stopped.state_dict(), saved)
        expected = [*drawn(stopped, workers, 15), stopped.next().target.tolist()]
        saved.seek(0)
        rows = Groups(sizes)
        resumed = DealtStream(rows, batch, 2, workers)
        resumed.load_state_dict(torch.load(saved, weights_only=True))
        assert rows.read == []  # what has been seen is not read again
        assert [*drawn(resumed, workers, 15), resumed.next().target.tolist()] == expected


def test_the_first_rows_of_a_batch_that_is_not_read_yet() -> None:
    rows = Groups([30, 30])
    one = DealtStream(rows, 10, 0, 2).of_workers(2)[1]
    few = one.first(4)
    assert (len(one), len(few), rows.read) == (10, 4, [])
    assert few.read().target.tolist() == one.read().target.tolist()[:4]


def test_a_state_of_other_workers_is_refused() -> None:
    state = DealtStream(Groups([30, 30]), 3, 0, 2).state_dict()
    with pytest.raises(DataError, match="the saved stream has workers=2 but this one workers=4"):
        DealtStream(Groups([30, 30]), 3, 0, 4).load_state_dict(state)
    with pytest.raises(DataError, match="has workers=None but this one workers=2"):
        DealtStream(Groups([30, 30]), 3, 0, 2).load_state_dict(
            BatchStream(Groups([30, 30]), 3, 0).state_dict()
        )


def test_rows_that_are_there_for_everybody_are_not_dealt(monkeypatch: pytest.MonkeyPatch) -> None:
    one_window = make_shared_stream(Groups([30, 30]), 4, 0, None, 2)
    assert isinstance(one_window, BatchStream)
    plain = BatchStream(Groups([30, 30]), 4, 0)
    for own in one_window.of_workers(2):
        assert torch.equal(own.read().target, plain.next().target)
    monkeypatch.setattr(stream, "WINDOW", 20)
    for rows, size, workers in ((part(range(60)), 4, 2), (Groups([30, 30]), 4, 1)):
        assert isinstance(make_shared_stream(rows, size, 0, None, workers), BatchStream)
    assert isinstance(make_shared_stream(Groups([30, 30]), 31, 0, None, 2), BatchStream)
    assert isinstance(make_shared_stream(Groups([30, 30]), 30, 0, None, 2), DealtStream)
