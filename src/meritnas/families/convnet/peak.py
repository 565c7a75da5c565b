"""The memory that networks of stages need at once, as `families.live_memory` counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.convnet.blocks import BLOCKS, Block, squeezed, squeezed_channels
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT

if TYPE_CHECKING:
    from meritnas.families.convnet.family import ConvnetSpace


def peak_cost(family: ConvnetSpace) -> LargestSum:
    """Of scaling, of each stage together with the width before it, and of the linear layer."""
    sizes = family.space.sizes
    factors = [_scaling(family)]
    for stage in range(family.stages):
        factors += [_stage(family, stage), _head(family, stage)]
    moments = tuple(CostTerms(sizes, 0, (factor,), PEAK_UNIT, 1000) for factor in factors)
    return LargestSum(sizes, moments, PEAK_UNIT, 1000)


def block_moments(block: Block, inputs: int, width: int, first: bool) -> list[tuple[int, int]]:
    """(channels, single numbers) that are alive at each operation that makes something new.

    Args:
        block: which one.
        inputs: channels that come in.
        width: channels that go out.
        first: whether it is the first of a stage, whose shortcut is a convolution, if it has one.
    """
    squeezing = squeezed_channels(block, width)
    beside = squeezing + squeezed(squeezing) if squeezing else 0
    if block.kind == "plain":
        return [(inputs + width, 0), (width, beside)]
    if block.kind == "residual":  # what comes in is there until the end
        return [(inputs + 2 * width, 0), (inputs + width, beside)]
    inside = block.expansion * width
    kept = 0 if first else inputs
    return [
        (inputs + inside, 0),
        (kept + 2 * inside, 0),
        (kept + inside, beside),
        (kept + inside + width, 0),
    ]


def _scaling(family: ConvnetSpace) -> Factor:
    """Of images that are scaled, before and after."""
    colours, *side = family.image
    found = [
        0 if own == tuple(side) else colours * (math.prod(side) + math.prod(own))
        for own in family.sides(0)
    ]
    return Factor((0,), BYTES_A_NUMBER * np.array(found, dtype=np.int64))


def _stage(family: ConvnetSpace, stage: int) -> Factor:
    """Of a stage's blocks and of the pooling before it; nothing where it is absent."""
    depths, names, widths = family.numbers(stage)
    befores, areas = family.befores(stage), [math.prod(side) for side in family.sides(stage)]
    table = np.zeros(
        (len(areas), len(befores), len(depths), len(names), len(widths)), dtype=np.int64
    )

    def largest(name: str, inputs: int, width: int, first: bool) -> np.ndarray:
        moments = block_moments(BLOCKS[name], inputs, width, first)
        return np.max([[c * area + n for area in areas] for c, n in moments], axis=0)

    for b, name in enumerate(names):
        for w, width in enumerate(widths):
            rest = largest(name, width, width, False)
            for k, before in enumerate(befores):
                begun = largest(name, before, width, True)
                for d, depth in enumerate(depths):
                    if depth:
                        table[:, k, d, b, w] = np.maximum(begun, rest) if depth > 1 else begun
    place = 1 + 3 * stage
    if stage == 0:
        return Factor((0, place, place + 1, place + 2), BYTES_A_NUMBER * table[:, 0])
    larger = [math.prod(side) for side in family.sides(stage - 1)]
    halving = np.outer(np.add(larger, areas), befores)
    there = np.array([depth > 0 for depth in depths])
    halved = halving[:, :, None] * there[None, None, :]
    table = np.maximum(table, halved[:, :, :, None, None])
    return Factor((0, place - 1, place, place + 1, place + 2), BYTES_A_NUMBER * table)


def _head(family: ConvnetSpace, stage: int) -> Factor:
    """Of the mean and the linear layer after a stage, if it is the last that is there."""
    depths, _, widths = family.numbers(stage)
    channels = np.array(widths, dtype=np.int64)
    areas = np.array([math.prod(side) for side in family.sides(stage)])
    ends = np.maximum(np.outer(areas + 1, channels), channels[None] + family.classes)
    there = np.array([depth > 0 for depth in depths])
    table = ends[:, None, :] * there[None, :, None]
    place = 1 + 3 * stage
    if stage + 1 == family.stages:
        return Factor((0, place, place + 2), BYTES_A_NUMBER * table)
    last = np.array([depth == 0 for depth in family.numbers(stage + 1)[0]])
    table = table[:, :, :, None] * last[None, None, None, :]
    return Factor((0, place, place + 2, place + 3), BYTES_A_NUMBER * table)
