from __future__ import annotations

import pytest
import torch
from torch import nn

from meritnas.errors import UsageError
from meritnas.families.drop_path import DropPath, ramp_drop_paths


def test_whole_images_are_left_out_and_the_mean_stays() -> None:
    torch.manual_seed(0)
    found = DropPath(0.25)(torch.ones(4000, 2, 3, 3))
    per_image = found.flatten(1)
    assert torch.equal(per_image, per_image[:, :1].expand_as(per_image))
    assert sorted(set(per_image[:, 0].tolist())) == pytest.approx([0.0, 1.0 / 0.75])
    assert float(found.mean()) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("final", [0.0, 0.5])
def test_nothing_happens_in_eval_mode_or_at_a_rate_of_none(final: float) -> None:
    images = torch.ones(50, 1, 2, 2)
    path = DropPath(final)
    assert path.eval()(images) is images
    ramp_drop_paths(path, 0.0)
    assert path.train()(images) is images


def test_layout_gradient_and_weights() -> None:
    torch.manual_seed(0)
    images = torch.randn(8, 3, 4, 4).contiguous(memory_format=torch.channels_last)
    images.requires_grad_()
    path = DropPath(0.5)
    found = path(images)
    assert found.is_contiguous(memory_format=torch.channels_last)
    (grad,) = torch.autograd.grad(found.sum(), images)
    assert torch.equal(grad == 0, found == 0)
    assert not path.state_dict()


def test_the_rate_grows_with_the_share() -> None:
    network = nn.Sequential(DropPath(0.2), nn.Sequential(nn.ReLU(), DropPath(0.4)))
    for share, first, second in [(0.0, 0.0, 0.0), (0.5, 0.1, 0.2), (1.0, 0.2, 0.4)]:
        ramp_drop_paths(network, share)
        paths = [part for part in network.modules() if isinstance(part, DropPath)]
        assert [path.rate for path in paths] == pytest.approx([first, second])
        assert [path.final for path in paths] == [0.2, 0.4]


@pytest.mark.parametrize("final", [-0.1, 1.0, float("nan")])
def test_rates_that_make_no_sense_are_refused(final: float) -> None:
    with pytest.raises(UsageError, match="drop-path must be"):
        DropPath(final)
