"""What a build function gets for a decided number while the supernet is built."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeAlias

from meritnas.errors import SpaceError

Units = Mapping[str, int]
"""The widths of a network by the names of their decisions."""


class Decided:
    """A number or a thing that differs from network to network, while all of them are built.

    It can be handed to layers of `meritnas.nn`; nothing can be asked of it.
    """

    names: tuple[str, ...] = ()
    way_out = "give it to a layer of meritnas.nn"

    def _refuse(self, *_: object) -> NoReturn:
        name = " and ".join(f"'{name}'" for name in self.names)
        raise SpaceError(
            f"the answer to {name} is not known while all networks are built at once; "
            f"{self.way_out}"
        )

    __bool__ = __int__ = __float__ = __index__ = __len__ = __iter__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __getitem__ = _refuse
    __eq__ = __ne__ = _refuse
    __hash__ = object.__hash__


class Width(Decided):
    """How many units a layer has: a decision, or what was computed from some.

    Args:
        names: the decisions that it depends on.
        at: widths by decision -> the number of units.
    """

    way_out = (
        "give widths to layers of meritnas.nn (mn.Linear in place of nn.Linear, mn.Conv2d, "
        "mn.LayerNorm, ...), compute with them by + * // only, and take sizes from the tensors "
        "(x.shape) in forward"
    )

    def __init__(self, names: tuple[str, ...], at: Callable[[Units], int]) -> None:
        self.names = names
        self.at = at

    def _with(self, other: Any, function: Callable[[int, int], int], swap: bool = False) -> Width:
        if not isinstance(other, Width | int):
            self._refuse()
        names = (*self.names, *(other.names if isinstance(other, Width) else ()))

        def at(units: Units) -> int:
            pair = self.at(units), extent(other, units)
            return function(*reversed(pair)) if swap else function(*pair)

        return Width(tuple(dict.fromkeys(names)), at)

    def __add__(self, other: Any) -> Width:
        return self._with(other, operator.add)

    def __radd__(self, other: Any) -> Width:
        return self._with(other, operator.add, swap=True)

    def __sub__(self, other: Any) -> Width:
        return self._with(other, operator.sub)

    def __mul__(self, other: Any) -> Width:
        return self._with(other, operator.mul)

    def __rmul__(self, other: Any) -> Width:
        return self._with(other, operator.mul, swap=True)

    def __floordiv__(self, other: Any) -> Width:
        return self._with(other, operator.floordiv)


Size: TypeAlias = "int | Width"
"""A number of units, decided or not."""


def extent(size: Size, units: Units) -> int:
    """A size where widths are these."""
    return size.at(units) if isinstance(size, Width) else size


def maximum(one: Any, other: Any) -> Any:
    """The larger of two numbers of units, decided or not."""
    if isinstance(other, Width):
        one, other = other, one
    return one._with(other, max) if isinstance(one, Width) else max(one, other)


class Depth(Decided):
    """How many blocks run."""

    way_out = "write mn.Stack(depth, make_block) for blocks of which so many run"

    def __init__(self, name: str, depths: tuple[int, ...]) -> None:
        self.names = (name,)
        self.depths = depths
