"""A trained network as a module that needs nothing but torch."""

from __future__ import annotations

import torch
from torch import nn

from meritnas.devices.placement import on_cpu


def plain_module(module: nn.Module) -> nn.Module:
    """The same network as a module that needs nothing but torch, in evaluation mode, on the CPU.

    Where no part of it is of this library it is returned as it is. Else it is traced, and the trace
    holds the code of the parts that torch does not know: it can be pickled, or saved with
    `torch.save`, and loaded where this library is not installed.
    """
    plain = on_cpu(module).eval()
    own = __name__.partition(".")[0]
    if not any(type(part).__module__.partition(".")[0] == own for part in plain.modules()):
        return plain
    try:
        return torch.fx.symbolic_trace(plain)
    except Exception:  # parts of a user's own, whose code does not lend itself to that
        return plain
