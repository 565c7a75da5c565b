from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from meritnas.data.bundle import Part
from meritnas.engine.search_together import check_same_data
from meritnas.errors import WorkersError
from meritnas.workers.workers import ONE


class Ranks:
    """One of three; the others have read what has this digest."""

    rank, size = 0, 3

    def __init__(self, others: str) -> None:
        self._others = torch.tensor([int(others[:15], 16)])

    def gather(self, own: torch.Tensor, lengths: list[int]) -> list[torch.Tensor]:
        assert lengths == [1, 1, 1]
        return [own, own, self._others]


def reading(digest: str) -> Any:
    return SimpleNamespace(train=SimpleNamespace(origin=lambda: digest))


def test_a_process_that_reads_another_table_is_named() -> None:
    one, other = "ab" * 32, "ab" * 7 + "cd" * 25
    check_same_data(reading(one), Ranks(one))  # type: ignore[arg-type]
    with pytest.raises(WorkersError, match="process 2 of the search finds another table than"):
        check_same_data(reading(one), Ranks(other))  # type: ignore[arg-type]


def test_data_in_memory_come_from_the_first_process() -> None:
    part = Part(torch.zeros(2, 1), torch.zeros(2))
    assert part.origin() == ""
    memory: Any = SimpleNamespace(train=part)
    check_same_data(memory, Ranks("0"))  # type: ignore[arg-type]
    check_same_data(memory, ONE)
