"""Networks in stages as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from meritnas.errors import SpaceError
from meritnas.families.convnet.network import LEAST_STAGES, NO, YES
from meritnas.wording import shortened

_STAGE = re.compile(r"([a-z][a-z0-9]*)\((\d+)x(\d+)\)")


@dataclass(frozen=True)
class StagesText:
    """`28x28 plain3(32x2) residual3(64x1)`: the size of images, then blocks(width x how many).

    Stages that are absent are not written.

    Attributes:
        unused: (how many blocks, which, how wide) of each stage where it is absent.
    """

    unused: tuple[tuple[str, str, str], ...]

    def format(self, options: Sequence[str]) -> str:
        """Parts joined by blanks."""
        stages = (f"{block}({width}x{depth})" for depth, block, width in self.stages(options))
        return " ".join([options[0], *stages])

    def stages(self, options: Sequence[str]) -> Iterator[tuple[str, str, str]]:
        """(how many blocks, which, how wide) of each stage that is there, the first one first."""
        rest = iter(options[1:])
        for number in range(len(self.unused)):
            if number >= LEAST_STAGES and next(rest) == NO:
                return
            yield next(rest), next(rest), next(rest)

    def parse(self, text: str) -> tuple[str, ...]:
        """The options by decision; those of stages that are not written are the unused ones."""
        size, *parts = text.split() or [""]
        found = [size]
        stages = [match.groups() for match in map(_STAGE.fullmatch, parts) if match]
        most = len(self.unused)
        least = min(LEAST_STAGES, most)
        if len(stages) < len(parts) or not least <= len(stages) <= most:
            raise SpaceError(
                f"'{shortened(text, 300)}' is no network of at least {least} and at most {most} "
                "stages, which is written like 28x28 plain3(32x2) residual3(64x1)"
            )
        for number, unused in enumerate(self.unused):
            there = number < len(stages)
            if number >= LEAST_STAGES:
                found.append(YES if there else NO)
            if there:
                block, width, depth = stages[number]
            else:
                depth, block, width = unused
            found += [depth, block, width]
        return tuple(found)
