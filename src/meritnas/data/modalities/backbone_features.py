"""What a backbone gave, checked."""

from __future__ import annotations

from torch import Tensor

from meritnas.errors import SpaceError


def as_features(found: object, modality: str) -> list[Tensor]:
    """What a backbone gave, as a list of tensors [n, ...]."""
    features = [found] if isinstance(found, Tensor) else found
    if not isinstance(features, list | tuple) or not features:
        raise SpaceError(
            f"the backbone of '{modality}' must give a list of tensors, got {type(found).__name__}"
        )
    for feature in features:
        if not isinstance(feature, Tensor) or not 2 <= feature.dim() <= 4:
            raise SpaceError(
                f"the backbone of '{modality}' must give tensors [n, columns], [n, channels, "
                "length] or [n, channels, height, width], got "
                f"{tuple(feature.shape) if isinstance(feature, Tensor) else type(feature).__name__}"
            )
    return list(features)
