"""Operations in whole numbers of 8 bits as C: functions, constants, and the calls in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meritnas.exporting.c import int8_kernels as kernels
from meritnas.exporting.c.constants import Constants, number_text
from meritnas.exporting.c.int8_operations import (
    HIGHEST,
    LOWEST,
    Factor,
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
from meritnas.exporting.c.operations import Pick, Scale, View
from meritnas.exporting.c.real_kernels import LOOP, WINDOW
from meritnas.exporting.c.real_source import Body, contiguous, row_step, together
from meritnas.exporting.c.source import Arena
from meritnas.exporting.c.storages import refuse

_SHIFTED, _ROUNDED = (kernels.WITHIN, kernels.SHIFTED), (kernels.ROUNDED,)
_PLACES = (kernels.VIEW, kernels.PLACE)
_BOTH = (*_SHIFTED, *_PLACES, kernels.READ)
_ORDER = (*_SHIFTED, *_ROUNDED, *_PLACES, kernels.READ, WINDOW, LOOP)
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "dense": (*_SHIFTED, kernels.DENSE),
    "real_dense": (*_ROUNDED, kernels.REAL_DENSE),
    "convolve": (*_SHIFTED, *_PLACES, kernels.CONVOLVE),
    "pool": (*_BOTH, WINDOW, kernels.POOL),
    "apply": (*_PLACES, LOOP, kernels.APPLY),
    "scale": (*_BOTH, LOOP, kernels.SCALE),
    "normalise": (*_ROUNDED, *_PLACES, LOOP, kernels.NORMALISE),
    "combine": (*_BOTH, LOOP, kernels.COMBINE),
    "copy": (*_BOTH, LOOP, kernels.COPY),
    "quantise": (*_ROUNDED, kernels.QUANTISE),
    "fill": (*_PLACES, LOOP, kernels.FILL),
    "pick": (kernels.PICK,),
    "scale_codes": (kernels.SCALE_CODES,),
    "look_up": (kernels.LOOKUP,),
}
"""What each function of C needs, in order."""


def int8_body(program: Whole, offsets: Mapping[int, int]) -> Body:
    """A network in whole numbers.

    Args:
        program: its operations.
        offsets: where each buffer begins in the arena, in units of four bytes.
    """
    printer = _Printer(program, offsets)
    calls = tuple(printer.call(number, one) for number, one in enumerate(program.operations, 1))
    used = {call.split("(")[0] for call in calls}
    texts = [own for name, own in _TEXTS.items() if name in used]
    shared = {text for own in texts for text in own[:-1]}
    shared |= set() if program.given_grid is None else set(_ROUNDED)
    begin = [text for text in _ORDER if text in shared]
    functions = "".join([*begin, *(own[-1] for own in texts)])
    return Body(functions, printer.constants.text, printer.constants.bytes, calls)


def int8_arena(program: Whole, offsets: Mapping[int, int], size: int) -> Arena:
    """The arena of a network in whole numbers, of so many units of four bytes."""
    given = 4 * offsets[program.given.buffer] + program.given.first
    scores = 4 * offsets[program.scores.buffer] + program.scores.first
    stored = f"arena.reals[{given // 4} + place] = value;"
    if program.given_grid is not None:
        unit, zero = number_text("float", program.given_grid.scale), program.given_grid.zero
        stored = f"arena.bytes[{given} + place] = rounded(value / {unit}, {zero});"
    told = f"arena.reals[{scores // 4} + place]"
    if program.scores_grid is not None:
        unit, zero = number_text("float", program.scores_grid.scale), program.scores_grid.zero
        told = f"(float)(arena.bytes[{scores} + place] - {zero}) * {unit}"
    text = """static union {
    float reals[MODEL_ARENA_BYTES / 4];
    int8_t bytes[MODEL_ARENA_BYTES];
} arena;
"""
    ends = f"""
static void store(int32_t place, float value)
{{
    {stored}
}}

