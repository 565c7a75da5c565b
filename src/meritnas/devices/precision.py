"""In which precision networks compute while they are trained."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from meritnas.errors import UsageError

HALF = "bf16"


def computing_in(precision: str, inputs: Tensor) -> AbstractContextManager[object]:
    """Inside, torch computes products of these inputs in this precision.

    Weights, sums of losses and steps of the optimiser stay in single precision: bfloat16 has its
    range, so that gradients need no scaling.

    Args:
        precision: `float32` or `bf16`.
        inputs: what a network is about to read.
    """
    if precision != HALF:
        return nullcontext()
    return torch.autocast(inputs.device.type, dtype=torch.bfloat16)


def check_precision(precision: str, device: str) -> None:
    """Complain about a device that does not know a precision."""
    if precision != HALF:
        return
    try:
        torch.autocast(torch.device(device).type, dtype=torch.bfloat16)
    except (RuntimeError, AssertionError) as error:
        raise UsageError(
            f"precision bf16 is not to be had on device '{device}'; leave it out, or use cpu or "
            "cuda"
        ) from error


def single(outputs: Tensor) -> Tensor:
    """What a network says in single precision, for a loss; what is more precise stays."""
    return outputs.float() if outputs.dtype == torch.bfloat16 else outputs
