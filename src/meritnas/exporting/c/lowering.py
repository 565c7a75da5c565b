"""What a network does, as the short list of operations that C is printed from.

The network runs once on one row, and what torch is asked for is taken down, as
`families.live_memory` does to count its memory; so the buffers of both are the same. What does not
depend on the row is a number by then. Norms and functions become part of the layers before them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.exporting.c.functions import FUNCTIONS, Function, Functions
from meritnas.exporting.c.lowered_layers import LAYERS, array
from meritnas.exporting.c.operations import (
    Apply,
    Combine,
    Convolve,
    Dense,
    Lowered,
    Normalise,
    Operation,
    Scale,
    View,
    views_of,
)
from meritnas.exporting.c.storages import Norm, Storages, refuse, view_of
from meritnas.families.live_memory import Call, Trace, traced

_SAME = ("_to_copy", "clone", "detach", "alias", "contiguous", "lift_fresh")
_NUMBERED = {"leaky_relu": 0.01, "elu": 1.0}
_PAIRS = ("add", "sub", "mul", "div", "maximum", "minimum")
_TWICE = {"add": Function("times", 2.0), "mul": Function("square")}
"""What these are of a tensor and itself."""

_BATCH_NORMS = (
    "native_batch_norm",
    "_native_batch_norm_legit_no_training",
    "_batch_norm_no_update",
)


def lowered(network: nn.Module, row: Tensor) -> Lowered:
    """A network as operations.

    Args:
        network: in evaluation mode, on the CPU.
        row: what it reads, of one row or image.

    Raises:
        UsageError: It does something that has no C form; the error names it.
    """
    plain: Any = copy.deepcopy(network)
    plain.to(memory_format=torch.contiguous_format)
    row = row.clone(memory_format=torch.contiguous_format)  # with a storage of its own
    trace = traced(plain, [row])
    found = _Lowering(trace)
    for time, call in enumerate(trace.calls):
        found.add(time, call)
    outputs = trace.outputs
    if not isinstance(outputs, Tensor) or not found.storages.depends(outputs):
        refuse("outputs that are no tensor that depends on what it reads")
    scores = found.written(outputs)
    given = view_of(trace.program.inputs[0], torch.arange(row.numel()).view(row.shape))
    return Lowered(tuple(found.operations), found.storages.buffers(), given, scores)


class _Lowering:
    """Operations so far.

    Args:
        trace: what the network does.
    """

    def __init__(self, trace: Trace) -> None:
        self.storages = Storages(trace)
        self.operations: list[Operation] = []

    def add(self, time: int, call: Call) -> None:
        """What torch was asked for as the operation number `time`."""
        result = call.found[0] if isinstance(call.found, tuple) else call.found
        if not isinstance(result, Tensor):
            refuse(f"the operation {call.name}")
        changes = call.name.endswith("_") and not call.name.endswith("__")
        name = call.name.rstrip("_") if changes else call.name
        if self.storages.is_known(result) and not changes:
            return  # a view
        if changes and result.numel() != self.storages.of(result).places.numel():
            refuse(f"the operation {call.name} on a part")
        if (name in FUNCTIONS and name not in ("times", "square")) or (
            name == "hardtanh" and call.arguments[1:] == (0.0, 6.0)
        ):
            self._function(time, call, "relu6" if name == "hardtanh" else name, result)
        elif name in _SAME:
            self._same(call, result)
        elif name in _PAIRS:
            self._pair(time, call, name, result)
        elif name in _BATCH_NORMS:
            self._batch_norm(time, call, result)
        elif name in ("native_layer_norm", "native_group_norm"):
            self._norm(time, call, name, result)
        elif name in LAYERS:
            self._layer(call, name, result)
        else:
            refuse(f"the operation {call.name}")

    def read(self, tensor: Tensor) -> View:
        """A tensor as an operation reads it."""
        stored = self.storages.of(tensor)
        if stored.norm is not None:
            refuse("a layer norm of what is read again, before something other than a linear layer")
        return view_of(stored.buffer, self.storages.places(tensor), stored.before)

    def written(self, tensor: Tensor) -> View:
        """A tensor as it stands, with all that was to be applied to it."""
        view = self.read(tensor)
        target = replace(view, before=())
        if view.before:
            self._apply(target, view.before)
        return target

    def _layer(self, call: Call, name: str, result: Tensor) -> None:
        """An operation with room of its own for what it makes."""
        self.storages.new(result)
        self.operations += LAYERS[name](self, call, result)

    def _same(self, call: Call, result: Tensor) -> None:
        operand = call.arguments[0]
        stored = self.storages.of(operand)
        self.storages.put(result, operand, stored.before, stored.norm)

    def _function(self, time: int, call: Call, name: str, result: Tensor) -> None:
        operand, *rest = call.arguments
        if name == "gelu" and call.named.get("approximate", "none") != "none":
            refuse("the approximation of gelu")
        number = float(rest[0]) if rest and name in _NUMBERED else _NUMBERED.get(name, 0.0)
        if name == "elu" and len(rest) > 1:
            refuse("elu with a scale")
        self._unary(time, operand, result, Function(name, number))

    def _unary(self, time: int, operand: Tensor, result: Tensor, function: Function) -> None:
        """A function where its operand stands or, if that is read again, as the result is read."""
        if self.storages.is_free(operand, result, time):
            target = self.written(operand)
            self.storages.put(result, operand)
            self._apply(target, (function,))
            return
        stored = self.storages.of(operand)
        if stored.norm is not None:
            refuse(f"{function.name} after a layer norm of what is read again")
        self.storages.put(result, operand, (*stored.before, function))

    def _apply(self, target: View, functions: Functions) -> None:
        """Functions where numbers stand, as a part of the operation that made them."""
        last = self._maker(target)
        if isinstance(last, Dense | Convolve | Combine | Apply | Scale | Normalise):
            self._replace(last, replace(last, after=(*last.after, *functions)))
        else:
            self.operations.append(Apply(target, functions))

    def _replace(self, old: Operation, new: Operation) -> None:
        place = next(k for k, one in enumerate(self.operations) if one is old)
        self.operations[place] = new

    def _maker(self, target: View) -> Operation | None:
        """The operation that has made exactly these numbers, if none has used its buffer since."""
        for one in reversed(self.operations):
            if not any(view.buffer == target.buffer for view in views_of(one)):
                continue
            made = one.target
            same = made.buffer == target.buffer and made.numbers == target.numbers
            return one if same and _equal(made, target) else None
        return None

    def _pair(self, time: int, call: Call, name: str, result: Tensor) -> None:
        first, second = call.arguments[:2]
        factor = float(call.named.get("alpha", 1))
        if "rounding_mode" in call.named:
            refuse("division with rounding")
        if not (self.storages.depends(first) and self.storages.depends(second)):
            self._with_constant(time, call, name, factor, result)
            return
        if factor != 1.0:
            refuse(f"{name} with a factor")
        if first is second and name in _TWICE:
            self._unary(time, first, result, _TWICE[name])
            return
        sides = [first.broadcast_to(result.shape), second.broadcast_to(result.shape)]
        buffer = self.storages.stands_in(result)
        owner = next((one for one in (first, second) if self._owns(one, buffer, result)), None)
        views = [self.read(side) for side in sides]
        if owner is None:
            if any(self.storages.of(one).buffer == buffer for one in (first, second)):
                refuse(f"{name} of numbers that stand where its result does")
            self.storages.new(result)
        else:
            if not self.storages.is_free(owner, result, time):
                refuse(f"{name} of parts of what is read again")
            self.storages.put(result, owner)
        target = self.read(result)
        for view in views:
            moved = (view.places != target.places).any()
            if view.buffer == target.buffer and moved and owner is None:
                refuse(f"{name} of numbers that stand where its result does")
        self.operations.append(Combine(views[0], views[1], target, name))

    def _owns(self, operand: Tensor, buffer: int, result: Tensor) -> bool:
        return operand.shape == result.shape and self.storages.of(operand).buffer == buffer

    def _with_constant(
        self, time: int, call: Call, name: str, factor: float, result: Tensor
    ) -> None:
        """A sum or product with what does not depend on the row."""
        first, second = call.arguments[:2]
        turned = not self.storages.depends(first)
        operand, other = (second, first) if turned else (first, second)
        known = array(torch.as_tensor(other).double().broadcast_to(result.shape))
        one, zero = np.ones_like(known), np.zeros_like(known)
        if name == "add":
            found = (factor * one, known) if turned else (one, factor * known)
        elif name == "sub":
            found = (-factor * one, known) if turned else (one, -factor * known)
        elif name == "mul":
            found = known, zero
        elif name == "div" and not turned:
            found = 1 / known, zero
        else:
            refuse(f"{name} with a constant")
        if operand.shape != result.shape:
            refuse(f"{name} with a larger constant")
        self._scale(time, operand, result, *found)

    def _batch_norm(self, time: int, call: Call, result: Tensor) -> None:
        operand, weight, bias, mean, variance = call.arguments[:5]
        epsilon = float(call.arguments[-1])
        trained = call.name == "native_batch_norm" and call.arguments[5]
        if trained or mean is None or variance is None:
            refuse("a batch norm that has no statistics of its own")
        scale = 1 / torch.sqrt(variance.double() + epsilon)
        scale = scale if weight is None else scale * weight.double()
        shift = -mean.double() * scale
        shift = shift if bias is None else shift + bias.double()
        shape = (1, -1) + (1,) * (operand.dim() - 2)
        whole = (array(each.view(shape).broadcast_to(result.shape)) for each in (scale, shift))
        self._scale(time, operand, result, *whole)

    def _scale(
        self, time: int, operand: Tensor, result: Tensor, scale: np.ndarray, shift: np.ndarray
    ) -> None:
        """Scale and shift have as many numbers as the operand, in its order."""
        if not self.storages.is_free(operand, result, time):
            refuse("a scaling, such as a batch norm, of what is read again")
        target = self.written(operand)
        self.storages.put(result, operand)
        last = self._maker(target)
        folded = _folded(last, scale, shift)
        if last is not None and folded is not None:
            self._replace(last, folded)
        else:
            shape = target.shape
            self.operations.append(Scale(target, scale.reshape(shape), shift.reshape(shape)))

    def _norm(self, time: int, call: Call, name: str, result: Tensor) -> None:
        """A layer norm of all numbers, or a group norm."""
        operand, over = call.arguments[:2]
        groups, place = 1, 2
        if name == "native_group_norm":
            groups, over, place = int(call.arguments[6]), operand.shape[1:], 1
        weight, bias, epsilon = *call.arguments[place : place + 2], float(call.arguments[-1])
        if list(over) != list(operand.shape[1:]):
            refuse("a layer norm that is not over all numbers of a row")
        if not self.storages.is_free(operand, result, time):
            before = self.storages.of(operand)
            if before.before or before.norm is not None or name == "native_group_norm":
                refuse("a norm of what is read again, after another function or of groups")
            ones, zeros = np.ones(operand.numel()), np.zeros(operand.numel())
            scale = ones if weight is None else array(weight).ravel()
            shift = zeros if bias is None else array(bias).ravel()
            self.storages.put(result, operand, (), Norm(epsilon, scale, shift))
            return
        target = self.written(operand)
        self.storages.put(result, operand)
        shape = (1, -1) + (1,) * (operand.dim() - 2) if groups > 1 or place == 1 else operand.shape
        ones, zeros = np.ones(target.shape), np.zeros(target.shape)
        scale = ones if weight is None else _spread(weight, shape, operand, target)
        shift = zeros if bias is None else _spread(bias, shape, operand, target)
        self.operations.append(Normalise(target, groups, epsilon, scale, shift))


def _equal(one: View, other: View) -> bool:
    return bool((one.places.ravel() == other.places.ravel()).all())


def _spread(weight: Tensor, shape: Sequence[int], operand: Tensor, target: View) -> np.ndarray:
    found: np.ndarray = array(weight.double().view(*shape).broadcast_to(operand.shape))
    return found.reshape(target.shape)


def _folded(last: Any, scale: np.ndarray, shift: np.ndarray) -> Operation | None:
    """A layer that gives scale times what it gave plus shift; None where it cannot."""
    if not isinstance(last, Dense | Convolve) or last.after:
        return None
    rows = scale.reshape(len(last.weights), -1), shift.reshape(len(last.weights), -1)
    if any((row != row[:, :1]).any() for row in rows):
        return None
    factors = rows[0][:, 0]
    weights = last.weights * factors.reshape(-1, *(1,) * (last.weights.ndim - 1))
    return replace(last, weights=weights, biases=last.biases * factors + rows[1][:, 0])
