from __future__ import annotations

import pytest
import torch

from meritnas import tabular_space
from meritnas.families.tabular.dropout import PooledDropout


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_the_share_is_left_out_and_the_mean_kept(share: float) -> None:
    torch.manual_seed(0)
    dropout = PooledDropout(share)
    seen = torch.stack([dropout(torch.ones(64, 50)) for _ in range(200)])
    assert seen.unique().tolist() == pytest.approx([0.0, 1.0 / (1.0 - share)])
    assert float((seen == 0).float().mean()) == pytest.approx(share, abs=0.005)
    # Every unit of every row is left out now and then, and not always together.
    assert float((seen == 0).float().mean(dim=0).std()) < 0.05
    assert len({tuple(one.flatten().tolist()) for one in seen}) == 200


def test_nothing_is_left_out_when_evaluating() -> None:
    units = torch.randn(5, 3)
    assert torch.equal(PooledDropout(0.9).eval()(units), units)


def test_masks_are_decided_by_torchs_seed() -> None:
    found = []
    for _ in range(2):
        torch.manual_seed(3)
        dropout = PooledDropout(0.3)
        found.append(torch.stack([dropout(torch.ones(4, 4)) for _ in range(130)]))
    assert torch.equal(*found)


def test_large_layers_get_a_larger_pool() -> None:
    assert PooledDropout(0.5)(torch.ones(2000, 1000)).shape == (2000, 1000)


def test_a_child_with_dropout_has_the_same_weights_as_one_without() -> None:
    space = tabular_space(6, 2, layers=2, widths=(4, 8))
    with_it, without = (space.child("8-4", seed=1, dropout=share) for share in (0.2, 0.0))
    assert list(with_it.state_dict()) == list(without.state_dict())
    rows = torch.randn(7, 6)
    assert torch.equal(with_it.eval()(rows), without.eval()(rows))
    assert not torch.equal(with_it.train()(rows), without.train()(rows))
