from __future__ import annotations

import pytest
import torch
from torch import Tensor

from meritnas.data.modalities.noise import KINDS, LEVELS, Noise, add_noise, drop_modalities
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.errors import UsageError

LAYOUT = RowLayout((("sound", ((3,),)), ("photo", ((1, 20, 20),)), ("words", ((5,),))))
PHOTO = 1


def rows(value: float, n: int = 250) -> Tensor:
    inputs = torch.full((n, LAYOUT.width), value)
    for number in range(3):
        inputs[:, LAYOUT.flag(number)] = 1.0
    return inputs


def noisy(value: float, kind: Noise, level: float, seed: int = 0) -> Tensor:
    found = add_noise(rows(value), LAYOUT, [PHOTO], kind, level, seed)
    return found[:, LAYOUT.values(PHOTO)]


@pytest.mark.parametrize(
    ("kind", "value", "level", "variance"),
    [
        ("gaussian", 0.5, 0.01, 0.01),
        ("speckle", 0.5, 0.05, 0.0125),
        ("shot", 0.3, 0.01, 0.003),
        ("shot", 0.25, 0.05, 0.0125),
        ("impulse", 0.5, 0.1, 0.025),
    ],
)
def test_mean_and_variance(kind: Noise, value: float, level: float, variance: float) -> None:
    found = noisy(value, kind, level)
    assert float(found.mean()) == pytest.approx(value, abs=0.003)
    assert float(found.var()) == pytest.approx(variance, rel=0.03)


def test_gaussian_noise_is_clipped_at_the_paper_s_levels() -> None:
    for level in LEVELS:
        found = noisy(1.0, "gaussian", level)
        assert float((found == 1.0).float().mean()) == pytest.approx(0.5, abs=0.01)
        # The mean of a normal variable cut at 0 from above: -sd / sqrt(2 pi).
        wanted = 1.0 - (level / (2 * torch.pi)) ** 0.5
        assert float(found.mean()) == pytest.approx(wanted, abs=0.005)


def test_noise_that_follows_the_value_leaves_black_alone() -> None:
    for kind in ("shot", "speckle"):
        assert not noisy(0.0, kind, 0.1).any()
    assert noisy(0.0, "gaussian", 0.1).any()


def test_impulses_are_a_share_of_the_values() -> None:
    found = noisy(0.5, "impulse", 0.1)
    assert set(found.unique().tolist()) == {0.0, 0.5, 1.0}
    for end in (0.0, 1.0):
        assert float((found == end).float().mean()) == pytest.approx(0.05, abs=0.003)


def test_shots_are_whole_multiples_of_the_level() -> None:
    found = noisy(0.4, "shot", 0.1)
    torch.testing.assert_close(found / 0.1, (found / 0.1).round())


@pytest.mark.parametrize("kind", KINDS)
def test_only_what_is_asked_for_and_there_changes(kind: Noise) -> None:
    inputs = rows(0.5)
    absent = slice(LAYOUT.flag(PHOTO), LAYOUT.values(PHOTO).stop)
    inputs[:10, absent] = 0.0
    before = inputs.clone()
    found = add_noise(inputs, LAYOUT, [PHOTO, 2], kind, 0.1, 0)
    assert torch.equal(inputs, before)
    assert not found[:10, absent].any()
    assert torch.equal(found[:, : absent.start + 1], inputs[:, : absent.start + 1])
    assert torch.equal(found[:, LAYOUT.flag(2)], inputs[:, LAYOUT.flag(2)])
    assert (found[10:, LAYOUT.values(PHOTO)] != 0.5).any()
    assert (found[:, LAYOUT.values(2)] != 0.5).any()
    assert found.min() >= 0
    assert found.max() <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_settles_the_noise(kind: Noise) -> None:
    first = noisy(0.5, kind, 0.05, seed=1)
    assert torch.equal(first, noisy(0.5, kind, 0.05, seed=1))
    assert not torch.equal(first, noisy(0.5, kind, 0.05, seed=2))
    assert torch.equal(noisy(0.5, kind, 0.0), torch.full_like(first, 0.5))


def test_noise_that_there_is_not() -> None:
    with pytest.raises(UsageError, match="no noise 'pink'; use one of gaussian, shot"):
        add_noise(rows(0.5), LAYOUT, [0], "pink", 0.1, 0)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"level must be from 0 to 1, got -0\.1"):
        add_noise(rows(0.5), LAYOUT, [0], "shot", -0.1, 0)
    with pytest.raises(UsageError, match="no modality 3; there are 3"):
        add_noise(rows(0.5), LAYOUT, [3], "shot", 0.1, 0)
    with pytest.raises(UsageError, match="number must be at least 0, got -1"):
        add_noise(rows(0.5), LAYOUT, [-1], "shot", 0.1, 0)
    with pytest.raises(UsageError, match=r"chance must be from 0 to 1, got 1\.5"):
        drop_modalities(rows(0.5), LAYOUT, 1.5, 0)


def flags(inputs: Tensor) -> Tensor:
    return torch.stack([LAYOUT.present(inputs, number) for number in range(3)], dim=1)


def test_a_share_of_the_samples_loses_one_modality() -> None:
    inputs = rows(0.5, n=6000)
    found = drop_modalities(inputs, LAYOUT, 0.3, 0)
    lost = 3 - flags(found).sum(dim=1)
    assert set(lost.tolist()) == {0.0, 1.0}
    assert float(lost.mean()) == pytest.approx(0.3, abs=0.02)
    for number in range(3):
        gone = LAYOUT.present(found, number) == 0
        assert float(gone.float().mean()) == pytest.approx(0.1, abs=0.015)
        assert not found[gone][:, LAYOUT.values(number)].any()
        assert (found[~gone][:, LAYOUT.values(number)] == 0.5).all()
    assert torch.equal(found, drop_modalities(inputs, LAYOUT, 0.3, 0))
    assert torch.equal(inputs, drop_modalities(inputs, LAYOUT, 0.0, 0))


def test_the_only_modality_stays() -> None:
    inputs = rows(0.5)
    for number in (0, 2):
        inputs[:100, LAYOUT.flag(number) : LAYOUT.values(number).stop] = 0.0
    inputs[100:, LAYOUT.flag(0) : LAYOUT.values(0).stop] = 0.0
    found = drop_modalities(inputs, LAYOUT, 1.0, 0)
    assert torch.equal(found[:100], inputs[:100])
    assert flags(found[100:]).sum(dim=1).unique().tolist() == [1.0]
    assert flags(found[100:]).sum(dim=0)[1:].min() > 50
