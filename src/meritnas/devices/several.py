"""Processes on the GPUs of a machine: which GPU each takes, and how they exchange numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
import torch.distributed

from meritnas.errors import UsageError

VISIBLE = "CUDA_VISIBLE_DEVICES"

Backend = Literal["gloo", "nccl"]


def backend_for(kind: str, nccl: bool | None = None) -> Backend:
    """What tensors of a kind of device travel by: nccl between GPUs, gloo between processors.

    Args:
        kind: `cpu`, `cuda`, ...
        nccl: whether this torch has it and a GPU is there; None to look.
    """
    if nccl is None:
        nccl = torch.distributed.is_nccl_available() and torch.cuda.is_available()
    return "nccl" if kind == "cuda" and nccl else "gloo"


def visible_gpu(local_rank: int, environment: Mapping[str, str], count: int) -> str | None:
    """What `CUDA_VISIBLE_DEVICES` must say so that a process has a GPU of its own as its first.

    Args:
        local_rank: which process it is of those on this machine.
        environment: as it is.
        count: how many GPUs the process could use; with fewer than processes some share one.

    Returns:
        None where there is none.
    """
    named = [name for name in environment.get(VISIBLE, "").split(",") if name]
    gpus = named or [str(number) for number in range(count)]
    return gpus[local_rank % len(gpus)] if gpus and count else None


def check_device_of_each(device: str) -> None:
    """Complain about one GPU for several processes: each has its own as `cuda`."""
    if torch.device(device).type != "cpu" and torch.device(device).index:
        raise UsageError(
            f"device '{device}' is one, and torchrun has started several processes; say "
            f"--device {torch.device(device).type}, and each takes one of its own"
        )
