"""Networks of cells and heads as text, and the rule on what goes together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from meritnas.errors import SpaceError
from meritnas.families.fusion.joint_child import ALL, CELLS, EACH, MEAN, SUM
from meritnas.families.fusion.text import NONE, FusionText
from meritnas.space.decision import Decision
from meritnas.space.rule import Levels, OrderedRule, Rule, both, of_equal_size
from meritnas.wording import did_you_mean, shortened

ON = "on"
"""The option of the decision on cells that has them."""

WAYS = (SUM, MEAN, SUM + EACH, MEAN + EACH)
"""How cells and heads become one, and whether heads learn by themselves."""

_TAIL = re.compile(r"(?:^|\+)\s*((?:sum|mean)(?:-each)?)\s*\(([^()]*)\)\s*$")
_HEAD = re.compile(r"\s*(.*?)\s*([:=])\s*(\d{1,5})\s*")


def has_heads(text: str) -> bool:
    """Whether a network that is written like this has heads."""
    return _TAIL.search(text) is not None


@dataclass(frozen=True)
class JointText:
    """`cell1(image.0, sound.0): step1 = glu(x, y) + mean-each(image: 16, sound: 32, all=64)`.

    What has no heads is written as cells are, and what has no cells by its heads alone.

    Attributes:
        fusion: how cells are written.
        heads: the names of modalities with a head, and `all`, in the decisions' order.
        absent: the options of cells where there are none.
    """

    fusion: FusionText
    heads: tuple[str, ...]
    absent: tuple[str, ...]

    def format(self, options: Sequence[str]) -> str:
        """Cells, then heads."""
        return "".join(self.lines(options))

    def lines(self, options: Sequence[str]) -> list[str]:
        """The same, a cell a line."""
        count = len(self.absent)
        cells = self.fusion.lines(options[:count]) if options[count] == ON else []
        tail = self.tail(options)
        if cells and tail:
            return [*cells[:-1], f"{cells[-1]} + ", tail]
        return cells or [tail]

    def tail(self, options: Sequence[str]) -> str:
        """The heads; empty where there are none."""
        widths = options[len(self.absent) + 1 : -1]
        written = [
            f"{name}={width}" if name == ALL and k + 1 == len(self.heads) else f"{name}: {width}"
            for k, (name, width) in enumerate(zip(self.heads, widths, strict=True))
            if width != NONE
        ]
        return f"{options[-1]}({', '.join(written)})" if written else ""

    def parse(self, text: str) -> tuple[str, ...]:
        """The options by decision."""
        found = _TAIL.search(text)
        if found is None:
            return (*self.fusion.parse(text), ON, *[NONE] * len(self.heads), SUM)
        cells = text[: found.start()]
        own = (*self.fusion.parse(cells), ON) if cells.strip() else (*self.absent, NONE)
        return (*own, *self._widths(found[2], text), found[1])

    def _widths(self, inside: str, text: str) -> list[str]:
        widths = dict.fromkeys(range(len(self.heads)), NONE)
        for piece in inside.split(","):
            match = _HEAD.fullmatch(piece)
            own = self.heads[-1:] if match and match[2] == "=" else self.heads[:-1]
            if match is None or match[1] not in own:
                name = match[1] if match else piece.strip()
                raise SpaceError(
                    f"'{shortened(text, 300)}' has no head '{shortened(piece.strip(), 100)}';"
                    f"{did_you_mean(name, self.heads)} heads are written like {ALL}=32, "
                    f"those of modalities like {self.heads[0]}: 16"
                )
            widths[own.index(match[1]) if match[2] == ":" else len(self.heads) - 1] = match[3]
        return list(widths.values())


def longest_tail(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A text that none of heads is longer than.

    Args:
        heads: their names.
        rows: the options of each.
    """
    widths = [max(row, key=len) for row in rows]
    written = [f"{name}: {width}" for name, width in zip(heads, widths, strict=True)]
    return f"{max(WAYS, key=len)}({', '.join(written)})"


@dataclass(frozen=True)
class JointRule:
    """Cells keep their own rule; something must speak; what changes nothing is as it is first.

    Where there are no cells, decisions on them have the options `absent`; where one part speaks
    alone there is nothing to join, and that is `sum`. So no network is in the space twice.

    Attributes:
        cells: the rule of cells, which leaves later decisions free.
        absent: the options of cells where there are none.
    """

    cells: Rule
    absent: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"{self.cells}; there must be {CELLS} or a head; where there are no cells, decisions "
            f"on them are as in ({', '.join(self.absent)}), and one part alone is joined by {SUM}"
        )

    def order(self, decisions: int) -> tuple[int, ...]:
        """As the rule of cells reads them."""
        if isinstance(self.cells, OrderedRule):
            return self.cells.order(decisions)
        return tuple(range(decisions))

    def levels(self, decisions: Sequence[Decision]) -> Levels:
        """Whether cells are as absent ones so far; then how many parts speak, up to two."""
        order, count, last = self.order(len(decisions)), len(self.absent), len(decisions) - 1
        found = []
        for number in order:
            names = [option.name for option in decisions[number].options]
            if number < count:
                kept = [0 if name == self.absent[number] else 1 for name in names]
                found.append(np.array([kept, [1] * len(names)]))
            elif number == count:
                found.append(np.array([[int(name == ON) for name in names]] * 2))
                found[-1][1, [k for k, name in enumerate(names) if name != ON]] = -1
            elif number < last:
                more = np.array([int(name != NONE) for name in names])
                found.append(np.minimum(np.arange(3)[:, None] + more, 2))
            else:
                alone = [0 if name == SUM else -1 for name in names]
                found.append(np.array([[-1] * len(names), alone, [0] * len(names)]))
        return both(self.cells.levels(decisions), of_equal_size(found))
