"""A trained layer whose sizes may be decided: cut to its leading units, which matter most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from meritnas.nn.questions import BUILDING
from meritnas.nn.sliced import SlicedBatchNorm, SlicedConv, SlicedLayerNorm, SlicedLinear

Normal = nn.BatchNorm1d | nn.BatchNorm2d | nn.LayerNorm


@dataclass(frozen=True)
class Units:
    """How many units a trained layer reads or makes.

    Attributes:
        decision: whose answer it follows; None where it is as it is.
        widths: what that decision chooses from.
        each: how many numbers a unit is, after maps were flattened.
        whole: of the trained layer.
    """

    decision: str | None
    widths: tuple[int, ...]
    each: int
    whole: int

    def asked(self, pick: Any) -> Any:
        """The number in a network alone, the decided size while all networks are built."""
        if self.decision is None:
            return self.whole
        return pick.width(self.decision, *self.widths) * self.each


class Follows(nn.Module):
    """A trained layer in a space: a plain one in a network alone, a sliced one in the supernet.

    By itself, it is the layer as it was trained.
    """

    def __init__(self, layer: nn.Module, inputs: Units, outputs: Units) -> None:
        super().__init__()
        self.layer = layer
        self._inputs, self._outputs = inputs, outputs

    def forward(self, inputs: Tensor) -> Any:
        """What the whole layer gives."""
        return self.layer(inputs)

    def answered(self, pick: Any) -> nn.Module:
        """The layer where its sizes are what is picked."""
        inputs, outputs = self._inputs.asked(pick), self._outputs.asked(pick)
        layer = self.layer
        building = BUILDING.get()
        if isinstance(layer, nn.Linear):
            if building is not None:
                return SlicedLinear(building.switch, layer, inputs, outputs)
            return cut(nn.Linear(inputs, outputs, layer.bias is not None), layer)
        if isinstance(layer, nn.Conv1d | nn.Conv2d):
            groups = outputs if layer.groups > 1 else 1
            if building is not None:
                return SlicedConv(building.switch, layer, inputs, outputs, groups)
            kind: Any = type(layer)
            return cut(
                kind(
                    *(inputs, outputs, layer.kernel_size, layer.stride, layer.padding),
                    *(layer.dilation, groups, layer.bias is not None, layer.padding_mode),
                ),
                layer,
            )
        assert isinstance(layer, Normal)
        return _norm(layer, outputs, building)


def _norm(layer: Normal, units: Any, building: Any) -> nn.Module:
    if isinstance(layer, nn.LayerNorm):
        if building is not None:
            return SlicedLayerNorm(building.switch, layer, units)
        return cut(nn.LayerNorm(units, layer.eps, layer.elementwise_affine), layer)
    if building is not None:
        return SlicedBatchNorm(building.switch, layer, units)
    kind: Any = type(layer)
    tracked = layer.track_running_stats
    return cut(kind(units, layer.eps, layer.momentum, layer.affine, tracked), layer)


@torch.no_grad()
def cut(smaller: nn.Module, layer: nn.Module) -> nn.Module:
    """A layer with the leading part of another's weights and statistics."""
    own = layer.state_dict()
    for name, tensor in smaller.state_dict().items():
        tensor.copy_(own[name][tuple(slice(extent) for extent in tensor.shape)])
    return smaller
