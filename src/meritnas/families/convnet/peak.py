"""The memory that networks of stages need at once, as `families.live_memory` counts."""

from __future__ import annotations

import math

import numpy as np

from meritnas.cost.maximum import LargestSum
from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.convnet.blocks import BLOCKS, Block, squeezed, squeezed_channels
from meritnas.families.convnet.layout import Layout
from meritnas.families.live_memory import BYTES_A_NUMBER, PEAK_UNIT


def peak_cost(layout: Layout) -> LargestSum:
    """Of scaling, of each stage together with the width before it, and of the linear layer."""
    sizes = layout.sizes
    factors = [_scaling(layout)]
    for stage in range(layout.stages):
        factors += [_stage(layout, stage), _head(layout, stage)]
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


def _scaling(layout: Layout) -> Factor:
    """Of images that are scaled, before and after."""
    colours, *side = layout.image
    found = [
        0 if own == tuple(side) else colours * (math.prod(side) + math.prod(own))
        for own in layout.sides(0)
    ]
    return Factor((0,), BYTES_A_NUMBER * np.array(found, dtype=np.int64))


def _stage(layout: Layout, stage: int) -> Factor:
    """Of a stage's blocks and of the pooling before it; nothing where it is absent."""
    depths, names, widths = layout.numbers(stage)
    befores, areas = layout.befores(stage), [math.prod(side) for side in layout.sides(stage)]
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
                    table[:, k, d, b, w] = np.maximum(begun, rest) if depth > 1 else begun
    place = layout.place(stage)
    own = (place, place + 1, place + 2)
    if stage == 0:
        return layout.there(stage, (0, *own), BYTES_A_NUMBER * table[:, 0])
    larger = [math.prod(side) for side in layout.sides(stage - 1)]
    halving = np.outer(np.add(larger, areas), befores)
    table = np.maximum(table, halving[:, :, None, None, None])
    before = layout.place(stage - 1) + 2
    return layout.there(stage, (0, before, *own), BYTES_A_NUMBER * table)


def _head(layout: Layout, stage: int) -> Factor:
    """Of the mean and the linear layer after a stage, if it is the last that is there."""
    _, _, widths = layout.numbers(stage)
    channels = np.array(widths, dtype=np.int64)
    areas = np.array([math.prod(side) for side in layout.sides(stage)])
    ends = np.maximum(np.outer(areas + 1, channels), channels[None] + layout.classes)
    return layout.ends(stage, (0, layout.place(stage) + 2), BYTES_A_NUMBER * ends)
