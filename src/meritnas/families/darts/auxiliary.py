"""DARTS' second classifier, which helps to train deep networks."""

from __future__ import annotations

from torch import nn

from meritnas.families.operations import CHILD


def auxiliary_head(channels: int, size: int, classes: int, stem: str) -> nn.Sequential:
    """DARTS' second classifier, which helps to train deep networks.

    Its pooling leaves 2 by 2 pixels, by two overlapping windows of about five eighths of the map
    each way: windows of 5 at a distance of 3 on the 8 by 8 map of CIFAR's networks and of 5 at a
    distance of 2 on the 7 by 7 map of ImageNet's, as published. For ImageNet the norm after the
    last convolution is left out, as in DARTS.
    """
    window = min(size - 1, -(-5 * size // 8))
    last: list[nn.Module] = [nn.Conv2d(128, 768, 2, bias=False), CHILD(768), nn.ReLU()]
    if stem == "imagenet":
        del last[1]
    return nn.Sequential(
        nn.ReLU(),
        nn.AvgPool2d(window, size - window, count_include_pad=False),
        nn.Conv2d(channels, 128, 1, bias=False),
        CHILD(128),
        nn.ReLU(),
        *last,
        nn.Flatten(),
        nn.Linear(768, classes),
    )
