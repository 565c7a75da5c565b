from __future__ import annotations

import io
from itertools import chain

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.errors import DataError
from meritnas.settings.augment import Augment


def part(n: int) -> Part:
    rows = torch.arange(n, dtype=torch.float32)
    return Part(torch.stack((rows, -rows), dim=1), rows.clone())


def drawn(stream: BatchStream, steps: int) -> list[list[float]]:
    return [stream.next().target.tolist() for _ in range(steps)]


def test_epochs_hold_each_row_at_most_once() -> None:
    stream = BatchStream(part(10), 3, seed=0)
    assert stream.steps_per_epoch == 3
    epochs = [list(chain.from_iterable(drawn(stream, 3))) for _ in range(40)]
    assert all(len(set(epoch)) == 9 for epoch in epochs)
    assert epochs[0] != epochs[1]
    assert set(chain.from_iterable(epochs)) == set(range(10))


def test_inputs_and_targets_belong_to_the_same_rows() -> None:
    batch = BatchStream(part(10), 4, seed=0).next()
    assert batch.inputs.shape == (4, 2)
    assert torch.equal(batch.inputs[:, 0], batch.target)


@pytest.mark.parametrize("batch_size", [5, 6, 100])
def test_a_part_smaller_than_a_batch_is_the_batch(batch_size: int) -> None:
    stream = BatchStream(part(5), batch_size, seed=0)
    assert stream.steps_per_epoch == 1
    assert [sorted(rows) for rows in drawn(stream, 3)] == [[0, 1, 2, 3, 4]] * 3


def test_seeds_and_the_global_generator() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    first = drawn(BatchStream(part(50), 8, seed=1), 20)
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(2)
    assert drawn(BatchStream(part(50), 8, seed=1), 20) == first
    assert drawn(BatchStream(part(50), 8, seed=2), 20) != first


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 12), st.integers(0, 40), st.integers(0, 99))
def test_a_resumed_stream_goes_on_as_if_nothing_had_happened(
    rows: int, batch_size: int, steps: int, seed: int
) -> None:
    stream = BatchStream(part(rows), batch_size, seed)
    drawn(stream, steps)
    saved = io.BytesIO()
    torch.save(stream.state_dict(), saved)
    expected = drawn(stream, 25)
    saved.seek(0)
    resumed = BatchStream(part(rows), batch_size, seed + 1)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    assert drawn(resumed, 25) == expected


def test_a_state_is_not_moved_by_its_stream() -> None:
    stream = BatchStream(part(10), 3, seed=0)
    state = stream.state_dict()
    expected = drawn(stream, 10)
    stream.load_state_dict(state)
    assert drawn(stream, 10) == expected
    assert all(isinstance(value, (torch.Tensor, int)) for value in state.values())


@pytest.mark.parametrize(("rows", "size", "key"), [(11, 3, "rows"), (10, 4, "batch_size")])
def test_a_state_of_other_data_is_refused(rows: int, size: int, key: str) -> None:
    state = BatchStream(part(10), 3, seed=0).state_dict()
    with pytest.raises(DataError, match=f"saved stream has {key}=.*resume with"):
        BatchStream(part(rows), size, seed=0).load_state_dict(state)


def test_batches_of_nothing() -> None:
    with pytest.raises(DataError, match="batch size of 0"):
        BatchStream(part(5), 0, seed=0)
    with pytest.raises(DataError, match="0 rows"):
        BatchStream(part(0), 5, seed=0)


def images(n: int, channels: int = 3) -> Part:
    inputs = torch.arange(1.0, n * channels * 30 + 1).view(n, channels, 5, 6)
    target = torch.arange(n)
    return Part(inputs.contiguous(memory_format=torch.channels_last), target)


@pytest.mark.parametrize("channels", [1, 3])
def test_batches_of_images_have_their_channels_last_in_memory(channels: int) -> None:
    batch = BatchStream(images(9, channels), 4, seed=0).next()
    assert batch.inputs.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(batch.inputs, images(9, channels).inputs[batch.target])


def test_augmented_batches_hold_the_same_images_in_the_same_order() -> None:
    plain = BatchStream(images(9), 4, seed=3)
    mirrored = BatchStream(images(9), 4, seed=3, augment=Augment(flip=True))
    flipped = 0
    for _ in range(20):
        old, new = plain.next(), mirrored.next()
        assert torch.equal(old.target, new.target)
        same = (old.inputs == new.inputs).flatten(1).all(1)
        mirror = (old.inputs.flip(3) == new.inputs).flatten(1).all(1)
        assert (same ^ mirror).all()
        flipped += int(mirror.sum())
    assert 20 < flipped < 60


@pytest.mark.parametrize("steps", [0, 1, 2, 5])
def test_a_resumed_stream_changes_images_as_if_nothing_had_happened(steps: int) -> None:
    augment = Augment(crop=2, flip=True, cutout=2)
    stream = BatchStream(images(9), 4, 0, augment)
    drawn(stream, steps)
    saved = io.BytesIO()
    torch.save(stream.state_dict(), saved)
    expected = [stream.next().inputs for _ in range(6)]
    saved.seek(0)
    resumed = BatchStream(images(9), 4, 1, augment)
    resumed.load_state_dict(torch.load(saved, weights_only=True))
    assert all(torch.equal(resumed.next().inputs, one) for one in expected)


def test_without_changes_a_state_is_what_it_always_was() -> None:
    for augment in (None, Augment()):
        stream = BatchStream(part(10), 3, 0, augment)
        assert set(stream.state_dict()) == {"epoch_start", "position", "rows", "batch_size"}
    state = BatchStream(images(10), 3, seed=0).state_dict()
    BatchStream(images(10), 3, 1, Augment(crop=1)).load_state_dict(state)


def test_rows_of_a_table_are_not_cropped() -> None:
    with pytest.raises(DataError, match="for images"):
        BatchStream(part(10), 3, 0, Augment(crop=1)).next()
