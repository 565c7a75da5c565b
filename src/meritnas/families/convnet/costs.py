"""What networks of stages cost: parameters, multiply-adds, the size of their file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch

from meritnas.cost.terms import CostTerms, Factor
from meritnas.families.convnet import blocks
from meritnas.families.convnet.blocks import BLOCKS
from meritnas.families.convnet.layout import Layout
from meritnas.families.convnet.network import Side, make_block
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, tensor_bytes
from meritnas.families.stored_size import BYTES_A_WEIGHT, entry_bytes, file_bytes

_WIDEST = 999
"""No stage is wider, as far as digits in a file's header go."""

_BYTES_A_COUNT = 8

BlockCost = Callable[[str, int, int, bool, Sequence[Side], int], np.ndarray]
"""Of (block, channels that come in, that go out, whether it is the first, sizes of images, stage),
for each size."""


def counted_costs(layout: Layout) -> dict[str, CostTerms]:
    """All costs that need no measurement, exact."""
    sizes, classes = layout.sizes, layout.classes
    params = stage_factors(layout, _parameters, lambda width: width * classes)
    flops = stage_factors(layout, _multiply_adds, lambda width: width * classes, areas=True)
    size = stage_factors(layout, _stored_bytes, lambda width: BYTES_A_WEIGHT * width * classes)
    int8 = stage_factors(layout, _int8_bytes, lambda width: tensor_bytes(classes, width))
    rest = file_bytes(len(sizes)) + BYTES_A_WEIGHT * classes
    within = "rest." * (1 + layout.stages)
    rest += entry_bytes(f"{within}output.weight", (classes, _WIDEST))
    rest += entry_bytes(f"{within}output.bias", (classes,))
    return {
        "params": CostTerms(sizes, classes, params, "parameters"),
        "flops": CostTerms(sizes, classes, flops, "multiply-adds"),
        "size": CostTerms(sizes, rest, size, "kB as stored", 1000),
        INT8_SIZE: CostTerms(sizes, header_bytes() + tensor_bytes(classes), int8, *UNIT),
    }


def stage_factors(
    layout: Layout, cost: BlockCost, output: Callable[[int], int], areas: bool = False
) -> tuple[Factor, ...]:
    """Factors of blocks and of the linear layer.

    Args:
        layout: whose.
        cost: of a block for each size of its images.
        output: of the linear layer on so many channels, but for what it always costs.
        areas: whether the size of images matters.
    """
    factors = []
    for stage in range(layout.stages):
        place = layout.place(stage)
        depths, names, widths = layout.numbers(stage)
        befores = layout.befores(stage)
        sides = layout.sides(stage) if areas else [(1, 1)]
        table = np.zeros(
            (len(sides), len(befores), len(depths), len(names), len(widths)), dtype=np.int64
        )
        for b, name in enumerate(names):
            for w, width in enumerate(widths):
                rest = cost(name, width, width, False, sides, stage)
                for k, before in enumerate(befores):
                    first = cost(name, before, width, True, sides, stage)
                    for d, depth in enumerate(depths):
                        table[:, k, d, b, w] = first + (depth - 1) * rest
        numbers = ([0] if areas else []) + ([layout.place(stage - 1) + 2] if stage else [])
        numbers += [place, place + 1, place + 2]
        shape = [n for n, kept in zip(table.shape, (areas, stage > 0), strict=False) if kept]
        table = table.reshape(*shape, *table.shape[2:])
        factors.append(layout.there(stage, tuple(numbers), table))
        ends = np.array([output(width) for width in widths], dtype=np.int64)
        factors.append(layout.ends(stage, (place + 2,), ends))
    return tuple(factors)


def _parameters(
    name: str, inputs: int, width: int, first: bool, sides: Sequence[Side], stage: int
) -> np.ndarray:
    del sides, stage
    return np.array([blocks.parameters(BLOCKS[name], inputs, width, first)])


def _multiply_adds(
    name: str, inputs: int, width: int, first: bool, sides: Sequence[Side], stage: int
) -> np.ndarray:
    del stage
    each, fixed = blocks.multiply_adds(BLOCKS[name], inputs, width, first)
    return each * np.array([height * across for height, across in sides]) + fixed


def _stored_bytes(
    name: str, inputs: int, width: int, first: bool, sides: Sequence[Side], stage: int
) -> np.ndarray:
    """Weights, and what norms keep beside theirs: two numbers a channel and a count of steps."""
    del sides
    block = BLOCKS[name]
    kept = sum(
        2 * BYTES_A_WEIGHT * go + _BYTES_A_COUNT
        for _, go, _, _ in blocks.convolutions(block, inputs, width, first).values()
    )
    weights = BYTES_A_WEIGHT * blocks.parameters(block, inputs, width, first)
    return np.array([weights + kept + _entries(name, first, stage)])


def _int8_bytes(
    name: str, inputs: int, width: int, first: bool, sides: Sequence[Side], stage: int
) -> np.ndarray:
    """Kernels and what squeezes in int8; four numbers a channel of norms."""
    del sides, stage
    block = BLOCKS[name]
    total = sum(
        tensor_bytes(go, come // groups, kernel, kernel) + 4 * tensor_bytes(go)
        for come, go, kernel, groups in blocks.convolutions(block, inputs, width, first).values()
    )
    channels = blocks.squeezed_channels(block, width)
    if channels:
        hidden = blocks.squeezed(channels)
        total += tensor_bytes(hidden, channels) + tensor_bytes(hidden)
        total += tensor_bytes(channels, hidden) + tensor_bytes(channels)
    return np.array([total])


@cache
def _entries(name: str, first: bool, stage: int) -> int:
    """What a file's header says of a block, at most."""
    with torch.device("meta"):
        block = make_block(BLOCKS[name], _WIDEST, _WIDEST, first)
    return sum(
        entry_bytes(f"{'rest.' * (stage + 1)}blocks.0.{tensor}", value.shape)
        for tensor, value in block.state_dict().items()
    )
