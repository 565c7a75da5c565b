"""What an untrained network shows on its first batch: patterns of activations, and gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.devices.placement import on_cpu

_RIDGE = 1e-6
"""Of the agreement that a row has with itself, added to the diagonal: rows may be equal."""


@dataclass(frozen=True)
class FirstLook:
    """What one pass there and back through an untrained network shows.

    Attributes:
        patterns: how different the rows look to its ReLUs: the log-determinant of the matrix of
            agreements, K_ij = in how many ReLUs rows i and j are both on or both off (NASWOT,
            Mellor et al., ICML 2021). NaN for a network without ReLU modules.
        growth: how much larger gradients are where its trunk begins than where it ends, as the log
            of the ratio of their norms. NaN for a network without a trunk.
    """

    patterns: float
    growth: float


def first_look(
    module: nn.Module,
    inputs: Tensor,
    loss: Callable[[Tensor], Tensor],
    trunk: tuple[nn.Module, nn.Module] | None = None,
) -> FirstLook:
    """Look at an untrained network; its gradients are left empty.

    Args:
        module: on a device, with batch norms in training mode.
        inputs: [n, ...], a few dozen rows.
        loss: of what comes out.
        trunk: the parts of it whose outputs are where its trunk begins and ends.
    """
    agreements = torch.zeros(len(inputs), len(inputs), dtype=torch.float64)
    seen: list[Tensor] = []
    ends: list[Tensor] = []

    def look(_: nn.Module, __: tuple[Tensor, ...], active: Tensor) -> None:
        on = (active.detach() > 0).reshape(len(inputs), -1).float()
        # Both on, and both off: whole numbers that a float holds exactly.
        both = on @ on.T + (1 - on) @ (1 - on).T
        agreements.add_(on_cpu(both.double()))
        seen.append(both)

    def keep(_: nn.Module, __: tuple[Tensor, ...], after: Tensor) -> None:
        ends.append(after)

    hooks = [part.register_forward_hook(look) for part in module.modules() if _is_relu(part)]
    hooks += [part.register_forward_hook(keep) for part in trunk or ()]
    try:
        with torch.set_grad_enabled(trunk is not None):
            found = loss(module(inputs))
    finally:
        for hook in hooks:
            hook.remove()
    patterns = _log_determinant(agreements) if seen else np.nan
    if trunk is None or not all(end.requires_grad for end in ends):  # or nothing leads through it
        return FirstLook(patterns, np.nan)
    return FirstLook(patterns, _log_ratio(*torch.autograd.grad(found, ends, allow_unused=True)))


def _is_relu(part: nn.Module) -> bool:
    return isinstance(part, nn.ReLU)


def _log_determinant(agreements: Tensor) -> float:
    ridge = _RIDGE * agreements[0, 0] * torch.eye(len(agreements), dtype=torch.float64)
    return float(torch.linalg.slogdet(agreements + ridge).logabsdet)


def _log_ratio(first: Tensor | None, last: Tensor | None) -> float:
    """Log of the ratio of norms; NaN where one of them is none."""
    if first is None or last is None:
        return np.nan
    norms = [float(gradient.double().norm()) for gradient in (first, last)]
    return float(np.log(norms[0]) - np.log(norms[1])) if min(norms) > 0 else np.nan
