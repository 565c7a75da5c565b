"""Choices and stacks of a supernet: what runs is what the gates say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.errors import SpaceError
from meritnas.nn.switch import Switch
from meritnas.nn.values import Depth


class GatedChoice(nn.Module):
    """The weighted sum of the active options' outputs.

    Maps of different sizes are brought to that of the largest that has a weight.
    """

    def __init__(self, switch: Switch, name: str, options: Sequence[nn.Module]) -> None:
        super().__init__()
        self._switch, self.decision = switch, name
        self.options = nn.ModuleDict({str(k): option for k, option in enumerate(options)})

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the active options give."""
        gate = self._switch.gates[self.decision]
        if gate.weights is None and gate.active:
            return self.options[str(gate.active[0])](*inputs, **named)
        if not gate.active:
            return torch.zeros_like(self.options["0"](*inputs, **named))
        found = {k: self.options[str(k)](*inputs, **named) for k in gate.active}
        assert gate.weights is not None
        shapes = {own.shape for own in found.values()}
        if len(shapes) > 1:
            found = self._of_one_size(found, gate.weights)
        total: Tensor | None = None
        for k, own in found.items():
            own = own * gate.weights[k].to(own)
            total = own if total is None else total + own
        return total

    def _of_one_size(self, found: Mapping[int, Tensor], weights: Tensor) -> dict[int, Tensor]:
        """Maps [n, channels, h, w], as large as the largest of them that has a weight."""
        first = next(iter(found.values()))
        for own in found.values():
            if own.dim() != 4 or own.shape[:2] != first.shape[:2]:
                raise SpaceError(
                    f"the options of '{self.decision}' give {tuple(first.shape)} and "
                    f"{tuple(own.shape)}; they must give the same shape, or maps of as many "
                    "channels (sizes that differ are decided with pick.width)"
                )
        counted = [k for k in found if float(weights[k].detach()) != 0.0]
        largest = max(tuple(found[k].shape[2:]) for k in counted or found)
        return {
            k: own if own.shape[2:] == largest else _scaled(own, largest)
            for k, own in found.items()
        }


def _scaled(maps: Tensor, size: tuple[int, ...]) -> Tensor:
    return F.interpolate(maps, size, mode="bilinear", align_corners=False)


class GatedStack(nn.Sequential):
    """Blocks one after the other, as many as the gate says; the weighted sum where it ends."""

    def __init__(self, switch: Switch, depth: Depth, blocks: Sequence[nn.Module]) -> None:
        super().__init__(*blocks)
        self._switch, self.decision, self.depths = switch, depth.names[0], depth.depths

    def forward(self, inputs: Any) -> Any:
        """What the last active block gives."""
        gate = self._switch.gates[self.decision]
        last = self.reached(gate.active)
        units, total = inputs, None
        blocks = list(self)
        for number in range(last + 1):
            if number:
                units = blocks[number - 1](units)
            ends = [k for k in gate.active if self.depths[k] == number]
            if ends and gate.weights is not None:
                own = units * gate.weights[ends].sum().to(units)
                total = own if total is None else total + own
        if not gate.active:
            return torch.zeros_like(units)
        return units if total is None else total

    def reached(self, active: Sequence[int]) -> int:
        """How many blocks run under a gate with these options."""
        return max((self.depths[k] for k in active), default=self.depths[0])
