"""Operations of torch that make something new, as those that C is printed from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from meritnas.devices.placement import on_cpu
from meritnas.exporting.c.operations import (
    Convolve,
    Copy,
    Dense,
    Fill,
    Lookup,
    Operation,
    Pick,
    Pool,
    View,
)
from meritnas.exporting.c.storages import Storages, refuse, view_of
from meritnas.families.live_memory import Call


class Reader(Protocol):
    """What is known while a network is lowered."""

    storages: Storages

    def read(self, tensor: Tensor) -> View:
        """A tensor as an operation reads it."""
        ...


def array(values: Tensor) -> np.ndarray:
    """Numbers that do not depend on the row, in double precision."""
    found: np.ndarray = on_cpu(values.detach()).to(torch.float64).contiguous().numpy()
    return found


def _constant(reader: Reader, value: Any, what: str) -> Any:
    if reader.storages.depends(value):
        refuse(f"{what} that depends on what is read")
    return value


def _dense(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    bias, source, weights = call.arguments if call.name == "addmm" else (None, *call.arguments)
    _constant(reader, weights, "a product with a matrix")
    if source.shape[0] != 1 or call.named:
        refuse("a linear layer on several rows at once")
    known = np.zeros(weights.shape[1]) if bias is None else array(_constant(reader, bias, "a bias"))
    if known.shape != (weights.shape[1],):
        refuse("a linear layer with several biases")
    rows, target = array(weights.t()), reader.read(result)
    stored = reader.storages.of(source)
    # Numbers in another order, as after transposing, are read as they stand.
    order = reader.storages.places(source).flatten().argsort()
    view = view_of(stored.buffer, reader.storages.places(source).flatten()[order], stored.before)
    norm = stored.norm
    if norm is None:
        return [Dense(view, target, rows[:, order.numpy()], known)]
    if len(norm.scale) != source.numel() or (order.diff() != 1).any():
        refuse("a linear layer of a part of what a layer norm made")
    return [Dense(view, target, rows * norm.scale, known + rows @ norm.shift, norm.epsilon)]


def _convolve(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    source, weights, bias, stride, padding, dilation, turned, _, groups = call.arguments
    _constant(reader, weights, "a convolution with weights")
    if turned or weights.dim() > 4:
        refuse("a transposed or three-dimensional convolution")
    known = array(weights if weights.dim() == 4 else weights.unsqueeze(2))
    biases = np.zeros(len(known)) if bias is None else array(bias)
    first = 0 if weights.dim() == 4 else 1  # of one dimension: its height is 1
    pairs = [_pair(list(each), fill) for each, fill in ((stride, 1), (padding, 0), (dilation, 1))]
    view, target = (reader.read(_flat_image(each, first)) for each in (source, result))
    return [Convolve(view, target, known, biases, pairs[0], pairs[1], pairs[2], int(groups))]


def _flat_image(tensor: Tensor, flat: int) -> Tensor:
    return tensor.unsqueeze(2) if flat else tensor


def _pair(given: Sequence[int], fill: int) -> tuple[int, int]:
    return (fill, given[0]) if len(given) == 1 else (given[0], given[1])


def _pool(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    largest = call.name.startswith("max")
    kernel, stride, padding, *rest = (*call.arguments[1:], *[None] * 3)[: 6 if largest else 7]
    kernel, padding = _square(kernel), _square(padding or 0)
    stride = _square(stride) if stride else kernel
    if largest and rest and rest[0] is not None and set(_square(rest[0])) != {1}:
        refuse("dilated pooling")
    if not largest and len(call.arguments) > 6 and call.arguments[6] is not None:
        refuse("average pooling with a divisor of its own")
    counts = not largest and (len(call.arguments) < 6 or bool(call.arguments[5]))
    views = reader.read(call.arguments[0]), reader.read(result)
    return [Pool(*views, largest, kernel, stride, padding, counts)]


def _square(given: int | Sequence[int]) -> tuple[int, int]:
    if isinstance(given, int):
        return given, given
    return (given[0], given[-1])


def _adaptive(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    views = reader.read(call.arguments[0]), reader.read(result)
    return [Pool(*views, "max" in call.name, (0, 0), (1, 1), (0, 0), False)]


def _mean(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    """The mean over the last one or two dimensions of a row."""
    source = call.arguments[0]
    dims = sorted(dim % source.dim() for dim in (call.arguments[1] or range(source.dim())))
    wanted = list(range(source.dim() - len(dims), source.dim()))
    if dims != wanted or len(dims) > 2 or 0 in dims:
        refuse("a mean that is not over the last one or two dimensions")
    stored = reader.storages.of(source)
    places = reader.storages.places(source).squeeze(0)
    rest = places.shape[: places.dim() - len(dims)].numel()
    spread = places.reshape(1, rest, *((1,) if len(dims) == 1 else ()), *source.shape[-len(dims) :])
    view = view_of(stored.buffer, spread, reader.read(source).before)
    made = reader.storages.of(result).buffer
    target = view_of(made, reader.storages.places(result).reshape(1, rest, 1, 1))
    return [Pool(view, target, False, (0, 0), (1, 1), (0, 0), False)]


def _cat(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    parts = call.arguments[0]
    dim = call.arguments[1] if len(call.arguments) > 1 else 0
    made: list[Operation] = []
    begin = 0
    for part in parts:
        target = result.narrow(dim, begin, part.shape[dim])
        begin += part.shape[dim]
        if part.numel():
            _needs(reader, part, "concatenation with a constant")
            made.append(Copy(reader.read(part), reader.read(target)))
    return made


def _needs(reader: Reader, part: Tensor, what: str) -> None:
    if not reader.storages.depends(part):
        refuse(what)


def _pad(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    source, pads = call.arguments[:2]
    value = float(call.arguments[2]) if len(call.arguments) > 2 else 0.0
    target = result
    for number in range(len(pads) // 2):
        dim = source.dim() - 1 - number
        before, after = pads[2 * number : 2 * number + 2]
        begin, end = max(0, -before), source.shape[dim] - max(0, -after)
        source = source.narrow(dim, begin, end - begin)
        target = target.narrow(dim, max(0, before), end - begin)
    fill = Fill(_whole(reader, result), value)
    return [fill, Copy(reader.read(source), reader.read(target))] if source.numel() else [fill]


def _whole(reader: Reader, result: Tensor) -> View:
    return replace(reader.read(result), before=())


def _fill(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    value = {"zeros_like": 0.0, "ones_like": 1.0}[call.name]
    return [Fill(_whole(reader, result), value)]


def _select(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    table, dim, index = call.arguments
    if reader.storages.depends(index):
        _constant(reader, table, "a look-up in a table")
        if dim != 0 or table.dim() != 2:
            refuse("a look-up in something other than rows of a table")
        return _lookup(reader, index, result, table)
    if dim != 1 or table.dim() != 2:
        refuse("a choice of numbers other than those of a row")
    chosen = tuple(int(place) for place in index.tolist())
    return [Pick(reader.read(table), reader.read(result), chosen)]


def _embed(reader: Reader, call: Call, result: Tensor) -> list[Operation]:
    table, index = call.arguments[:2]
    _constant(reader, table, "a look-up in a table")
    return _lookup(reader, index, result, table)


def _lookup(reader: Reader, index: Tensor, result: Tensor, table: Tensor) -> list[Operation]:
    made = reader.storages.of(result).buffer
    places = reader.storages.places(result).reshape(1, index.numel(), table.shape[1])
    return [Lookup(reader.read(index), view_of(made, places), array(table))]


LAYERS: Mapping[str, Callable[[Reader, Call, Tensor], list[Operation]]] = {
    "addmm": _dense,
    "mm": _dense,
    "convolution": _convolve,
    "max_pool2d_with_indices": _pool,
    "max_pool2d": _pool,
    "avg_pool2d": _pool,
    "_adaptive_avg_pool2d": _adaptive,
    "adaptive_max_pool2d": _adaptive,
    "mean": _mean,
    "cat": _cat,
    "constant_pad_nd": _pad,
    "zeros_like": _fill,
    "ones_like": _fill,
    "index_select": _select,
    "embedding": _embed,
}
"""By the names that torch has for them; each is told what was asked for, and the result."""