static float score(int32_t place)
{{
    return {told};
}}
"""
    return Arena(text, 4 * size, "int8", ends)


class _Printer:
    """Prints one operation after the other.

    Attributes:
        constants: so far.
    """

    def __init__(self, program: Whole, offsets: Mapping[int, int]) -> None:
        self.constants = Constants()
        self._program, self._offsets = program, offsets
        self._makers: Mapping[type, Callable[[str, Any], str]] = {
            Weighted: self._weighted,
            RealDense: self._real_dense,
            WholePool: self._pool,
            Table: self._table,
            WholeScale: self._scale,
            WholeNormalise: self._normalise,
            WholeCombine: self._combine,
            WholeCopy: self._copy,
            Quantise: self._quantise,
            WholeFill: self._fill,
            Pick: self._pick,
            Scale: self._scale_codes,
            WholeLookup: self._lookup,
        }

    def call(self, number: int, operation: WholeOperation) -> str:
        """The statement for an operation, and its constants."""
        return self._makers[type(operation)](f"layer{number}", operation)

    def _first(self, view: View) -> int:
        """Where a view begins, in bytes."""
        unit = 4 if view.buffer in self._program.real else 1
        return 4 * self._offsets[view.buffer] + unit * view.first

    def _view(self, view: View, zero: int = 0, low: int = LOWEST, high: int = HIGHEST) -> str:
        shape, steps = (", ".join(map(str, each)) for each in (view.shape, view.steps))
        return f"{{{self._first(view)}, {{{shape}}}, {{{steps}}}, {zero}, {low}, {high}}}"

    def _read(self, read: Read) -> str:
        return self._view(read.view, read.grid.zero, read.low, read.high)

    def _row(self, read: Read) -> tuple[int, ...]:
        begin, step = self._first(read.view), row_step(read.view)
        return begin, step, read.grid.zero, read.low, read.high

    def _record(self, kind: str, name: str, numbers: tuple[int, ...], more: str = "") -> str:
        text = ", ".join(map(str, numbers)) + more
        return "&" + self.constants.record(kind, name, text, len(numbers) + bool(more))

    def _weighted(self, name: str, one: Weighted) -> str:
        factors = one.factors
        arrays = (
            ("weights", "int8_t", one.weights),
            ("biases", "int32_t", one.biases if one.biases.any() else ()),
            ("multipliers", "int32_t", [each.multiplier for each in factors]),
            ("shifts", "uint8_t", [each.shift for each in factors]),
        )
        if one.like is None:
            outputs, inputs = one.weights.shape
            out = inputs, self._first(one.target), outputs, one.grid.zero
            function, record = "dense", self._record("dense", name, (*self._row(one.source), *out))
        else:
            contiguous(one.target)
            stride, padding, dilation, groups = one.like
            pairs = (one.weights.shape[2:], stride, padding, dilation)
            told = ", ".join(f"{{{a}, {b}}}" for a, b in pairs)
            views = f"{self._read(one.source)}, {self._view(one.target, one.grid.zero)}"
            text = f"{views}, {told}, {groups}"
            function = "convolve"
            record = "&" + self.constants.record("convolution", name, text, 29)
        names = [
            self.constants.array(f"{name}_{what}", kind, values) if len(values) else "NULL"
            for what, kind, values in arrays
        ]
        return f"{function}({', '.join([record, *names])});"

    def _real_dense(self, name: str, one: RealDense) -> str:
        outputs, inputs = one.weights.shape
        real, zero = (1, 0) if one.grid is None else (0, one.grid.zero)
        numbers = *self._row(one.source), inputs, self._first(one.target), outputs, real, zero
        epsilon = number_text("float", one.epsilon or 0.0)
        record = self._record("real_dense", name, numbers, f", {epsilon}")
        weights = self.constants.array(f"{name}_weights", "int8_t", one.weights)
        arrays = self._floats(name, ("factors", "biases"), one.factors, one.biases)
        return f"real_dense({record}, {weights}, {arrays});"

    def _floats(self, name: str, called: tuple[str, str], *arrays: np.ndarray) -> str:
        pairs = zip(called, arrays, strict=True)
        names = (self.constants.array(f"{name}_{what}", "float", each) for what, each in pairs)
        return ", ".join(names)

    def _pool(self, name: str, one: WholePool) -> str:
        like = one.like
        told = ", ".join(f"{{{a}, {b}}}" for a, b in (like.kernel, like.stride, like.padding))
        views = f"{self._read(one.source)}, {self._view(one.target, one.grid.zero)}"
        factor = f"{one.factor.multiplier}, {one.factor.shift}"
        text = f"{views}, {int(like.largest)}, {told}, {int(like.counts_padding)}, {factor}"
        return f"pool(&{self.constants.record('pool', name, text, 30)});"

    def _table(self, name: str, one: Table) -> str:
        record = self.constants.record("view", name, self._view(one.target)[1:-1], 10)
        return f"apply(&{record}, {self.constants.array(f'{name}_becomes', 'int8_t', one.table)});"

    def _scale(self, name: str, one: WholeScale) -> str:
        both, apart = together(one.factors, one.shifts)
        told = ", ".join(map(str, apart))
        text = f"{self._read(one.source)}, {{{told}}}, {one.shift}, {one.grid.zero}"
        record = self.constants.record("scaling", name, text, 15)
        pairs = zip(("scales", "biases"), both, strict=True)
        names = [self.constants.array(f"{name}_{what}", "int32_t", each) for what, each in pairs]
        return f"scale(&{record}, {', '.join(names)});"

    def _normalise(self, name: str, one: WholeNormalise) -> str:
        both, apart = together(one.factors, one.shifts)
        told, epsilon = ", ".join(map(str, apart)), number_text("float", one.epsilon)
        text = f"{self._read(one.source)}, {{{told}}}, {one.groups}, {one.grid.zero}, {epsilon}"
        record = self.constants.record("normalising", name, text, 16)
        # Without weights of its own, factors are all 1 / unit.
        called = ("factors", "shifts") if np.ptp(one.factors) == 0 else ("scales", "biases")
        return f"normalise(&{record}, {self._floats(name, called, *both)});"

    def _combine(self, name: str, one: WholeCombine) -> str:
        out = self._view(one.target, one.grid.zero)
        views = f"{self._read(one.first)}, {self._read(one.second)}, {out}"
        text = f"{views}, {int(one.product)}, {one.a}, {one.b}, {one.shift}"
        return f"combine(&{self.constants.record('combining', name, text, 34)});"

    def _copy(self, name: str, one: WholeCopy) -> str:
        factor = one.factor or Factor(0, 0)
        views = f"{self._read(one.source)}, {self._view(one.target, one.grid.zero)}"
        text = f"{views}, {factor.multiplier}, {factor.shift}"
        return f"copy(&{self.constants.record('copying', name, text, 22)});"

    def _quantise(self, name: str, one: Quantise) -> str:
        if one.source.before:
            refuse("functions of real numbers in int8")
        out = self._first(one.target), row_step(one.target), one.target.numbers, one.grid.zero
        numbers = self._first(one.source), row_step(one.source), *out
        unit = number_text("float", one.grid.scale)
        return f"quantise({self._record('quantising', name, numbers, f', {unit}')});"

    def _fill(self, name: str, one: WholeFill) -> str:
        record = self.constants.record("view", name, self._view(one.target)[1:-1], 10)
        return f"fill(&{record}, {one.value});"

    def _pick(self, name: str, one: Pick) -> str:
        numbers = self._first(one.source), row_step(one.source), self._first(one.target)
        record = self._record("picking", name, (*numbers, len(one.picked)))
        return f"pick({record}, {self.constants.array(f'{name}_places', 'int32_t', one.picked)});"

    def _scale_codes(self, name: str, one: Scale) -> str:
        arrays = self._floats(name, ("factors", "shifts"), one.scale, one.shift)
        contiguous(one.target)
        return f"scale_codes({self._first(one.target)}, {one.target.numbers}, {arrays});"

    def _lookup(self, name: str, one: WholeLookup) -> str:
        if one.source.before:
            refuse("a look-up of numbers that a function was applied to")
        begin, step, count = self._first(one.source), row_step(one.source), one.source.numbers
        numbers = begin, step, count, self._first(one.target), one.table.shape[1]
        record = self._record("lookup", name, numbers)
        return f"look_up({record}, {self.constants.array(f'{name}_table', 'int8_t', one.table)});"
