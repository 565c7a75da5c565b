"""What lowered operations make of rows, in torch: to check them, and to see how large numbers are.

Buffers are overwritten as they are in C, with many rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import singledispatch

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from meritnas.exporting.c.functions import applied
from meritnas.exporting.c.operations import (
    Apply,
    Combine,
    Convolve,
    Copy,
    Dense,
    Fill,
    Lookup,
    Lowered,
    Normalise,
    Operation,
    Pick,
    Pool,
    Scale,
    View,
)

Memory = dict[int, Tensor]
"""Of each buffer its numbers [rows, numbers]."""


def computed(
    program: Lowered, rows: Tensor, seen: Callable[[int, Operation, Tensor], None] | None = None
) -> Tensor:
    """Scores [n, outputs].

    Args:
        program: the network.
        rows: what it reads [n, ...].
        seen: is told what each operation made [n, channels, height, width], by its number.
    """
    memory = {name: torch.zeros(len(rows), one.numbers) for name, one in program.buffers.items()}
    memory[program.given.buffer][:] = rows.flatten(1)
    for number, operation in enumerate(program.operations):
        made = _made(operation, memory)
        write(memory, operation.target, made)
        if seen is not None:
            seen(number, operation, read(memory, operation.target))
    return read(memory, program.scores).flatten(1)


def read(memory: Memory, view: View) -> Tensor:
    """The numbers of a view [rows, channels, height, width]."""
    values = memory[view.buffer]
    found = values[:, torch.from_numpy(view.places.ravel())].view(len(values), *view.shape)
    return applied(view.before, found)


def write(memory: Memory, view: View, made: Tensor) -> None:
    """Put numbers where a view says, in its order."""
    values = memory[view.buffer]
    places = torch.from_numpy(view.places.ravel())
    values[:, places] = made.reshape(len(values), -1).to(values.dtype)


def _tensor(values: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(values)).float()


@singledispatch
def _made(operation: Operation, memory: Memory) -> Tensor:
    raise NotImplementedError(type(operation))


@_made.register
def _(one: Dense, memory: Memory) -> Tensor:
    rows = read(memory, one.source).flatten(1)
    if one.epsilon is not None:
        rows = F.layer_norm(rows, rows.shape[1:], eps=one.epsilon)
    found = F.linear(rows, _tensor(one.weights), _tensor(one.biases))
    return applied(one.after, found)


@_made.register
def _(one: Convolve, memory: Memory) -> Tensor:
    weights, biases = _tensor(one.weights), _tensor(one.biases)
    found = F.conv2d(
        read(memory, one.source),
        weights,
        biases,
        one.stride,
        one.padding,
        one.dilation,
        one.groups,
    )
    return applied(one.after, found)


@_made.register
def _(one: Pool, memory: Memory) -> Tensor:
    rows, sides = read(memory, one.source), one.target.shape[1:]
    if not one.kernel[0]:
        return (F.adaptive_max_pool2d if one.largest else F.adaptive_avg_pool2d)(rows, sides)
    # More padding at the ends is windows that go beyond them, as `ceil_mode` makes them.
    shape = zip(sides, one.kernel, one.stride, one.padding, rows.shape[2:], strict=True)
    more = [max(0, (o - 1) * s + k - 2 * p - side) for o, k, s, p, side in shape]
    if one.largest:
        padded = _padded(rows, one.padding, more, -torch.inf)
        return F.max_pool2d(padded, one.kernel, one.stride)[..., : sides[0], : sides[1]]
    counted = one.padding if one.counts_padding else (0, 0)
    ones = _padded(torch.ones_like(rows[:1, :1]), (0, 0), (0, 0), 0.0)
    ones = F.pad(ones, (counted[1], counted[1], counted[0], counted[0]), value=1.0)
    left = [p - c for p, c in zip(one.padding, counted, strict=True)]
    shares = F.avg_pool2d(_padded(ones, left, more, 0.0), one.kernel, one.stride)
    found = F.avg_pool2d(_padded(rows, one.padding, more, 0.0), one.kernel, one.stride)
    return (found / shares)[..., : sides[0], : sides[1]]


def _padded(rows: Tensor, padding: Sequence[int], more: Sequence[int], value: float) -> Tensor:
    """With so much before and after each side, and more after it."""
    high, wide = padding
    return F.pad(rows, (wide, wide + more[1], high, high + more[0]), value=value)


@_made.register
def _(one: Apply, memory: Memory) -> Tensor:
    return applied(one.after, read(memory, one.target))


@_made.register
def _(one: Scale, memory: Memory) -> Tensor:
    found = read(memory, one.target) * _tensor(one.scale) + _tensor(one.shift)
    return applied(one.after, found)


@_made.register
def _(one: Normalise, memory: Memory) -> Tensor:
    found = F.group_norm(read(memory, one.target), one.groups, eps=one.epsilon)
    return applied(one.after, found * _tensor(one.scale) + _tensor(one.shift))


@_made.register
def _(one: Combine, memory: Memory) -> Tensor:
    kind: Callable[[Tensor, Tensor], Tensor] = getattr(torch, one.kind)
    found = kind(read(memory, one.first), read(memory, one.second))
    return applied(one.after, found)


@_made.register
def _(one: Copy, memory: Memory) -> Tensor:
    return read(memory, one.source)


@_made.register
def _(one: Fill, memory: Memory) -> Tensor:
    rows = len(memory[one.target.buffer])
    return torch.full((rows, *one.target.shape), one.value)


@_made.register
def _(one: Pick, memory: Memory) -> Tensor:
    return read(memory, one.source).flatten(1)[:, list(one.picked)]


@_made.register
def _(one: Lookup, memory: Memory) -> Tensor:
    codes = read(memory, one.source).flatten(1).long()
    return _tensor(one.table)[codes]
