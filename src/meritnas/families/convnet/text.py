"""Networks in stages as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError
from meritnas.wording import shortened

_STAGE = re.compile(r"([a-z][a-z0-9]*)\((\d+)x(\d+)\)")
NO_STAGE = "0"


@dataclass(frozen=True)
class StagesText:
    """`28x28 plain3(32x2) residual3(64x1)`: the size of images, then blocks(width x how many).

    Stages that are absent are not written.

    Attributes:
        unused: (block, width) of each stage where it is absent.
    """

    unused: tuple[tuple[str, str], ...]

    def format(self, options: Sequence[str]) -> str:
        """Parts joined by blanks."""
        size, *rest = options
        stages = zip(rest[::3], rest[1::3], rest[2::3], strict=True)
        there = [f"{block}({width}x{n})" for n, block, width in stages if n != NO_STAGE]
        return " ".join([size, *there])

    def parse(self, text: str) -> tuple[str, ...]:
        """The options by decision; those of stages that are not written are the unused ones."""
        size, *parts = text.split() or [""]
        found = [size]
        for part in parts:
            stage = _STAGE.fullmatch(part)
            if stage is None or len(found) > 3 * len(self.unused):
                raise SpaceError(
                    f"'{shortened(text, 300)}' is no network of at most {len(self.unused)} stages, "
                    "which is written like 28x28 plain3(32x2) residual3(64x1)"
                )
            block, width, depth = stage.groups()
            found += [depth, block, width]
        for block, width in self.unused[len(parts) :]:
            found += [NO_STAGE, block, width]
        return tuple(found)
