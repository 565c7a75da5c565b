"""Backbones of a user's own: networks that read a modality first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import nn

from meritnas.data.modalities.backbone_features import as_features
from meritnas.data.modalities.row_layout import Shape
from meritnas.errors import SpaceError
from meritnas.families.family import seeded

Backbone = Callable[[], nn.Module]
"""Makes a network, a fresh one at every call, that reads the features of a modality, each
[n, *shape], and gives a list of tensors [n, ...]: the features that cells see instead."""


def shapes_from(make: Backbone, shapes: Sequence[Shape], modality: str) -> tuple[Shape, ...]:
    """What a user's backbone makes of features of these shapes, found by running it on zeros."""
    with seeded(0), torch.no_grad():
        network = make()
        if not isinstance(network, nn.Module):
            raise SpaceError(
                f"the backbone of '{modality}' must make a torch Module, got "
                f"{type(network).__name__}"
            )
        network.eval()
        found = as_features(network(*(torch.zeros(1, *shape) for shape in shapes)), modality)
    return tuple(tuple(feature.shape[1:]) for feature in found)
