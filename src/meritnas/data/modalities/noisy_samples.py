"""Samples with noise on what they were before a network that is not trained read it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import Noise, add_noise, check_noise, noisy_values
from meritnas.data.modalities.view import View
from meritnas.devices.placement import beside

if TYPE_CHECKING:
    from torch import Tensor


_APART = 1_000_003
"""Between the seeds of modalities: equal values of two of them have noise of their own."""


@dataclass(frozen=True)
class NoisySamples:
    """Samples that can be had with noise, as SM-ShapNAS adds it: to raw values.

    What no frozen backbone reads is raw in a row of inputs. What one reads is disturbed as it comes
    to the backbone, scaled to 0..1, and the row has the features that the backbone then gives.

    Attributes:
        encoder: Of the samples.
        inputs: The samples, encoded [n, width].
        views: Name -> the values of all samples; where there are frozen backbones.
        rows: Positions of the samples among them [n].
    """

    encoder: ModalityEncoder
    inputs: Tensor
    views: Mapping[str, View]
    rows: np.ndarray

    def noisy(self, numbers: Collection[int], kind: Noise, level: float, seed: int = 0) -> Tensor:
        """The samples with noise on some modalities [n, width], as `add_noise` says.

        Args:
            numbers: Of the modalities that get noise.
            kind: Of noise.
            level: How much, from 0 (none) to 1.
            seed: The same seed gives the same noise.
        """
        frozen, layout = self.encoder.frozen, self.encoder.layout
        raw = [number for number in numbers if number not in frozen]
        found = add_noise(self.inputs, layout, raw, kind, level, seed)
        for number in sorted(set(numbers) & set(frozen)):
            columns = slice(layout.flag(number), layout.values(number).stop)
            seen = self.seen(number, kind, level, seed)
            found[:, columns] = beside(seen, found)
        return found

    def seen(self, number: int, kind: Noise, level: float, seed: int) -> Tensor:
        """What a frozen backbone makes of its modality with noise, [n, 1 + width] with presence."""
        check_noise(kind, level)
        modality = self.encoder.frozen[number]
        generator = torch.Generator().manual_seed(seed + _APART * number)
        values = self.encoder.layout.values(number)
        out = np.zeros((len(self.rows), 1 + values.stop - values.start), dtype=np.float32)
        if modality.name in self.views:
            modality.encode(
                self.views[modality.name],
                self.rows,
                out,
                lambda given: noisy_values(given, kind, level, generator),
            )
        out[out[:, 0] == 0] = 0.0
        return torch.from_numpy(out)
