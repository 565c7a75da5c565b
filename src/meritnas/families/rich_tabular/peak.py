"""The memory that networks for tables need at once, as `families.live_memory` counts."""

from __future__ import annotations

from collections.abc import Iterator

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT
from meritnas.families.rich_tabular.layout import Layout
from meritnas.families.rich_tabular.network import MEMBERS, SHORTCUT, WIDTH

_FIRST = f"{WIDTH}1"


def peak_cost(layout: Layout) -> LargestSum:
    """Of what the first layer reads, of its product, and of each layer's; norms take no more."""
    moments = []
    for constant, factors in _moments(layout):
        own = CostTerms(layout.sizes, constant, tuple(factors), PEAK_UNIT, 1000)
        moments.append(own.scaled(BYTES_A_NUMBER, 0, PEAK_UNIT, 1000))
    return LargestSum(layout.sizes, tuple(moments), PEAK_UNIT, 1000)


def _moments(layout: Layout) -> Iterator[tuple[int, list[Factor]]]:
    """(numbers that are alive in any case, what else is) at each moment that may be the largest."""
    numbers, outputs = layout.inputs.numbers, layout.outputs
    # Features of columns are put together with the numbers, while all of these are there.
    together = list(layout.entering(lambda size, _: 2 * size.features))
    yield layout.columns + numbers, together
    first = layout.factor(lambda width: width, _FIRST)
    yield numbers, [first, *layout.entering(lambda size, _: size.features)]

    def made(members: int, width: int) -> int:
        return (1 + members) * width if members > 1 else 0

    def layer(shortcut: bool, members: int, before: int, width: int) -> int:
        padded = shortcut and before < width
        return members * (before + width + (width if padded else 0))

    def answer(members: int, width: int) -> int:
        return members * width + outputs

    yield 0, [layout.factor(made, MEMBERS, _FIRST)]
    for number in layout.layers:
        widths = (f"{WIDTH}{number - 1}", f"{WIDTH}{number}")
        yield 0, [layout.of_layer(number, layer, f"{SHORTCUT}{number}", MEMBERS, *widths)]
    for number in (1, *layout.layers):
        yield 0, [layout.of_last(number, answer, MEMBERS, f"{WIDTH}{number}")]
