"""Networks for tables as a build function: what is asked, in which order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from torch import nn

import meritnas.nn as mn
from meritnas.data.columns.inputs import TableInputs
from meritnas.families.rich_tabular.child import Body, Deeper, Fresh
from meritnas.families.rich_tabular.entries import Entry
from meritnas.families.rich_tabular.sliced import first_layer, head, member_layer, part, shortcut

WIDTH, MEMBERS, LAYER, SHORTCUT = "width", "members", "layer", "shortcut"
"""Decisions; those about one layer are followed by its number, from 1."""

NO, YES = "no", "yes"


def rich_network(
    pick: mn.Pick,
    inputs: TableInputs,
    outputs: int,
    *,
    entries: Sequence[Entry],
    widths: Sequence[Sequence[int]],
    members: Sequence[int],
    shortcuts: bool,
) -> nn.Module:
    """A network for tables.

    A first layer reads all columns, each in a way of its own; up to so many layers follow, each
    with a width and perhaps a shortcut of its own; several members may share all that.

    Args:
        pick: is asked.
        inputs: the columns.
        outputs: how many numbers come out.
        entries: the decisions about columns.
        widths: of each layer, at most so many layers.
        members: how many there may be.
        shortcuts: whether layers after the first may have shortcuts.
    """
    width = pick.width(f"{WIDTH}1", *widths[0])
    parts = {str(k): _entering(pick, entry, width) for k, entry in enumerate(entries)}
    count = pick.width(MEMBERS, *members) if len(members) > 1 else members[0]

    def rest(number: int, before: Any) -> nn.Module:
        """What follows layer `number`."""

        def ending() -> nn.Module:
            return head(count, before, outputs)

        def deeper() -> nn.Module:
            width = pick.width(f"{WIDTH}{number + 1}", *widths[number])
            join: Any = Fresh
            if shortcuts:
                join = pick.one(
                    f"{SHORTCUT}{number + 1}", **{NO: Fresh, YES: partial(shortcut, width)}
                )
            linear, made = mn.Linear(before, width), join()
            return Deeper(linear, _norm(width), made, rest(number + 1, width))

        if number == len(widths):
            return ending()
        found: nn.Module = pick.one(f"{LAYER}{number + 1}", **{NO: ending, YES: deeper})()
        return found

    first = first_layer(inputs.numbers, parts, width)
    return Body(first, member_layer(count, width), _norm(width), rest(1, width))


def _entering(pick: mn.Pick, entry: Entry, width: Any) -> nn.Module:
    ways = {way.option: partial(part, way.kind, way.told, width) for way in entry.ways}
    found: nn.Module = pick.one(entry.name, **ways)()
    return found


def _norm(width: Any) -> nn.Module:
    return mn.LayerNorm(width, elementwise_affine=False)
