"""What the time of a user's own network follows from: its layers, and operations between them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from meritnas.errors import SpaceError
from meritnas.families.built.pieces import Call, Layer
from meritnas.families.latency import Parts
from meritnas.families.part_times import written


@dataclass(frozen=True)
class Step:
    """What is timed once, wherever it runs.

    Attributes:
        what: a kind of layer, or one of torch's operations.
        given: a layer's settings; an operation's arguments, shapes in place of tensors.
        reads: the shape that a layer reads; None for an operation.
    """

    what: Any
    given: str
    reads: tuple[int, ...] | None = None


Steps = Mapping[str, Step]
"""By the name of the module that it runs in, and a number that counts what does."""


def steps_of(calls: Mapping[str, Layer | Call]) -> Steps:
    """What runs, without the tensors that it runs on."""
    return {
        name: _operation(call) if isinstance(call, Call) else Step(*call)
        for name, call in calls.items()
    }


def _operation(call: Call) -> Step:
    arguments = [written(list(call.arguments)), {k: written(v) for k, v in call.named.items()}]
    try:
        return Step(call.operation, json.dumps(arguments))
    except TypeError as error:
        raise SpaceError(
            f"the operation {call.operation} cannot be timed by itself ({error}); search without "
            "a limit on latency"
        ) from error


class OperationAlone(nn.Module):
    """Runs one operation on whatever tensors it is given.

    Args:
        step: which.
    """

    def __init__(self, step: Step) -> None:
        super().__init__()
        self._call = step.what
        self._arguments, self._named = json.loads(step.given)

    def forward(self, *tensors: Tensor) -> Any:
        """What it gives."""
        given = iter(tensors)
        arguments = [_filled(value, given, tensors[0]) for value in self._arguments]
        named = {name: _filled(value, given, tensors[0]) for name, value in self._named.items()}
        return self._call(*arguments, **named)

    def made_up(self) -> tuple[Tensor, ...]:
        """Tensors of the shapes that it reads."""
        values = [*self._arguments, *self._named.values()]
        return tuple(_zeros(one) for value in values for one in _shapes(value))


def _shapes(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for one in value:
            yield from _shapes(one)
    elif isinstance(value, dict) and "shape" in value:
        yield value


def _zeros(value: Mapping[str, Any]) -> Tensor:
    return torch.zeros(value["shape"], dtype=getattr(torch, value["dtype"]))


def _filled(value: Any, tensors: Iterator[Tensor], like: Tensor) -> Any:
    """An argument as torch takes it, from how it is written."""
    if isinstance(value, list):
        return [_filled(one, tensors, like) for one in value]
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        return next(tensors)
    return like.device if "device" in value else getattr(torch, value["torch"])


def timed_parts(
    networks: Iterable[tuple[tuple[int, ...], Steps]],
    built: Callable[[tuple[int, ...]], nn.Module],
) -> Parts[Step]:
    """What is to be timed, each step once.

    Args:
        networks: their answers, and what runs in each.
        built: the network of some answers, with weights.
    """
    found: dict[Step, tuple[nn.Module, Tensor | tuple[Tensor, ...]]] = {}
    wanted: dict[tuple[int, ...], list[Step]] = {}
    seen: set[Step] = set()
    for picks, steps in networks:
        for step in steps.values():
            if step in seen:
                continue
            seen.add(step)
            if step.reads is None:
                alone = OperationAlone(step)
                found[step] = (alone, alone.made_up())
            else:
                wanted.setdefault(picks, []).append(step)
    for picks, layers in wanted.items():
        made = {(type(m), m.extra_repr()): m for m in built(picks).modules()}
        for layer in layers:
            assert layer.reads is not None
            found[layer] = (made[layer.what, layer.given], torch.zeros(layer.reads))
    return found
