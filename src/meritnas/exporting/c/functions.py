"""Functions of one number that networks apply, in torch and in C."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class Function:
    """One of `FUNCTIONS`, by the name that torch has for it.

    Attributes:
        name: of it.
        number: the slope of leaky_relu, the alpha of elu, the factor of times; 0 of others.
    """

    name: str
    number: float = 0.0

    def __call__(self, values: Tensor) -> Tensor:
        """Of each value."""
        return FUNCTIONS[self.name][0](values, self.number)


Functions: TypeAlias = tuple[Function, ...]
"""One after the other."""


def applied(functions: Functions, values: Tensor) -> Tensor:
    """Functions, one after the other, of each value."""
    for function in functions:
        values = function(values)
    return values


FUNCTIONS: Mapping[str, tuple[Callable[[Tensor, float], Tensor], str]] = {
    "relu": (lambda x, _: F.relu(x), "x > 0.0f ? x : 0.0f"),
    "relu6": (lambda x, _: F.relu6(x), "x < 0.0f ? 0.0f : x > 6.0f ? 6.0f : x"),
    "leaky_relu": (F.leaky_relu, "x > 0.0f ? x : number * x"),
    "elu": (F.elu, "x > 0.0f ? x : number * (expf(x) - 1.0f)"),
    "sigmoid": (lambda x, _: torch.sigmoid(x), "1.0f / (1.0f + expf(-x))"),
    "tanh": (lambda x, _: torch.tanh(x), "tanhf(x)"),
    "silu": (lambda x, _: F.silu(x), "x / (1.0f + expf(-x))"),
    "gelu": (lambda x, _: F.gelu(x), "0.5f * x * (1.0f + erff(x * 0.70710678f))"),
    "hardswish": (
        lambda x, _: F.hardswish(x),
        "x <= -3.0f ? 0.0f : x >= 3.0f ? x : x * (x + 3.0f) / 6.0f",
    ),
    "hardsigmoid": (
        lambda x, _: F.hardsigmoid(x),
        "x <= -3.0f ? 0.0f : x >= 3.0f ? 1.0f : (x + 3.0f) / 6.0f",
    ),
    "abs": (lambda x, _: x.abs(), "fabsf(x)"),
    "neg": (lambda x, _: -x, "-x"),
    "exp": (lambda x, _: x.exp(), "expf(x)"),
    "square": (lambda x, _: x * x, "x * x"),
    "times": (lambda x, number: x * number, "number * x"),
}
"""Name -> (what it is in torch, an expression in C of x and number)."""
