"""Costs of a residual convolutional network from its build function: how exact, how soon.

The network has a stem and three stages whose widths, depths, kernels and hidden widths are
decided. Costs are learnt by building networks without memory; then random ones are built for
real, their weights are counted, and their multiply-adds and their memory found by running
them alone.

    nice -n 19 python benchmarks/own_costs.py --json own_costs.json
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

import meritnas.nn as mn
from meritnas import space_of
from meritnas.families.live_memory import peak_bytes
from scoreboard import Target, arguments, finish, show

STAGES = 3
NETWORKS = 500


class Block(nn.Module):
    """Two convolutions and what came in."""

    def __init__(self, pick: mn.Pick, width: Any, stage: int, number: int) -> None:
        super().__init__()
        hidden = pick.width(f"hidden{stage}{number}", 8, 16, 24)
        kernel = pick.one(f"kernel{stage}{number}", 3, 5)
        self.inside = nn.Sequential(
            *(
                mn.Conv2d(width, hidden, kernel, padding=kernel // 2, bias=False),
                mn.BatchNorm2d(hidden),
            ),
            *(nn.ReLU(), mn.Conv2d(hidden, width, 3, padding=1, bias=False), mn.BatchNorm2d(width)),
        )

    def forward(self, maps: Tensor) -> Tensor:
        return torch.relu(maps + self.inside(maps))


class Network(nn.Module):
    """A stem, stages of residual blocks, means of maps and a linear layer."""

    def __init__(self, pick: mn.Pick, inputs: tuple[int, ...], outputs: int, stages: int) -> None:
        super().__init__()
        parts: list[nn.Module] = []
        before: Any = inputs[0]
        for stage in range(stages):
            width = pick.width(f"width{stage}", 8, 16, 24)
            stride = 2 if stage else 1
            parts += [mn.Conv2d(before, width, 3, stride=stride, padding=1, bias=False)]
            parts += [mn.BatchNorm2d(width), nn.ReLU()]
            depth = pick.depth(f"depth{stage}", 1, 2)

            def block(number: int, width: Any = width, stage: int = stage) -> nn.Module:
                return Block(pick, width, stage, number)

            parts.append(mn.Stack(depth, block))
            before = width
        self.body, self.head = nn.Sequential(*parts), mn.Linear(before, outputs)

    def forward(self, images: Tensor) -> Tensor:
        found: Tensor = self.head(self.body(images).mean((2, 3)))
        return found


def build(pick: mn.Pick, inputs: tuple[int, ...], outputs: int, *, stages: int) -> nn.Module:
    return Network(pick, inputs, outputs, stages)


def multiply_adds(module: nn.Module, images: Tensor) -> int:
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(images)
    return int(counter.get_total_flops()) // 2


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--networks", type=int, default=NETWORKS, help="random ones to count")
    parser.add_argument("--side", type=int, default=28, help="of the images")
    args = parser.parse_args()
    networks, side, stages = (10, 8, 1) if args.quick else (args.networks, args.side, STAGES)
    torch.set_num_threads(1)
    begin = time.perf_counter()
    family = space_of(build, (1, side, side), 10, options={"stages": stages})
    costs, building = family.costs, time.perf_counter() - begin
    begin = time.perf_counter()
    peak = None if args.quick else family.maxima["peak"]
    memory = time.perf_counter() - begin
    rng = np.random.default_rng(1)
    right = {"params": 0, "flops": 0, "peak": 0}
    images = torch.zeros(1, 1, side, side)
    for _ in range(networks):
        architecture = family.random(rng)
        child = family.child(architecture).eval()
        picks = np.array([family.space.picks(architecture)])
        right["params"] += sum(p.numel() for p in child.parameters()) == int(
            costs["params"].of(picks)[0]
        )
        right["flops"] += multiply_adds(child, images) == int(costs["flops"].of(picks)[0])
        if peak is not None:
            right["peak"] += peak_bytes(child, [images]) == int(peak.of(picks)[0])
    rows = [
        {
            "decisions": len(family.space.decisions),
            "space": family.space.count(),
            "builds": family.builds,
            "seconds": building,
            "memory_seconds": memory,
            "networks": networks,
            **{f"{name}_right": count for name, count in right.items()},
            "largest_group": max(len(one.decisions) for one in costs["params"].factors),
        }
    ]
    show("exact costs of a residual network from its build function", rows)
    targets = [
        Target(f"{name} exact on all of {networks}", f"{count}", count == networks)
        for name, count in right.items()
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
