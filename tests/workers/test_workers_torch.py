from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from meritnas.errors import WorkersError
from meritnas.workers import torch_workers
from meritnas.workers.torch_workers import TorchWorkers, joined_store, opened_store


@pytest.mark.parametrize("length", [0, 1, 7, 8, 21])
def test_a_message_arrives_whole_however_many_pieces_it_takes(
    monkeypatch: pytest.MonkeyPatch, length: int
) -> None:
    monkeypatch.setattr(torch_workers, "_PIECE", 7)
    message = bytes(range(length))
    store, port = opened_store()

    def help_first() -> bytes:
        ranks = TorchWorkers(1, 2, joined_store(port))
        return ranks.received()

    with ThreadPoolExecutor(1) as pool:
        received = pool.submit(help_first)
        ranks = TorchWorkers(0, 2, store)
        ranks.send(message)
        assert received.result(20) == message


def test_ranks_that_differ_in_what_must_be_the_same_do_not_begin() -> None:
    store, port = opened_store()

    def join() -> None:
        TorchWorkers(1, 2, joined_store(port), about="torch 1")

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(join)
        with pytest.raises(WorkersError, match=r"process 1 .* runs torch 1, and process 0 torch 2"):
            TorchWorkers(0, 2, store, about="torch 2")
        with pytest.raises(WorkersError, match=r"process 0 .* runs torch 2, and process 1 torch 1"):
            other.result(20)
