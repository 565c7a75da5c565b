"""Moves tensors and networks from one device to another; nothing else does."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import torch
from torch import Tensor, nn

from meritnas.errors import UsageError

Movable = TypeVar("Movable", Tensor, nn.Module)

CPU = "cpu"

_WITH_FUSED_STEPS = {"cpu", "cuda"}


def check_device(device: str) -> None:
    """Complain about a device that cannot be used here."""
    try:
        torch.empty(1, device=device).cpu()
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise UsageError(f"device '{device}' cannot be used here ({reason}); try cpu") from error


def placed(what: Movable, device: torch.device | str) -> Movable:
    """A tensor, or a network in place, on a device."""
    return what.to(device)


def beside(tensor: Tensor, other: Tensor) -> Tensor:
    """A tensor where another one is."""
    return tensor.to(other.device)


def on_cpu(what: Movable) -> Movable:
    """A tensor, or a network in place, where numpy and files can read it."""
    return what.cpu()


def zeros_on(device: torch.device | str, *shape: int) -> Tensor:
    """Zeros on a device."""
    return torch.zeros(shape, device=device)


def zeros_beside(other: Tensor, *shape: int) -> Tensor:
    """Zeros where another tensor is."""
    return torch.zeros(shape, device=other.device)


def has_fused_steps(tensors: Iterable[Tensor]) -> bool:
    """Whether torch's fused optimisers know the devices of these."""
    return {tensor.device.type for tensor in tensors} <= _WITH_FUSED_STEPS


def waiting_for(tensor: Tensor) -> Callable[[], None]:
    """What to call until the device of a tensor has done what it was given."""
    return torch.cuda.synchronize if tensor.device.type == "cuda" else _no_wait


def _no_wait() -> None:
    pass


def seed_other_devices(seed: int) -> None:
    """Set torch's generators of all devices but the CPU."""
    if torch.cuda.is_available():
        torch.cuda.manual_seed_all(seed)
