"""Virtual workers: into how many shares work is divided, whoever does them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from meritnas.errors import UsageError
from meritnas.workers.workers import ONE, Workers


@dataclass(frozen=True)
class VirtualWorkers:
    """V shares of work, dealt out over the ranks there are.

    V decides what is computed, so it is a part of a run's settings; the number of ranks decides
    only where. TabNAS averages over several cores likewise (appendix B.2.2).

    Attributes:
        count: V.
        ranks: who computes; their number divides V.
    """

    count: int = 1
    ranks: Workers = ONE

    def __post_init__(self) -> None:
        """Complain where some ranks would have more to do than others."""
        if self.count % self.ranks.size:
            raise UsageError(
                f"{self.count} workers cannot be dealt out evenly over {self.ranks.size} "
                "processes; start as many as divide the number of workers"
            )

    def each(
        self,
        work: Callable[[int], Tensor],
        lengths: Sequence[int],
        loads: Sequence[int] | None = None,
    ) -> list[Tensor]:
        """What the work of each virtual worker gives, in their order, on every rank.

        Operations that draw from torch's own generator draw from one that is the share's own, so
        that the generator is afterwards the same on all ranks. One worker alone draws from
        torch's.

        Args:
            work: v -> numbers [lengths[v]], of one type for all.
            lengths: for each virtual worker.
            loads: about how much each share is to do, so that ranks have about as much; None for
                share v to rank v % size, whatever it is.
        """
        if self.count == 1:
            return [work(0)]
        seeds = torch.randint(2**62, (self.count,)).tolist()
        dealt = self._dealt([1] * self.count if loads is None else loads)
        found = [_drawing_from(seeds[v], work, v) for v in dealt[self.ranks.rank]]
        by_rank = [sum(lengths[v] for v in own) for own in dealt]
        shares: dict[int, Tensor] = {}
        gathered = self.ranks.gather(torch.cat(found), by_rank)
        for own, numbers in zip(dealt, gathered, strict=True):
            shares |= zip(own, numbers.split([lengths[v] for v in own]), strict=True)
        return [shares[v] for v in range(self.count)]

    def _dealt(self, loads: Sequence[int]) -> list[list[int]]:
        """The shares of each rank: the largest first, each to whoever has the least to do."""
        dealt: list[list[int]] = [[] for _ in range(self.ranks.size)]
        sums = [0] * self.ranks.size
        for v in sorted(range(self.count), key=lambda v: -loads[v]):
            rank = sums.index(min(sums))
            dealt[rank].append(v)
            sums[rank] += max(1, loads[v])
        return dealt


def _drawing_from(seed: int, work: Callable[[int], Tensor], v: int) -> Tensor:
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        return work(v)
