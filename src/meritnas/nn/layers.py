"""Layers whose sizes may be decided: torch's own in a network alone, sliced ones in a supernet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from meritnas.nn.choice import OneOf, SupernetPick, expanded
from meritnas.nn.questions import BUILDING
from meritnas.nn.sliced import (
    Sliced,
    SlicedBatchNorm,
    SlicedConv,
    SlicedEmbedding,
    SlicedLayerNorm,
    SlicedLinear,
)
from meritnas.nn.values import Size, Width


def Linear(in_features: Any, out_features: Any, bias: Any = True) -> nn.Module:
    """`torch.nn.Linear`, whose sizes may be decided widths."""

    def sliced(pick: SupernetPick, inputs: Size, outputs: Size, own: Any) -> Sliced:
        whole = nn.Linear(pick.most(inputs), pick.most(outputs), own)
        return SlicedLinear(pick.switch, whole, inputs, outputs)

    return _layer(nn.Linear, sliced, in_features, out_features, bias)


def Conv1d(in_channels: Any, out_channels: Any, kernel_size: Any, **options: Any) -> nn.Module:
    """`torch.nn.Conv1d`, whose channels (and groups) may be decided widths."""
    return _convolution(nn.Conv1d, in_channels, out_channels, kernel_size, **options)


def Conv2d(in_channels: Any, out_channels: Any, kernel_size: Any, **options: Any) -> nn.Module:
    """`torch.nn.Conv2d`, whose channels (and groups) may be decided widths."""
    return _convolution(nn.Conv2d, in_channels, out_channels, kernel_size, **options)


def _convolution(kind: Any, *sizes: Any, groups: Any = 1, **options: Any) -> nn.Module:
    def sliced(
        pick: SupernetPick, inputs: Size, outputs: Size, kernel: Any, groups: Size, **own: Any
    ) -> Sliced:
        most = pick.most(inputs), pick.most(outputs)
        whole = kind(*most, kernel, groups=pick.most(groups), **own)
        return SlicedConv(pick.switch, whole, inputs, outputs, groups)

    return _layer(kind, sliced, *sizes, groups=groups, **options)


def Embedding(num_embeddings: int, embedding_dim: Any, padding_idx: int | None = None) -> nn.Module:
    """`torch.nn.Embedding`, whose width may be decided."""

    def sliced(pick: SupernetPick, rows: int, width: Size, padding: int | None) -> Sliced:
        whole = nn.Embedding(rows, pick.most(width), padding)
        return SlicedEmbedding(pick.switch, whole, width)

    return _layer(nn.Embedding, sliced, num_embeddings, embedding_dim, padding_idx)


def LayerNorm(normalized_shape: Any, **options: Any) -> nn.Module:
    """`torch.nn.LayerNorm` over the last dimension, which may be a decided width."""

    def sliced(pick: SupernetPick, width: Any, **own: Any) -> nn.Module:
        if not isinstance(width, Width | int):
            return nn.LayerNorm(width, **own)
        return SlicedLayerNorm(pick.switch, nn.LayerNorm(pick.most(width), **own), width)

    return _layer(nn.LayerNorm, sliced, normalized_shape, **options)


def BatchNorm1d(num_features: Any, *, weights_alone: bool = False, **options: Any) -> nn.Module:
    """`torch.nn.BatchNorm1d`, whose channels may be a decided width.

    With `weights_alone` it has weights in a network alone and none while weights are shared, where
    they would let an option make up for how little it is weighted.
    """
    return _batch_norm(nn.BatchNorm1d, num_features, weights_alone, **options)


def BatchNorm2d(num_features: Any, *, weights_alone: bool = False, **options: Any) -> nn.Module:
    """`torch.nn.BatchNorm2d`, whose channels may be a decided width; see `BatchNorm1d`."""
    return _batch_norm(nn.BatchNorm2d, num_features, weights_alone, **options)


def _batch_norm(kind: Any, width: Any, weights_alone: bool, **options: Any) -> nn.Module:
    def sliced(pick: SupernetPick, width: Size, **own: Any) -> Sliced:
        whole = kind(pick.most(width), **own)
        return SlicedBatchNorm(pick.switch, whole, width, weights_alone)

    return _layer(kind, sliced, width, **options)


def _layer(plain: Any, sliced: Callable[..., nn.Module], *sizes: Any, **options: Any) -> nn.Module:
    """A plain layer in a network alone; in a supernet a sliced one, or a choice of several."""
    pick: SupernetPick | None = BUILDING.get()
    if pick is None:
        found: nn.Module = plain(*sizes, **options)
        return found
    if any(isinstance(one, OneOf) for one in (*sizes, *options.values())):
        return expanded(lambda *s, **o: _layer(plain, sliced, *s, **o), sizes, options)
    return sliced(pick, *sizes, **options)
