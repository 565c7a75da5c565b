from __future__ import annotations

import pytest
import torch

from meritnas.data.bundle import Part
from meritnas.data.dealt_stream import make_shared_stream
from meritnas.data.shared_text import SharedText
from meritnas.data.stream import Batch
from meritnas.data.texts.windows import continuing
from meritnas.errors import DataError, UsageError

COLUMNS, STEPS = 2, 3


def text(windows: int) -> Part:
    words = torch.arange(COLUMNS * STEPS * windows + 1)
    inputs, target = continuing(words, COLUMNS, STEPS)
    return Part(inputs, target, columns=COLUMNS)


def remembered(batch: Batch) -> float | None:
    assert batch.carry is not None
    return None if batch.carry.state is None else float(batch.carry.state[0, 0])


def run(stream: SharedText, steps: int) -> list[list[tuple[int, float | None]]]:
    """For each step of each worker the first word, and what was remembered: its own number."""
    found = []
    for _ in range(steps):
        batches = stream.of_workers(3)
        for v, batch in enumerate(batches):
            assert batch.carry is not None
            batch.carry.after = torch.full((COLUMNS, 1), float(v))
        found.append([(int(batch.inputs[0, 0]), remembered(batch)) for batch in batches])
    return found


def test_every_worker_goes_on_with_a_stretch_of_its_own() -> None:
    stream = make_shared_stream(text(7), 99, 0, None, 3)
    assert isinstance(stream, SharedText)
    assert stream.steps_per_epoch == 7
    seen = run(stream, 3)
    assert seen[0] == [(0, None), (6, None), (12, None)]
    assert seen[1] == [(3, 0.0), (9, 1.0), (15, 2.0)]
    # The first two have two windows each, and begin again with nothing remembered.
    assert seen[2] == [(0, None), (6, None), (18, 2.0)]
    # All windows are read, and what all look at together is the text from its beginning.
    assert {word for step in seen for word, _ in step} == set(range(0, 21, 3))
    assert stream.next().inputs[0, 0] == 0
    assert stream.next().inputs[0, 0] == 3


def test_stretches_go_on_where_they_were_saved() -> None:
    one, other = SharedText(text(8), 3), SharedText(text(8), 3)
    run(one, 2)
    other.load_state_dict(one.state_dict())
    assert run(one, 4) == run(other, 4)
    with pytest.raises(DataError, match="workers=3 but this one workers=2"):
        SharedText(text(8), 2).load_state_dict(one.state_dict())


def test_no_worker_is_without_a_window() -> None:
    assert SharedText(text(3), 3).steps_per_epoch == 3
    with pytest.raises(UsageError, match="workers must be at most 3 for this text, got 4"):
        SharedText(text(3), 4)
