"""Which networks for several modalities are searched, written down without torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self, get_args

from meritnas.errors import SpaceError, UsageError, told
from meritnas.families.presets.modalities import fusion_cells, fusion_recipe
from meritnas.plugins import importable_name, is_own, load_own
from meritnas.settings.fields import shown
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec
from meritnas.wording import did_you_mean

if TYPE_CHECKING:
    from meritnas.families.fusion.family import FusionSpace
    from meritnas.families.fusion.joint import JointSpace

Operations = Literal["all", "normal", "sparse", "bm-nas"]

CONV = "conv"
"""The name of the small backbone for images."""

_SIZE = shown(usual="by preset", least=1, most=10_000)
_MOST_PARTS = 20
"""Of cells, and of steps in one."""

_MOST_STEPS = 1000
"""Of FISTA."""


class FusionInputs(Protocol):
    """What comes into networks for several modalities."""

    @property
    def modalities(self) -> Mapping[str, Sequence[tuple[int, ...]]]:
        """The shapes of each modality's features, by its name."""
        ...

    @property
    def pictures(self) -> Sequence[str]:
        """The modalities that are pictures, which have a small backbone unless told otherwise."""
        ...


_MOST = 50
"""Cells, and steps, of a network that is given as text."""


@dataclass(frozen=True)
class Fusion(SpaceSpec):
    """Networks for several modalities: which features to join, and by which operations.

    Attributes:
        channels: Of every joined state.
        length: Positions of every joined state; usually 16 where pictures have them and limits
            allow it, else 4.
        cells: In all.
        steps: Inner steps of a fusion cell.
        operations: What steps choose from: all, normal, sparse or bm-nas.
        shared: Both inputs of a cell are one mixture while searching.
        unimodal_only: Cells join features only, not what earlier cells gave.
        new_inputs: Each cell reads a feature that no cell before it reads, while there is one.
        heads: Whether modalities may answer by themselves, too, and all of them by one hidden
            layer; what they say and what cells say is summed, or chances averaged.
        sparsity: lambda_1 of sparse operations.
        fista_steps: How often sparse operations improve a code.
        backbones: Networks that read a modality first and are trained along, by its name: conv,
            or what makes one, module:function.
    """

    name: ClassVar[str] = "fusion"
    data: ClassVar[str] = "modalities"
    networks: ClassVar[str] = "fusion networks"

    channels: int | None = field(default=None, metadata=_SIZE)
    length: int | None = field(default=None, metadata=_SIZE)
    cells: int | None = field(
        default=None, metadata=shown(usual="by preset", least=1, most=_MOST_PARTS)
    )
    steps: int = field(default=1, metadata=shown(least=1, most=_MOST_PARTS))
    operations: Operations = field(default="all", metadata=shown(metavar="NAME"))
    shared: bool = False
    unimodal_only: bool = False
    new_inputs: bool = True
    heads: bool | None = field(
        default=None, metadata=shown(usual="by preset; not where memory is limited")
    )
    sparsity: float | None = field(default=None, metadata=shown(usual="by preset"))
    fista_steps: int | None = field(
        default=None, metadata=shown(usual="by preset", least=1, most=_MOST_STEPS)
    )
    backbones: Mapping[str, str | Callable[[], Any]] = field(
        default_factory=dict, hash=False, metadata=shown(flag="backbone", metavar="NAME=BACKBONE")
    )

    def __post_init__(self) -> None:
        if isinstance(self.operations, str) and self.operations not in get_args(Operations):
            known = get_args(Operations)
            raise SpaceError(
                f"operations must be {', '.join(known)} or a list of names, got "
                f"{told(self.operations)};{did_you_mean(self.operations, known)}"
            )
        super().__post_init__()
        if self.sparsity is not None and not 0 <= self.sparsity < math.inf:
            raise UsageError(f"sparsity must be at least 0 and finite, got {self.sparsity}")
        named = {each: importable_name(own, "backbone") for each, own in self.backbones.items()}
        object.__setattr__(self, "backbones", named)

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """As SM-ShapNAS has it on MM-IMDB, or quickly."""
        del partial_channels
        chosen = name or "quick"
        recipe = fusion_recipe(chosen, facts.rows)
        usual: dict[str, Any] = {"channels": recipe.channels, "length": recipe.length}
        usual |= {"sparsity": recipe.sparsity, "fista_steps": recipe.fista_steps}
        usual["heads"] = recipe.heads
        usual["cells"] = fusion_cells(chosen, facts.parts)
        open_sizes = {size: n for size, n in usual.items() if getattr(self, size) is None}
        return recipe.preset(self.with_options(**open_sizes), finalists=3, threads=1)

    def build(
        self, inputs: FusionInputs, outputs: int, limits: Mapping[str, int]
    ) -> FusionSpace | JointSpace:
        """Networks for such modalities; pictures have a small backbone unless given another."""
        from meritnas.families.fusion.joint import joint_space
        from meritnas.families.fusion.positions import with_positions

        if self.length is None:
            found = with_positions(partial(self._cells, inputs, outputs), limits)
        else:
            found = self._cells(inputs, outputs, self.length)
        heads = "peak" not in limits if self.heads is None else self.heads
        return joint_space(found) if heads else found

    def _cells(self, inputs: FusionInputs, outputs: int, length: int) -> FusionSpace:
        """The cells, whose features have so many positions."""
        from meritnas.families.fusion.family import fusion_space

        sizes: dict[str, Any] = {"channels": self.channels, "cells": self.cells}
        sizes |= {"l1": self.sparsity, "fista_steps": self.fista_steps}
        given = {name: _backbone(str(own)) for name, own in self.backbones.items()}
        chosen = {name: size for name, size in sizes.items() if size is not None}
        return fusion_space(
            inputs.modalities,
            outputs,
            length=length,
            steps=self.steps,
            operations=self.operations,
            shared=self.shared,
            unimodal_only=self.unimodal_only,
            new_inputs=self.new_inputs,
            backbones={**dict.fromkeys(inputs.pictures, CONV), **given},
            **chosen,
        )

    @property
    def own_names(self) -> frozenset[str]:
        """The backbones that are a user's own."""
        return frozenset(name for name in map(str, self.backbones.values()) if is_own(name))

    def shared_weights(self, family: FusionSpace | JointSpace) -> int:
        """Those of all operations of all steps."""
        return family.costs["params"].of_all

    def remarks(self, limits: Mapping[str, int]) -> tuple[str, ...]:
        """That there are no heads where nobody said so, and memory is limited."""
        if self.heads is not None or "peak" not in limits:
            return ()
        return (
            "modalities do not answer by themselves (heads) where memory is limited, because what "
            "networks with heads take is known network by network; a limit on parameters or size "
            "leaves heads in, --no-heads leaves this out",
        )

    def check_reading(self, reading: Any) -> None:
        """Complain about a modality with two backbones, one trained along and one frozen."""
        twice = sorted(set(self.backbones) & set(reading.frozen_backbones))
        if twice:
            raise UsageError(
                f"the backbone of '{twice[0]}' is either trained along or frozen; give one of them"
            )

    def of_architecture(self, text: str) -> Self:
        """Cells, steps and heads as the text has them, where nobody gave others; any inputs."""
        from meritnas.families.fusion.joint_text import has_heads

        cells = [part for part in text.split("+") if "cell" in part.partition("(")[0]] or [text]
        steps = len(cells[0].split(";"))
        if max(len(cells), steps) > _MOST:
            raise UsageError(
                f"a fusion network that is given has at most {_MOST} cells of {_MOST} steps, got "
                f"{len(cells):,} cells of {steps:,} steps"
            )
        return replace(
            self,
            heads=True if self.heads is None and has_heads(text) else self.heads,
            cells=self.cells or len(cells),
            steps=steps if self.steps == 1 else self.steps,
            new_inputs=False,
        )


def _backbone(name: str) -> Any:
    """What makes a network that is trained along; `conv` and the like by name."""
    return load_own(name, "backbone") if is_own(name) else name
