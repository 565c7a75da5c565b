"""What a torch module costs, counted and measured on the module itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from meritnas.families.counting import CountsItself, multiply_adds, parameters
from meritnas.families.latency import microseconds
from meritnas.families.live_memory import peak_bytes

_ROUNDS = 51


@dataclass(frozen=True)
class Found:
    """An amount of a cost, None where it cannot be told, and how it was found."""

    amount: int | None
    how: str


def measure_module(module: nn.Module, shape: Sequence[int], kind: str) -> dict[str, Found]:
    """Parameters, multiply-adds, peak memory and latency of a network for one row.

    Args:
        module: in evaluation mode, on the CPU.
        shape: of its input, without the batch.
        kind: of its input's numbers: float32 or int64.
    """
    row = torch.zeros(1, *shape, dtype=getattr(torch, kind))
    network: Any = module
    run = network.advance if kind == "int64" and hasattr(module, "advance") else module
    return {
        "params": Found(parameters(module), "counted in the network"),
        "flops": _multiply_adds(module, run, row),
        "peak": Found(peak_bytes(run, [row]), "activations alive at once in one pass"),
        "latency": Found(
            microseconds({"whole": (run, row)}, _ROUNDS)["whole"],
            f"measured with torch, one row, one thread, median of {_ROUNDS} rounds",
        ),
    }


def _multiply_adds(module: nn.Module, run: Any, row: Tensor) -> Found:
    if any(isinstance(part, CountsItself) for part in module.modules()):
        # What sparse coding computes depends on the row; its limit is on what it says itself.
        counted = multiply_adds(module, row.shape[1:], device="cpu")
        return Found(counted, "of its layers, some of which count themselves")
    return Found(products(run, row), "products of one pass, counted as they are computed")


def products(run: Any, row: Tensor) -> int:
    """The multiply-adds of all matrix products and convolutions of a pass; biases do not count."""
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        run(row)
    return int(counter.get_total_flops()) // 2
