"""A trained network as a module that needs nothing but torch."""

from __future__ import annotations

import torch
from torch import nn

from meritnas.devices.placement import on_cpu


def plain_module(module: nn.Module) -> nn.Module:
    """The same network as a module that needs nothing but torch, in evaluation mode, on the CPU.

    Where all its parts are torch's own it is returned as it is. Else it is traced, and the trace
    holds the code of the parts that torch does not know: it can be pickled, or saved with
    `torch.save`, and loaded where this library is not installed.
    """
    plain = on_cpu(module).eval()
    if all(type(part).__module__.startswith("torch.") for part in plain.modules()):
        return plain
    return torch.fx.symbolic_trace(plain)
