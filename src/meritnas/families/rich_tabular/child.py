"""Networks for tables whose columns enter in ways of their own; see `parts.py` for these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.rich_tabular.parts import (
    PARTS,
    first_units,
    initial_bias,
    initial_weight,
)


class FirstLayer(nn.Module):
    """A linear layer that reads the numbers as they are, and what parts make of columns.

    Args:
        numbers: how many number columns.
        parts: what columns add, by the number of the decision about them.
        width: how many units it has.
    """

    def __init__(self, numbers: int, parts: Mapping[str, nn.Module], width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(initial_weight(width, numbers)) if numbers else None
        self.bias = nn.Parameter(initial_bias(width, numbers))
        self.parts = nn.ModuleDict({name: p for name, p in parts.items() if hasattr(p, "weight")})

    def forward(self, inputs: Tensor) -> Tensor:
        """Encoded rows [n, columns] -> [n, width]."""
        found: list[Any] = list(self.parts.values())
        parts = [(type(part).__name__, part.tensors(), part.weight) for part in found]
        return first_units(inputs, self.weight, self.bias, parts)


class Members(nn.Module):
    """Several networks that share weights: each reads the first layer with factors of its own.

    The first member reads it as it is (BatchEnsemble, Wen et al., 2020, eq. 1, of outputs; TabM,
    Gorishniy et al., 2024, section 3).

    Args:
        members: how many.
        width: of the first layer.
    """

    def __init__(self, members: int, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(random_signs(members - 1, width)) if members > 1 else None

    def forward(self, units: Tensor) -> Tensor:
        """[n, width] -> [n, members, width]; of one member the same."""
        return units if self.scale is None else member_units(units, self.scale)


def random_signs(members: int, width: int) -> Tensor:
    """Ones and minus ones [members, width], so that members differ from the beginning."""
    return torch.randint(0, 2, (members, width)).to(torch.get_default_dtype()) * 2 - 1


def member_units(units: Tensor, scale: Tensor) -> Tensor:
    """Units [n, width] of the first member, and with factors [members - 1, width] of the others."""
    return units.unsqueeze(1) * torch.cat([torch.ones_like(scale[:1]), scale])


class Fresh(nn.Module):
    """What a layer makes goes on alone."""

    def forward(self, before: Tensor, after: Tensor) -> Tensor:
        """What comes after."""
        del before
        return after


class Shortcut(nn.Module):
    """What a layer read is added to what it made, as far as both are wide (He et al., 2016, A)."""

    def forward(self, before: Tensor, after: Tensor) -> Tensor:
        """[..., units before], [..., units after] -> [..., units after]."""
        return shortcut_sum(before, after)


def shortcut_sum(before: Tensor, after: Tensor) -> Tensor:
    """What comes after, and as much of what was before as there is room for."""
    more = after.shape[-1] - before.shape[-1]
    if more > 0:
        return after + F.pad(before, (0, more))
    return after + before[..., : after.shape[-1]]


class Head(nn.Module):
    """A linear layer at the end; of several members it is the sum of what each has to say.

    Args:
        members: how many.
        width: of the layer before.
        outputs: how many numbers come out.
    """

    def __init__(self, members: int, width: int, outputs: int) -> None:
        super().__init__()
        weight = initial_weight(outputs, members * width)
        self.weight = nn.Parameter(weight.view(outputs, members, width))
        self.bias = nn.Parameter(initial_bias(outputs, members * width))

    def forward(self, units: Tensor) -> Tensor:
        """[n, members, width], or [n, width] of one -> [n, outputs]."""
        return F.linear(units.flatten(1), self.weight.flatten(1), self.bias)


class Deeper(nn.Module):
    """A layer, and the rest of the network after it.

    Args:
        linear: the layer's.
        norm: over its units.
        join: `Fresh` or `Shortcut`.
        rest: what follows: another one, or a head.
    """

    def __init__(
        self, linear: nn.Module, norm: nn.Module, join: nn.Module, rest: nn.Module
    ) -> None:
        super().__init__()
        self.linear, self.norm, self.join, self.rest = linear, norm, join, rest
        self.dropout = nn.Dropout(0.0)

    def forward(self, units: Tensor) -> Tensor:
        """[..., units before] -> [n, outputs]."""
        made = self.dropout(torch.relu(self.norm(self.linear(units))))
        found: Tensor = self.rest(self.join(units, made))
        return found


class Body(nn.Module):
    """A first layer, its members, and the rest of the network."""

    def __init__(
        self, first: nn.Module, members: nn.Module, norm: nn.Module, rest: nn.Module
    ) -> None:
        super().__init__()
        self.first, self.members, self.norm, self.rest = first, members, norm, rest
        self.dropout = nn.Dropout(0.0)

    def forward(self, inputs: Tensor) -> Tensor:
        """Encoded rows [n, columns] -> [n, outputs]."""
        units = torch.relu(self.norm(self.members(self.first(inputs))))
        found: Tensor = self.rest(self.dropout(units))
        return found


class RichNetwork(Body):
    """The same, from plain numbers.

    Args:
        numbers: how many number columns.
        parts: what columns add: by the number of the decision (kind, what its class takes).
        widths: of the hidden layers.
        shortcuts: whether what each layer after the first read is added to what it made.
        members: how many share weights.
        outputs: how many numbers come out.
    """

    def __init__(
        self,
        numbers: int,
        parts: Mapping[str, tuple[str, Mapping[str, Any]]],
        widths: Sequence[int],
        shortcuts: Sequence[bool],
        members: int,
        outputs: int,
    ) -> None:
        made = {name: PARTS[kind](**told, width=widths[0]) for name, (kind, told) in parts.items()}
        rest: nn.Module = Head(members, widths[-1], outputs)
        for i in range(len(widths) - 1, 0, -1):
            join = Shortcut() if shortcuts[i - 1] else Fresh()
            rest = Deeper(nn.Linear(widths[i - 1], widths[i]), plain_norm(widths[i]), join, rest)
        first = FirstLayer(numbers, made, widths[0])
        super().__init__(first, Members(members, widths[0]), plain_norm(widths[0]), rest)


def plain_norm(width: int) -> nn.Module:
    """A layer norm without weights."""
    return nn.LayerNorm(width, elementwise_affine=False)
