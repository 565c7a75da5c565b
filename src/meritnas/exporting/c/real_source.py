"""Operations in single precision as C: functions, constants, and the calls in order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from meritnas.exporting.c import real_kernels as kernels
from meritnas.exporting.c.constants import Constants, number_text
from meritnas.exporting.c.functions import FUNCTIONS, Functions
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
from meritnas.exporting.c.storages import refuse

_KINDS = ("add", "sub", "mul", "div", "maximum", "minimum")
_PLACES = (kernels.VIEW, kernels.PLACE)
_BOTH = (kernels.VIEW, kernels.READ, kernels.PLACE)
_TEXTS: Mapping[type, tuple[str, ...]] = {
    Dense: (kernels.DENSE,),
    Convolve: (*_PLACES, kernels.CONVOLVE),
    Pool: (*_BOTH, kernels.WINDOW, kernels.POOL),
    Apply: (*_PLACES, kernels.LOOP, kernels.APPLY),
    Scale: (*_PLACES, kernels.LOOP, kernels.SCALE),
    Normalise: (*_PLACES, kernels.LOOP, kernels.NORMALISE),
    Combine: (*_BOTH, kernels.LOOP, kernels.COMBINE),
    Copy: (*_BOTH, kernels.LOOP, kernels.COPY),
    Fill: (*_PLACES, kernels.LOOP, kernels.FILL),
    Pick: (kernels.PICK,),
    Lookup: (kernels.LOOKUP,),
}
"""What each operation needs, in order."""


@dataclass(frozen=True)
class Body:
    """What a network is in C.

    Attributes:
        functions: of its operations.
        constants: all numbers that do not change.
        constant_bytes: of these.
        calls: in order, a statement each.
    """

    functions: str
    constants: str
    constant_bytes: int
    calls: tuple[str, ...]


def real_body(program: Lowered, offsets: Mapping[int, int]) -> Body:
    """A network in single precision.

    Args:
        program: its operations.
        offsets: where each buffer begins in the arena, in numbers.
    """
    printer = _Printer(offsets)
    calls = tuple(printer.call(number, one) for number, one in enumerate(program.operations, 1))
    texts = needed(_TEXTS, program.operations)
    functions = functions_text(printer.functions) + texts
    return Body(functions, printer.constants.text, printer.constants.bytes, calls)


def needed(texts: Mapping[type, tuple[str, ...]], operations: Sequence[Operation]) -> str:
    """The texts that some operations need, each once, what they share first."""
    kinds = {type(one) for one in operations}
    own = [own for kind, own in texts.items() if kind in kinds]
    shared = [text for each in own for text in each[:-1]]
    return "".join(dict.fromkeys([*shared, *(each[-1] for each in own)]))


def functions_text(functions: Mapping[Functions, int]) -> str:
    """`applied(value, number)`: what functions are, by their numbers; 0 is none."""
    lines = ["", "static float applied(float x, int32_t function)", "{"]
    if functions:
        lines.append("    switch (function) {")
        for chain, number in functions.items():
            lines.append(f"    case {number}:")
            for one in chain:
                text = FUNCTIONS[one.name][1].replace("number", number_text("float", one.number))
                lines.append(f"        x = {text};")
            lines.append("        break;")
        lines.append("    }")
    else:
        lines.append("    (void)function; /* none is */")
    return "\n".join([*lines, "    return x;", "}", ""])


def few(values: np.ndarray) -> tuple[np.ndarray, tuple[int, int, int]]:
    """An array [c, h, w] without what is repeated, and how far it is to the next in each."""
    for axes in ((0, 1, 2), (1, 2), ()):
        part = values[tuple(slice(1) if axis in axes else slice(None) for axis in range(3))]
        if (values == part).all():
            steps = (part[0].size, part.shape[2], 1)
            a, b, c = (0 if axis in axes else steps[axis] for axis in range(3))
            return part, (a, b, c)
    raise AssertionError


class _Printer:
    """Prints one operation after the other.

    Attributes:
        constants: so far.
        functions: that were needed so far, and their numbers.
    """

    def __init__(self, offsets: Mapping[int, int]) -> None:
        self.constants = Constants()
        self.functions: dict[Functions, int] = {}
        self._offsets = offsets
        self._makers: Mapping[type, Callable[[str, Any], str]] = {
            Dense: self._dense,
            Convolve: self._convolve,
            Pool: self._pool,
            Apply: self._apply,
            Scale: self._scale,
            Normalise: self._normalise,
            Combine: self._combine,
            Copy: self._copy,
            Fill: self._fill,
            Pick: self._pick,
            Lookup: self._lookup,
        }

    def call(self, number: int, operation: Operation) -> str:
        """The statement for an operation, and its constants."""
        return self._makers[type(operation)](f"layer{number}", operation)

    def _function(self, functions: Functions) -> int:
        if not functions:
            return 0
        return self.functions.setdefault(functions, len(self.functions) + 1)

    def _first(self, view: View) -> int:
        return self._offsets[view.buffer] + view.first

    def _view(self, view: View) -> str:
        shape, steps = (", ".join(map(str, each)) for each in (view.shape, view.steps))
        first, before = self._first(view), self._function(view.before)
        return f"{{{first}, {{{shape}}}, {{{steps}}}, {before}}}"

    def _row(self, view: View) -> tuple[int, int]:
        """Where a view begins, and how far it is from number to number."""
        return self._first(view), row_step(view)

    def _floats(self, name: str, values: np.ndarray) -> str:
        return self.constants.array(name, "float", values)

    def _biases(self, name: str, values: np.ndarray) -> str:
        return self._floats(f"{name}_biases", values) if values.any() else "NULL"

    def _dense(self, name: str, one: Dense) -> str:
        (begin, step), out = self._row(one.source), self._first(one.target)
        functions = self._function(one.source.before), self._function(one.after)
        outputs, inputs = one.weights.shape
        numbers = begin, step, inputs, out, outputs, *functions
        epsilon = number_text("float", one.epsilon or 0.0)
        text = f"{', '.join(map(str, numbers))}, {epsilon}"
        record = self.constants.record("dense", name, text, 8)
        weights = self._floats(f"{name}_weights", one.weights.T)
        biases = self._biases(name, one.biases)
        return f"dense(&{record}, {weights}, {biases});"

    def _convolve(self, name: str, one: Convolve) -> str:
        contiguous(one.target)
        pairs = (one.weights.shape[2:], one.stride, one.padding, one.dilation)
        told = ", ".join(f"{{{a}, {b}}}" for a, b in pairs)
        after = self._function(one.after)
        text = f"{self._view(one.source)}, {self._view(one.target)}, {told}, {one.groups}, {after}"
        record = self.constants.record("convolution", name, text, 26)
        weights = self._floats(f"{name}_weights", one.weights)
        biases = self._biases(name, one.biases)
        return f"convolve(&{record}, {weights}, {biases});"

    def _pool(self, name: str, one: Pool) -> str:
        told = ", ".join(f"{{{a}, {b}}}" for a, b in (one.kernel, one.stride, one.padding))
        views = f"{self._view(one.source)}, {self._view(one.target)}"
        text = f"{views}, {int(one.largest)}, {told}, {int(one.counts_padding)}"
        return f"pool(&{self.constants.record('pool', name, text, 24)});"

    def _apply(self, name: str, one: Apply) -> str:
        record = self.constants.record("view", name, self._view(one.target)[1:-1], 8)
        return f"apply(&{record}, {self._function(one.after)});"

    def _factors(self, name: str, one: Scale | Normalise) -> tuple[str, str]:
        """(how far factors are apart, the names of factors and shifts)."""
        both, steps = together(one.scale, one.shift)
        names = [
            self._floats(f"{name}_{what}", values)
            for what, values in zip(names_of(one.scale), both, strict=True)
        ]
        return "{" + ", ".join(map(str, steps)) + "}", ", ".join(names)

    def _scale(self, name: str, one: Scale) -> str:
        apart, arrays = self._factors(name, one)
        text = f"{self._view(one.target)}, {apart}, {self._function(one.after)}"
        return f"scale(&{self.constants.record('scaling', name, text, 12)}, {arrays});"

    def _normalise(self, name: str, one: Normalise) -> str:
        apart, arrays = self._factors(name, one)
        epsilon = number_text("float", one.epsilon)
        after = self._function(one.after)
        text = f"{self._view(one.target)}, {apart}, {one.groups}, {after}, {epsilon}"
        return f"normalise(&{self.constants.record('normalising', name, text, 14)}, {arrays});"

    def _combine(self, name: str, one: Combine) -> str:
        views = ", ".join(self._view(view) for view in (one.first, one.second, one.target))
        text = f"{views}, {_KINDS.index(one.kind)}, {self._function(one.after)}"
        return f"combine(&{self.constants.record('combining', name, text, 26)});"

    def _copy(self, name: str, one: Copy) -> str:
        text = f"{self._view(one.source)}, {self._view(one.target)}"
        return f"copy(&{self.constants.record('copying', name, text, 16)});"

    def _fill(self, name: str, one: Fill) -> str:
        record = self.constants.record("view", name, self._view(one.target)[1:-1], 8)
        return f"fill(&{record}, {number_text('float', one.value)});"

    def _pick(self, name: str, one: Pick) -> str:
        (begin, step), before = self._row(one.source), self._function(one.source.before)
        numbers = begin, step, self._first(one.target), len(one.picked), before
        record = self.constants.record("picking", name, ", ".join(map(str, numbers)), 5)
        return f"pick(&{record}, {self.constants.array(name + '_places', 'int32_t', one.picked)});"

    def _lookup(self, name: str, one: Lookup) -> str:
        (begin, step), width = self._row(one.source), one.table.shape[1]
        if one.source.before:
            refuse("a look-up of numbers that a function was applied to")
        numbers = begin, step, one.source.numbers, self._first(one.target), width
        record = self.constants.record("lookup", name, ", ".join(map(str, numbers)), 5)
        return f"look_up(&{record}, {self._floats(name + '_table', one.table)});"


def row_step(view: View) -> int:
    """How far it is from one number of a view to the next, all in one row."""
    places = view.places.ravel()
    steps = np.diff(places)
    if len(steps) and (steps != steps[0]).any():
        refuse("a linear layer of numbers that are not in one row")
    return int(steps[0]) if len(steps) else 1


def contiguous(view: View) -> None:
    """Complain about a result that does not stand as it is written, number after number."""
    if view.numbers > 1 and row_step(view) != 1:
        refuse("a convolution whose result has another layout than channels first")


def names_of(scale: np.ndarray) -> tuple[str, str]:
    """What factors and shifts are called: factors of 1 are not learned."""
    return ("factors", "shifts") if (scale == 1).all() else ("scales", "biases")


def together(
    scale: np.ndarray, shift: np.ndarray
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[int, int, int]]:
    """Both without what is repeated in both, and how far it is to the next of each."""
    one, other = few(scale), few(shift)
    larger = one if one[0].size >= other[0].size else other
    shape = larger[0].shape
    slices = tuple(slice(size) for size in shape)
    return (scale[slices], shift[slices]), larger[1]
