"""First layers, members and heads of a supernet; in a network alone those of `child.py`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.rich_tabular.child import (
    FirstLayer,
    Head,
    Members,
    Shortcut,
    member_units,
    shortcut_sum,
)
from meritnas.families.rich_tabular.parts import PARTS, Part, first_units
from meritnas.nn.gated import GatedChoice
from meritnas.nn.questions import BUILDING
from meritnas.nn.sliced import Sliced
from meritnas.nn.switch import Switch
from meritnas.nn.values import Size, Units, Width, extent


def part(kind: str, told: Mapping[str, Any], width: Any) -> nn.Module:
    """What some columns add to a first layer of so many units.

    Args:
        kind: of `PARTS`; empty for nothing.
        told: what its class takes.
        width: a number or a decided width.
    """
    building = BUILDING.get()
    if not kind:
        return nn.Identity()
    if building is None:
        return PARTS[kind](**told, width=width)
    whole = PARTS[kind](**told, width=building.most(width))
    return SlicedPart(building.switch, whole, width)


def first_layer(numbers: int, parts: Mapping[str, nn.Module], width: Any) -> nn.Module:
    """The first layer, with these parts."""
    building = BUILDING.get()
    if building is None:
        return FirstLayer(numbers, parts, width)
    whole = FirstLayer(numbers, {}, building.most(width))
    return SlicedFirst(building.switch, whole, parts, width)


def member_layer(members: Any, width: Any) -> nn.Module:
    """What makes several members of the units of a first layer."""
    building = BUILDING.get()
    if building is None:
        return Members(members, width)
    whole = Members(building.most(members), building.most(width))
    return SlicedMembers(building.switch, whole, members, width)


def head(members: Any, width: Any, outputs: int) -> nn.Module:
    """What is at the end."""
    building = BUILDING.get()
    if building is None:
        return Head(members, width, outputs)
    whole = Head(building.most(members), building.most(width), outputs)
    return SlicedHead(building.switch, whole, members, width)


def shortcut(width: Any) -> nn.Module:
    """What adds what a layer of so many units read to what it made."""
    building = BUILDING.get()
    return Shortcut() if building is None else SlicedShortcut(building.switch, width)


class SlicedPart(Sliced):
    """A part of a first layer, whose share of that is as wide as the layer is."""

    def __init__(self, switch: Switch, whole: Part, width: Size) -> None:
        super().__init__(switch, whole)
        self.kind, self._named, self._width = type(whole).__name__, whole.named, width
        self._features = whole.weight.shape[1]
        for name, buffer in whole.named_buffers():
            self.register_buffer(name, buffer, persistent=False)

    def tensors(self) -> tuple[Tensor, ...]:
        """What its features are computed with."""
        return tuple(
            self.cut(name, *self._parameters[name].shape)  # type: ignore[union-attr]
            if name in self._parameters
            else getattr(self, name)
            for name in self._named
        )

    def share(self, units: int) -> Tensor:
        """The first layer's weights [units, features]."""
        return self.cut("weight", units, self._features)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """As many rows as the first layer has units; frequencies and tables whole."""
        return {"weight": (extent(self._width, units), self._features)}


class SlicedFirst(Sliced):
    """A first layer; in a mixture each way of entering counts as much as its gate says."""

    def __init__(
        self, switch: Switch, whole: FirstLayer, parts: Mapping[str, nn.Module], width: Size
    ) -> None:
        super().__init__(switch, whole)
        self._width, self._numbers = width, 0 if whole.weight is None else whole.weight.shape[1]
        self.parts = nn.ModuleDict(dict(parts))

    def forward(self, inputs: Tensor) -> Tensor:
        """Encoded rows [n, columns] -> [n, width]."""
        units = self._switch.extent(self._width)
        weight = self.cut("weight", units, self._numbers) if self._numbers else None
        parts = self._active(units)
        bias = self.cut("bias", units)
        if parts:
            found = first_units(inputs, weight, bias, parts)
        elif weight is not None:
            found = F.linear(inputs[:, : self._numbers], weight, bias)
        else:  # everything was taken away
            found = bias.expand(len(inputs), -1)
        return self._switch.weighted(found, self._width, -1)

    def _active(self, units: int) -> list[tuple[str, tuple[Tensor, ...], Tensor]]:
        found = []
        for choice in self.parts.values():
            assert isinstance(choice, GatedChoice)
            gate = self._switch.gates[choice.decision]
            for k in gate.active:
                option = choice.options[str(k)]
                if isinstance(option, SlicedPart):
                    share = option.share(units)
                    if gate.weights is not None:
                        share = share * gate.weights[k].to(share)
                    found.append((option.kind, option.tensors(), share))
        return found

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Rows for units."""
        out = extent(self._width, units)
        return self._with_bias(out, {"weight": (out, self._numbers)} if self._numbers else {})


class SlicedMembers(Sliced):
    """The first members of so many; one alone has no weights of its own."""

    def __init__(self, switch: Switch, whole: Members, members: Size, width: Size) -> None:
        super().__init__(switch, whole)
        self._members, self._width = members, width

    def forward(self, units: Tensor) -> Tensor:
        """[n, width] -> [n, members, width]; of one member the same."""
        members = self._switch.extent(self._members)
        if members == 1:
            return units
        scale = self.cut("scale", members - 1, units.shape[-1])
        found = member_units(units, scale)
        raw = getattr(units, "unweighted", None)
        if raw is not None:  # a norm weights mixtures itself
            found.unweighted = member_units(raw, scale)  # type: ignore[attr-defined]
        return found

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Of the members after the first, as far as the first layer is wide."""
        if "scale" not in self._parameters:
            return {}
        return {"scale": (extent(self._members, units) - 1, extent(self._width, units))}


class SlicedShortcut(Sliced):
    """A shortcut; in a mixture it reaches as many units as each width has."""

    def __init__(self, switch: Switch, width: Size) -> None:
        super().__init__(switch, Shortcut())
        self._width = width

    def forward(self, before: Tensor, after: Tensor) -> Tensor:
        """[..., units before], [..., units after] -> [..., units after]."""
        if isinstance(self._width, Width) and not self._switch.plain(self._width):
            reached = before[..., : after.shape[-1]]
            before = self._switch.times_weights(reached, self._width, reached.dim() - 1)
        return shortcut_sum(before, after)

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """It has no weights."""
        del units
        return {}


class SlicedHead(Sliced):
    """A head; a mixture weights each member by the numbers of members that have it."""

    def __init__(self, switch: Switch, whole: Head, members: Size, width: Size) -> None:
        super().__init__(switch, whole)
        self._members, self._width, self._outputs = members, width, whole.weight.shape[0]

    def forward(self, units: Tensor) -> Tensor:
        """[n, members, width], or [n, width] of one -> [n, outputs]."""
        units = units if units.dim() > 2 else units.unsqueeze(1)
        if isinstance(self._members, Width) and not self._switch.plain(self._members):
            units = self._switch.times_weights(units, self._members, 1)
        weight = self.cut("weight", self._outputs, *units.shape[1:])
        return F.linear(units.flatten(1), weight.flatten(1), self.cut_bias(self._outputs))

    def extents(self, units: Units) -> dict[str, tuple[int, ...]]:
        """Of each output the members that there are, as far as they are wide."""
        members, width = extent(self._members, units), extent(self._width, units)
        return self._with_bias(self._outputs, {"weight": (self._outputs, members, width)})
