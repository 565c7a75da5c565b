from __future__ import annotations

import torch

from meritnas.training.threads import limited_threads


def test_the_number_of_threads_is_left_as_it_was() -> None:
    before = torch.get_num_threads()
    with limited_threads(before + 1):
        assert torch.get_num_threads() == before + 1
    assert torch.get_num_threads() == before
