"""What whole operations make of rows, in NumPy: the arithmetic of C, for many rows at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np
import torch
from torch.nn import functional as F

from meritnas.exporting.c.int8_operations import (
    HIGHEST,
    LOWEST,
    Grid,
    Quantise,
    Read,
    RealDense,
    Table,
    Weighted,
    Whole,
    WholeCombine,
    WholeCopy,
    WholeFill,
    WholeLookup,
    WholeNormalise,
    WholePool,
    WholeScale,
)
from meritnas.exporting.c.operations import Pick, Pool, Scale, View

Memory: TypeAlias = dict[int, np.ndarray]
"""Of each buffer its numbers [rows, numbers]."""

_REAL = np.float32


def computed_in_int8(program: Whole, rows: np.ndarray) -> np.ndarray:
    """Scores [n, outputs], float32.

    Args:
        program: the network.
        rows: what it reads [n, ...], float32.
    """
    memory: Memory = {}
    for name, one in program.buffers.items():
        real = name in program.real
        size = one.numbers if real else 4 * one.numbers
        memory[name] = np.zeros((len(rows), size), _REAL if real else np.int64)
    flat = rows.reshape(len(rows), -1).astype(_REAL)
    if program.given_grid is not None:
        flat = _rounded(flat / _REAL(program.given_grid.scale), program.given_grid)
    _write(memory, program.given, flat)
    for operation in program.operations:
        _write(memory, operation.target, _MAKERS[type(operation)](operation, memory))
    found = memory[program.scores.buffer][:, program.scores.places.ravel()]
    if program.scores_grid is None:
        return found
    grid = program.scores_grid
    scores: np.ndarray = (found - grid.zero).astype(_REAL) * _REAL(grid.scale)
    return scores


def _write(memory: Memory, view: View, made: np.ndarray) -> None:
    values = memory[view.buffer]
    values[:, view.places.ravel()] = made.reshape(len(values), -1)


def _plain(memory: Memory, view: View) -> np.ndarray:
    found = memory[view.buffer][:, view.places.ravel()]
    return found.reshape(len(found), *view.shape)


def _read(memory: Memory, read: Read) -> np.ndarray:
    """Q - zero of each number [rows, channels, height, width]."""
    found: np.ndarray = np.clip(_plain(memory, read.view), read.low, read.high) - read.grid.zero
    return found


def _within(values: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.clip(values, LOWEST, HIGHEST)
    return found


def _shifted(values: np.ndarray, shift: Any, grid: Grid) -> np.ndarray:
    """Value / 2^shift, to the nearest."""
    half = np.left_shift(np.int64(1), np.asarray(shift, np.int64) - 1)
    return _within(((values + half) >> shift) + grid.zero)


def _rounded(values: np.ndarray, grid: Grid) -> np.ndarray:
    return _within(np.floor(values + _REAL(0.5)).astype(np.int64) + grid.zero)


def _weighted(one: Weighted, memory: Memory) -> np.ndarray:
    read = torch.from_numpy(_read(memory, one.source)).double()  # exact below 2^53
    weights, biases = (torch.from_numpy(each).double() for each in (one.weights, one.biases))
    if one.like is None:
        sums = F.linear(read.flatten(1), weights, biases)[:, :, None, None]
    else:
        sums = F.conv2d(read, weights, biases, *one.like)
    whole = sums.numpy().astype(np.int64)
    multipliers, shifts = (
        np.array([getattr(each, name) for each in one.factors])[:, None, None]
        for name in ("multiplier", "shift")
    )
    return _shifted(whole * multipliers, shifts, one.grid)


def _spread(whole: np.ndarray, epsilon: float) -> tuple[np.ndarray, np.ndarray]:
    """(mean, 1 / deviation) of each row [rows, numbers], in single precision."""
    count = _REAL(whole.shape[1])
    total, squares = whole.sum(1), (whole * whole).sum(1)
    variance = (whole.shape[1] * squares - total * total).astype(_REAL) / (count * count)
    factor = _REAL(1) / np.sqrt(variance + _REAL(epsilon))
    return total.astype(_REAL) / count, factor


def _real_dense(one: RealDense, memory: Memory) -> np.ndarray:
    read = _read(memory, one.source).reshape(len(memory[one.source.view.buffer]), -1)
    if one.epsilon is not None:
        whole = read + one.source.grid.zero
        mean, factor = _spread(whole, one.epsilon)
        sums = (whole @ one.weights.T).astype(_REAL)
        sums = (sums - mean[:, None] * one.weights.sum(1).astype(_REAL)) * factor[:, None]
    else:
        sums = (read @ one.weights.T).astype(_REAL)
    found: np.ndarray = sums * one.factors.astype(_REAL) + one.biases.astype(_REAL)
    return found if one.grid is None else _rounded(found, one.grid)


def _pool(one: WholePool, memory: Memory) -> np.ndarray:
    read, like = _read(memory, one.source), one.like
    (rows, columns) = (_windows(like, axis) for axis in (0, 1))
    made = np.empty((len(read), *one.target.shape), np.int64)
    for y, (top, bottom, tall) in enumerate(rows):
        for x, (left, right, wide) in enumerate(columns):
            window = read[:, :, top:bottom, left:right]
            if like.largest:
                made[:, :, y, x] = window.max((2, 3))
            else:
                count = tall * wide
                made[:, :, y, x] = (512 * window.sum((2, 3)) + count) // (2 * count)
    if like.largest:
        return _within(made + one.grid.zero)
    return _shifted(made * one.factor.multiplier, one.factor.shift, one.grid)


def _windows(like: Pool, axis: int) -> list[tuple[int, int, int]]:
    """(begin, end, how many are counted) of each window."""
    whole, many = like.source.shape[axis + 1], like.target.shape[axis + 1]
    kernel, stride, padding = like.kernel[axis], like.stride[axis], like.padding[axis]
    found = []
    for number in range(many):
        if not kernel:
            begin, end = number * whole // many, -(-(number + 1) * whole // many)
            found.append((begin, end, end - begin))
            continue
        begin, end = (
            number * stride - padding,
            min(number * stride - padding + kernel, whole + padding),
        )
        inside = max(begin, 0), min(end, whole)
        counted = end - begin if like.counts_padding else inside[1] - inside[0]
        found.append((*inside, counted))
    return found


def _combine(one: WholeCombine, memory: Memory) -> np.ndarray:
    a, b = _read(memory, one.first), _read(memory, one.second)
    return _shifted(a * b * one.a if one.product else a * one.a + b * one.b, one.shift, one.grid)


def _scale(one: WholeScale, memory: Memory) -> np.ndarray:
    return _shifted(_read(memory, one.source) * one.factors + one.shifts, one.shift, one.grid)


def _normalise(one: WholeNormalise, memory: Memory) -> np.ndarray:
    whole = _plain(memory, one.source.view)
    groups = whole.reshape(len(whole) * one.groups, -1)
    mean, factor = _spread(groups, one.epsilon)
    found = ((groups.astype(_REAL) - mean[:, None]) * factor[:, None]).reshape(whole.shape)
    return _rounded(found * one.factors.astype(_REAL) + one.shifts.astype(_REAL), one.grid)


def _copy(one: WholeCopy, memory: Memory) -> np.ndarray:
    read = _read(memory, one.source)
    if one.factor is None:
        return _within(read + one.grid.zero)
    return _shifted(read * one.factor.multiplier, one.factor.shift, one.grid)


_MAKERS: Mapping[type, Callable[[Any, Memory], np.ndarray]] = {
    Weighted: _weighted,
    RealDense: _real_dense,
    WholePool: _pool,
    Table: lambda one, memory: one.table[_plain(memory, one.target) - LOWEST],
    WholeCombine: _combine,
    WholeScale: _scale,
    WholeNormalise: _normalise,
    WholeCopy: _copy,
    Quantise: lambda one, memory: _rounded(
        _plain(memory, one.source) / _REAL(one.grid.scale), one.grid
    ),
    WholeFill: lambda one, memory: np.full(
        (len(memory[one.target.buffer]), *one.target.shape), one.value
    ),
    Pick: lambda one, memory: _plain(memory, one.source).reshape(
        len(memory[one.source.buffer]), -1
    )[:, list(one.picked)],
    Scale: lambda one, memory: (
        _plain(memory, one.target) * one.scale.astype(_REAL) + one.shift.astype(_REAL)
    ),
    WholeLookup: lambda one, memory: one.table[
        _plain(memory, one.source).reshape(len(memory[one.source.buffer]), -1).astype(np.int64)
    ],
}
