"""A network's operations in whole numbers of 8 bits, by how large numbers are on training rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from torch import Tensor

from meritnas.exporting.c.computed import computed
from meritnas.exporting.c.functions import applied
from meritnas.exporting.c.int8_operations import (
    HIGHEST,
    LOWEST,
    Factor,
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
    WholeOperation,
    WholePool,
    WholeScale,
)
from meritnas.exporting.c.operations import (
    Apply,
    Buffer,
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
from meritnas.exporting.c.storages import refuse

_CUT = ("relu", "relu6")
"""Functions that are a bound of what is read or written."""

_MOST_INPUTS = 60_000
"""Products of a sum: it stays below 2^31."""

Range = tuple[float, float]


def in_int8(program: Lowered, batches: Iterable[Tensor]) -> Whole:
    """A network in whole numbers.

    Args:
        program: its operations.
        batches: training rows, as the network reads them.

    Raises:
        UsageError: It does something that has no such form.
    """
    split = replace(program, operations=tuple(_split(program.operations)))
    ranges, given = _ranges(split, batches)
    return _Quantiser(split, ranges, given).all()


def _split(operations: Iterable[Operation]) -> Iterable[Operation]:
    """Functions that are no bounds as operations of their own."""
    for one in operations:
        if not isinstance(one, Dense | Convolve | Combine | Scale | Normalise) or all(
            each.name in _CUT for each in one.after
        ):
            yield one
        else:
            yield replace(one, after=())
            yield Apply(one.target, one.after)


def _ranges(program: Lowered, batches: Iterable[Tensor]) -> tuple[list[Range], Range]:
    """(what each operation makes, what the network reads): smallest and largest numbers."""
    found: list[Range] = [(0.0, 0.0)] * len(program.operations)

    def seen(number: int, operation: Operation, made: Tensor) -> None:
        del operation
        low, high = found[number]
        found[number] = min(low, float(made.min())), max(high, float(made.max()))

    given: Range = (0.0, 0.0)
    for rows in batches:
        computed(program, rows, seen)
        given = min(given[0], float(rows.min())), max(given[1], float(rows.max()))
    for number, group in _groups(program.operations).items():
        found[number] = min(found[k][0] for k in group), max(found[k][1] for k in group)
    return found, given


def _groups(operations: tuple[Operation, ...]) -> Mapping[int, list[int]]:
    """Of copies and fills into one buffer, one after the other, the numbers of all of them."""
    found: dict[int, list[int]] = {}
    for number, one in enumerate(operations):
        if not isinstance(one, Copy | Fill | Lookup):
            continue
        before = operations[number - 1] if number else None
        joined = isinstance(before, Copy | Fill) and before.target.buffer == one.target.buffer
        found[number] = found[number - 1] if joined else []
        found[number].append(number)
    return found


class _Quantiser:
    """Goes through operations in order, and knows what is in each buffer.

    Args:
        program: the operations.
        ranges: of what each makes.
        given: of what the network reads.
    """

    def __init__(self, program: Lowered, ranges: list[Range], given: Range) -> None:
        self._program = program
        self._ranges = ranges
        self._real = _real_buffers(program)
        self._grids: dict[int, Grid] = {}
        self._own = Grid.over(*given)
        if program.given.buffer not in self._real:
            self._grids[program.given.buffer] = self._own
        self._makers: Mapping[type, Callable[[Any, Grid], WholeOperation]] = {
            Dense: self._dense,
            Convolve: self._convolve,
            Pool: self._pool,
            Apply: self._apply,
            Scale: self._scale,
            Normalise: self._normalise,
            Combine: self._combine,
            Copy: self._copy,
            Fill: lambda one, grid: WholeFill(one.target, grid.of(one.value)),
            Lookup: self._lookup,
        }

    def all(self) -> Whole:
        """The whole network."""
        program = self._program
        found = [self._one(k, one) for k, one in enumerate(program.operations)]
        units = {
            name: Buffer(
                one.numbers if name in self._real else -(-one.numbers // 4), one.born, one.dies
            )
            for name, one in program.buffers.items()
        }
        given = self._own if program.given.buffer not in self._real else None
        scores = program.scores
        real = frozenset(self._real)
        return Whole(
            tuple(found), units, real, program.given, given, scores, self._grids.get(scores.buffer)
        )

    def _one(self, number: int, one: Operation) -> WholeOperation:
        target = one.target
        if target.buffer in self._real:
            return self._of_real(one)
        grid = Grid.over(*self._ranges[number])
        if isinstance(one, Pick) or (isinstance(one, Pool) and one.largest):
            grid = self._read(one.source).grid
        if isinstance(one, Pick):
            refuse("a choice of numbers in int8")
        whole = target.numbers == self._program.buffers[target.buffer].numbers
        if not whole and not isinstance(one, Copy | Fill):
            refuse("an operation on a part of a row in int8")
        made = self._makers[type(one)](one, grid)
        self._grids[target.buffer] = grid
        return made

    def _of_real(self, one: Operation) -> WholeOperation:
        """Of codes, or the last linear layer."""
        if isinstance(one, Pick) or (isinstance(one, Scale) and not one.after):
            return one
        if not isinstance(one, Dense):
            refuse("codes that are changed in int8")
        return self._real_dense(one, None)

    def _read(self, view: View) -> Read:
        if view.buffer in self._real:
            refuse("codes that are not looked up in int8")
        grid, low, high = self._grids[view.buffer], LOWEST, HIGHEST
        for function in view.before:
            if function.name == "times" and function.number > 0:
                grid = Grid(grid.scale * function.number, grid.zero)
            elif function.name in _CUT:
                low = max(low, grid.zero)
                high = min(high, grid.of(6.0)) if function.name == "relu6" else high
            else:
                refuse(f"{function.name} of what is read again in int8")
        return Read(replace(view, before=()), grid, low, high)

    def _dense(self, one: Dense, grid: Grid) -> WholeOperation:
        if one.epsilon is not None:
            return self._real_dense(one, grid)
        return self._weighted(one, grid)

    def _convolve(self, one: Convolve, grid: Grid) -> WholeOperation:
        like = one.stride, one.padding, one.dilation, one.groups
        return replace(self._weighted(one, grid), like=like)

    def _weighted(self, one: Dense | Convolve, grid: Grid) -> Weighted:
        source = self._read(one.source)
        weights, scales = _by_channel(one.weights, one.biases / source.grid.scale)
        steps = source.grid.scale * scales
        biases = np.round(one.biases / steps).astype(np.int64)
        factors = tuple(Factor.of(step / grid.scale) for step in steps.tolist())
        return Weighted(source, one.target, grid, weights, biases, factors)

    def _real_dense(self, one: Dense, grid: Grid | None) -> RealDense:
        source = self._read(one.source)
        weights, scales = _by_channel(one.weights, np.zeros(len(one.weights)))
        unit = 1.0 if grid is None else grid.scale
        read = 1.0 if one.epsilon is not None else source.grid.scale
        if one.after and grid is None:
            refuse("a function of scores in int8")
        epsilon = None if one.epsilon is None else one.epsilon / source.grid.scale**2
        factors, biases = scales * read / unit, one.biases / unit
        return RealDense(source, one.target, grid, weights, factors, biases, epsilon)

    def _pool(self, one: Pool, grid: Grid) -> WholePool:
        source = self._read(one.source)
        factor = Factor.of(source.grid.scale / grid.scale / 256)
        return WholePool(one, source, one.target, grid, factor)

    def _apply(self, one: Apply, grid: Grid) -> Table:
        source = self._read(one.target).grid
        values = (np.arange(LOWEST, HIGHEST + 1) - source.zero) * source.scale
        after = applied(one.after, Tensor(values))
        return Table(one.target, np.array([grid.of(value) for value in after.tolist()]))

    def _combine(self, one: Combine, grid: Grid) -> WholeCombine:
        first, second = self._read(one.first), self._read(one.second)
        if one.kind == "mul":
            factor = Factor.of(first.grid.scale * second.grid.scale / grid.scale)
            numbers = factor.multiplier, 0, factor.shift
            return WholeCombine(first, second, one.target, grid, True, *numbers)
        if one.kind not in ("add", "sub"):
            refuse(f"{one.kind} in int8")
        ratios = first.grid.scale / grid.scale, second.grid.scale / grid.scale
        shift = 30 - int(np.ceil(np.log2(max(ratios))))
        a, b = (round(ratio * 2.0**shift) for ratio in ratios)
        b = -b if one.kind == "sub" else b
        return WholeCombine(first, second, one.target, grid, False, a, b, shift)

    def _scale(self, one: Scale, grid: Grid) -> WholeScale:
        source = self._read(one.target)
        factors = one.scale * source.grid.scale / grid.scale
        shifts = one.shift / grid.scale
        largest = max(float(np.abs(factors).max()), float(np.abs(shifts).max()), 1e-6)
        shift = min(30, 29 - int(np.ceil(np.log2(largest))))
        if shift < 1:
            refuse("a scaling of too large numbers in int8")
        a, b = (np.round(each * 2.0**shift).astype(np.int64) for each in (factors, shifts))
        return WholeScale(source, one.target, grid, a, b, shift)

    def _normalise(self, one: Normalise, grid: Grid) -> WholeNormalise:
        source = self._read(one.target)
        epsilon = one.epsilon / source.grid.scale**2
        factors, shifts = one.scale / grid.scale, one.shift / grid.scale
        return WholeNormalise(source, one.target, grid, one.groups, epsilon, factors, shifts)

    def _copy(self, one: Copy, grid: Grid) -> WholeOperation:
        if one.source.buffer in self._real:
            return Quantise(one.source, one.target, grid)
        source = self._read(one.source)
        factor = None if source.grid == grid else Factor.of(source.grid.scale / grid.scale)
        return WholeCopy(source, one.target, grid, factor)

    def _lookup(self, one: Lookup, grid: Grid) -> WholeLookup:
        table = np.vectorize(grid.of)(one.table)
        return WholeLookup(one.source, one.target, table)


def _by_channel(weights: np.ndarray, biases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(weights in int8, what 1 is of each output): the largest weight is 127; biases fit, too."""
    rows = weights.reshape(len(weights), -1)
    if rows.shape[1] > _MOST_INPUTS:
        refuse(f"sums of more than {_MOST_INPUTS:,} products in int8")
    scales = np.maximum(np.abs(rows).max(axis=1) / 127, np.abs(biases) / 2**30)
    scales = np.where(scales > 0, scales, 1.0)
    shaped = scales.reshape(-1, *(1,) * (weights.ndim - 1))
    return np.round(weights / shaped).astype(np.int64), scales


def _real_buffers(program: Lowered) -> set[int]:
    """Of codes, of what they are picked from, and of scores that a linear layer gives."""
    found = {one.source.buffer for one in program.operations if isinstance(one, Lookup)}
    for one in reversed(program.operations):
        if isinstance(one, Pick) and one.target.buffer in found:
            found.add(one.source.buffer)
    makers = [one for one in program.operations if one.target.buffer == program.scores.buffer]
    if isinstance(makers[-1], Dense) and len(makers) == 1 and not makers[-1].after:
        found.add(program.scores.buffer)
    return found
