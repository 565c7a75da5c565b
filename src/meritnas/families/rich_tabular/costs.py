"""What networks for tables cost, counted: weights, multiply-adds, bytes of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.int8_weights import UNIT, header_bytes, tensor_bytes
from meritnas.families.rich_tabular.layout import Layout, Size
from meritnas.families.rich_tabular.network import MEMBERS, WIDTH
from meritnas.families.stored_size import BYTES_A_WEIGHT, entry_bytes, file_bytes

_FIRST = f"{WIDTH}1"

Tensors = Callable[[str, Sequence[int]], int]
"""What a tensor of this name and shape costs."""


def params_cost(layout: Layout) -> CostTerms:
    """Weights of all kinds."""
    numbers, outputs = layout.inputs.numbers, layout.outputs
    factors = [
        layout.factor(lambda width: (numbers + 1) * width, _FIRST),
        *layout.entering(lambda size, width: size.features * width + size.params),
        layout.factor(lambda members, width: (members - 1) * width, MEMBERS, _FIRST),
        *_layers(layout, lambda before, width: (before + 1) * width),
        *_heads(layout, lambda members, width: members * width * outputs),
    ]
    return CostTerms(layout.sizes, outputs, tuple(factors), "parameters")


def flops_cost(layout: Layout) -> CostTerms:
    """Multiply-adds of linear layers; those after the first are run for each member."""
    numbers, outputs = layout.inputs.numbers, layout.outputs
    factors = [
        layout.factor(lambda width: numbers * width, _FIRST),
        *layout.entering(lambda size, width: size.features * width),
        *_layers(layout, lambda members, before, width: members * before * width, MEMBERS),
        *_heads(layout, lambda members, width: members * width * outputs),
    ]
    return CostTerms(layout.sizes, 0, tuple(factors), "multiply-adds")


def size_cost(layout: Layout) -> CostTerms:
    """Bytes of a file, with an upper bound for what its header says about its text."""
    params = params_cost(layout)
    whole = params.scaled(BYTES_A_WEIGHT, file_bytes(len(layout.names)), "kB as stored", 1000)
    factors = (*whole.factors, *_of_tensors(layout, entry_bytes))
    return CostTerms(whole.sizes, whole.constant, factors, whole.unit, whole.a_unit)


def int8_size_cost(layout: Layout) -> CostTerms:
    """Bytes of the file of 8-bit weights (`families.int8_weights`)."""

    def stored(name: str, shape: Sequence[int]) -> int:
        return tensor_bytes(*shape, name=name)

    factors = tuple(_of_tensors(layout, stored))
    return CostTerms(layout.sizes, header_bytes(), factors, *UNIT)


def _layers(layout: Layout, amount: Callable[..., int], *more: str) -> Iterator[Factor]:
    for number in layout.layers:
        names = (*more, f"{WIDTH}{number - 1}", f"{WIDTH}{number}")
        yield layout.of_layer(number, amount, *names)


def _heads(layout: Layout, amount: Callable[[int, int], int]) -> Iterator[Factor]:
    for number in (1, *layout.layers):
        yield layout.of_last(number, amount, MEMBERS, f"{WIDTH}{number}")


def _of_tensors(layout: Layout, of: Tensors) -> Iterator[Factor]:
    """What tensors cost, by their names and shapes."""

    def first(width: int) -> int:
        numbers = layout.inputs.numbers
        weight = of("first.weight", [width, numbers]) if numbers else 0
        return weight + of("first.bias", [width])

    def scale(members: int, width: int) -> int:
        return of("members.scale", [members - 1, width]) if members > 1 else 0

    def part(size: Size, width: int) -> int:
        shapes = [(name, (width, *s[1:]) if name == "weight" else s) for name, s in size.shapes]
        return sum(of(f"first.parts.{size.place}.{name}", s) for name, s in shapes)

    yield layout.factor(first, _FIRST)
    yield from layout.entering(part)
    yield layout.factor(scale, MEMBERS, _FIRST)
    for number in layout.layers:
        yield layout.of_layer(
            number,
            partial(_of_layer, of, "rest." * (number - 1)),
            *(f"{WIDTH}{number - 1}", f"{WIDTH}{number}"),
        )
    for number in (1, *layout.layers):
        named = partial(_of_head, of, "rest." * number, layout.outputs)
        yield layout.of_last(number, named, MEMBERS, f"{WIDTH}{number}")


def _of_layer(of: Tensors, place: str, before: int, width: int) -> int:
    return of(f"{place}linear.weight", [width, before]) + of(f"{place}linear.bias", [width])


def _of_head(of: Tensors, place: str, outputs: int, members: int, width: int) -> int:
    return of(f"{place}weight", [outputs, members, width]) + of(f"{place}bias", [outputs])
