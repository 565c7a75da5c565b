"""Noise on the values of modalities, to see what a network stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, get_args

import torch
from torch import Tensor

from meritnas.data.modalities.row_layout import RowLayout
from meritnas.devices.placement import beside, on_cpu
from meritnas.errors import UsageError, whole_number

Noise = Literal["gaussian", "shot", "impulse", "speckle"]
KINDS: tuple[Noise, ...] = get_args(Noise)
LEVELS = (0.01, 0.05, 0.1)
"""The variances of table 5."""


def add_noise(
    inputs: Tensor,
    layout: RowLayout,
    modality_numbers: Iterable[int],
    kind: Noise,
    level: float,
    seed: int,
) -> Tensor:
    """Returns rows with noise on the values x of some modalities, clipped to 0..1.

    Gaussian: x + e with e of mean 0 and variance `level`. Speckle: x + x e. Shot:
    level * Poisson(x / level), of mean x and variance x * level. Impulse: a share `level` of the
    values becomes 0 or 1, either as often. Whether a sample has a modality stays as it is, and
    what it lacks stays 0. The paper does not say on what scale its images are: here 0..1.

    Args:
        inputs: Rows [n, width] with values from 0 to 1.
        layout: Where the modalities stand in a row.
        modality_numbers: The modalities that get noise.
        kind: Of noise.
        level: How much, from 0 (none) to 1.
        seed: The same seed gives the same noise.

    Raises:
        UsageError: There is no such noise, level or modality.
    """
    check_noise(kind, level)
    generator = torch.Generator().manual_seed(seed)
    noisy = inputs.clone()
    for number in sorted(set(modality_numbers)):
        whole_number("a modality's number", number, least=0)
        if number >= len(layout.names):
            raise UsageError(f"no modality {number}; there are {len(layout.names)}, from 0 on")
        columns = layout.values(number)
        # Drawn on the CPU, so that a seed means the same on every device.
        changed = noisy_values(on_cpu(inputs[:, columns]), kind, level, generator)
        present = layout.present(inputs, number)[:, None]
        noisy[:, columns] = beside(changed, inputs) * present
    return noisy


def check_noise(kind: str, level: float) -> None:
    """Complains about a kind of noise, or a level, that there is not."""
    if kind not in KINDS:
        raise UsageError(f"no noise '{kind}'; use one of {', '.join(KINDS)}")
    _check_share("level", level)


def noisy_values(values: Tensor, kind: Noise, level: float, generator: torch.Generator) -> Tensor:
    """Values from 0 to 1 with noise, clipped to that, as `add_noise` says."""
    changed = _NOISY[kind](values, level, generator) if level else values
    return changed.clamp(0.0, 1.0)


def drop_modalities(inputs: Tensor, layout: RowLayout, chance: float, seed: int) -> Tensor:
    """Returns rows where each sample has lost one of its modalities with a probability.

    Which one is random, each alike (table 10); a sample never loses its only one.

    Args:
        inputs: Rows [n, width].
        layout: Where the modalities stand in a row.
        chance: The probability, from 0 to 1.
        seed: The same seed drops the same.

    Raises:
        UsageError: It is no probability.
    """
    _check_share("chance", chance)
    return drop_drawn(inputs, layout, chance, torch.Generator().manual_seed(seed))


def drop_drawn(
    inputs: Tensor, layout: RowLayout, chance: float, generator: torch.Generator
) -> Tensor:
    """The same with numbers of a generator on the CPU, which moves on."""
    numbers = range(len(layout.names))
    has = torch.stack([on_cpu(layout.present(inputs, number)) > 0 for number in numbers], dim=1)
    loses = torch.rand(len(inputs), generator=generator) < chance
    loses &= has.sum(dim=1) > 1
    lots = torch.rand(has.shape, generator=generator).masked_fill(~has, -1.0)
    lost = torch.where(loses, lots.argmax(dim=1), -1)
    left = inputs.clone()
    for number in numbers:
        rows = beside(torch.nonzero(lost == number)[:, 0], inputs)
        left[rows, layout.flag(number) : layout.values(number).stop] = 0.0
    return left


def _gaussian(values: Tensor, level: float, generator: torch.Generator) -> Tensor:
    return values + torch.randn(values.shape, generator=generator) * level**0.5


def _speckle(values: Tensor, level: float, generator: torch.Generator) -> Tensor:
    return values * (1.0 + torch.randn(values.shape, generator=generator) * level**0.5)


def _shot(values: Tensor, level: float, generator: torch.Generator) -> Tensor:
    return torch.poisson(values / level, generator=generator) * level


def _impulse(values: Tensor, level: float, generator: torch.Generator) -> Tensor:
    hit = torch.rand(values.shape, generator=generator) < level
    ends = torch.rand(values.shape, generator=generator).round()
    return torch.where(hit, ends, values)


_NOISY: dict[Noise, Callable[[Tensor, float, torch.Generator], Tensor]] = {
    "gaussian": _gaussian,
    "shot": _shot,
    "impulse": _impulse,
    "speckle": _speckle,
}


def _check_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"{name} must be from 0 to 1, got {value}")
