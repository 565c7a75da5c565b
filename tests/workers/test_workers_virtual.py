from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from meritnas.errors import UsageError
from meritnas.workers.virtual import VirtualWorkers
from meritnas.workers.workers import ONE


class Rank:
    """One of several, which knows already what the others will send."""

    def __init__(self, rank: int, size: int, sent: Sequence[Tensor] = ()) -> None:
        self.rank, self.size = rank, size
        self.own = torch.empty(0)
        self._sent = list(sent)

    def gather(self, own: Tensor, lengths: Sequence[int]) -> list[Tensor]:
        assert len(own) == lengths[self.rank]
        self.own = own
        return self._sent or [own.new_zeros(length) for length in lengths]

    def broadcast(self, value: float) -> float:
        return value

    def barrier(self) -> None:
        """Nobody is waited for."""


LENGTHS = [3, 0, 2, 5, 1, 4]


def work(v: int) -> Tensor:
    """Numbers that are drawn, as operations that make noise do."""
    return torch.randn(LENGTHS[v]) + v


def shares(ranks: Rank | None = None, loads: Sequence[int] | None = None) -> list[Tensor]:
    torch.manual_seed(7)
    return VirtualWorkers(len(LENGTHS), ranks or ONE).each(work, LENGTHS, loads)


def same(one: Sequence[Tensor], other: Sequence[Tensor]) -> bool:
    return len(one) == len(other) and all(map(torch.equal, one, other))


@pytest.mark.parametrize("loads", [None, [9, 1, 1, 1, 1, 5], [0, 0, 0, 0, 0, 0]])
@pytest.mark.parametrize("size", [2, 3, 6])
def test_shares_and_their_order_are_the_same_whoever_computes_them(
    size: int, loads: list[int] | None
) -> None:
    alone = shares()
    after = torch.get_rng_state()
    assert [len(share) for share in alone] == LENGTHS
    silent = [Rank(rank, size) for rank in range(size)]
    for rank in silent:
        shares(rank, loads)
        assert torch.equal(torch.get_rng_state(), after)
    sent = [rank.own for rank in silent]
    for rank in range(size):
        assert same(shares(Rank(rank, size, sent), loads), alone)


def test_who_has_a_large_share_has_few() -> None:
    done: dict[int, list[int]] = {0: [], 1: []}
    for rank, own in done.items():

        def noted(v: int, own: list[int] = own) -> Tensor:
            own.append(v)
            return torch.zeros(LENGTHS[v])

        VirtualWorkers(6, Rank(rank, 2)).each(noted, LENGTHS, [9, 1, 2, 1, 1, 3])
    assert done == {0: [0], 1: [5, 2, 1, 3, 4]}


def test_one_worker_computes_as_if_there_was_nothing_between() -> None:
    torch.manual_seed(3)
    plain = torch.randn(4)
    after = torch.get_rng_state()
    torch.manual_seed(3)
    (found,) = VirtualWorkers().each(lambda _: torch.randn(4), [4])
    assert torch.equal(found, plain)
    assert torch.equal(torch.get_rng_state(), after)


def test_workers_draw_different_numbers() -> None:
    first, second = VirtualWorkers(2).each(lambda _: torch.randn(4), [4, 4])
    assert not torch.equal(first, second)


@pytest.mark.parametrize(("workers", "size"), [(3, 2), (1, 2), (4, 3)])
def test_ranks_must_divide_workers(workers: int, size: int) -> None:
    with pytest.raises(UsageError, match=f"{workers} workers .* over {size} processes; start as"):
        VirtualWorkers(workers, Rank(0, size))
