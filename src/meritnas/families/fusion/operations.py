"""The operations that fuse two features into one."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from meritnas.errors import SpaceError
from meritnas.families.fusion.sparse_coding import SparseCoding
from meritnas.families.operations import Norms
from meritnas.wording import did_you_mean

NORMAL = ("sum", "glu", "concat", "se")
SPARSE = ("sparse_attention", "sparse_glu", "sparse_concat", "sparse_se")
BM_NAS = ("sum", "attention", "bm_glu", "concat")
"""The operations of BM-NAS (Yin et al. 2022), for comparison."""

EVERY = tuple(dict.fromkeys((*NORMAL, *SPARSE, *BM_NAS)))

_REDUCTION = 16
_ATTENTION_DROPOUT = 0.1

Maps = Callable[[int, int, int], nn.Module]
"""(inputs, outputs, length) -> a map [n, inputs, length] -> [n, outputs, length], with a bias."""


class Sum(nn.Module):
    """z = x + y (SM-ShapNAS, eq. 13)."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        return x + y


class Gated(nn.Module):
    """z = (W1 x + b1) * sigmoid(W2 y + b2) (eqs. 16, 19), both with a batch norm as in BM-NAS."""

    def __init__(
        self, maps: Maps, channels: int, length: int, norms: Norms, dropout: float
    ) -> None:
        super().__init__()
        self.value = maps(channels, channels, length)
        self.value_norm = norms.sequence(channels)
        self.gate = maps(channels, channels, length)
        self.gate_norm = norms.sequence(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        gate = torch.sigmoid(self.gate_norm(self.gate(y)))
        found: Tensor = self.dropout(self.value_norm(self.value(x)) * gate)
        return found


class GatedTogether(nn.Module):
    """BM-NAS' own gated unit: one map of [x; y], batch norm, one half times the other's sigmoid."""

    def __init__(self, channels: int, norms: Norms, dropout: float) -> None:
        super().__init__()
        self.map = nn.Conv1d(2 * channels, 2 * channels, 1)
        self.norm = norms.sequence(2 * channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        both = self.norm(self.map(torch.cat([x, y], dim=1)))
        found: Tensor = self.dropout(nn.functional.glu(both, dim=1))
        return found


class Joined(nn.Module):
    """z = ReLU(W [x; y] + b) (eqs. 17, 20), with a batch norm before the ReLU as in BM-NAS."""

    def __init__(
        self, maps: Maps, channels: int, length: int, norms: Norms, dropout: float
    ) -> None:
        super().__init__()
        self.map = maps(2 * channels, channels, length)
        self.norm = norms.sequence(channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        both = self.norm(self.map(torch.cat([x, y], dim=1)))
        found: Tensor = self.dropout(torch.relu(both))
        return found


class SqueezeExcite(nn.Module):
    """z = W (u * g) + b, g = sigmoid(W2 ReLU(W1 mean(u) + b1) + b2), u = [x; y] (eqs. 18, 21).

    The paper's brackets do not close; this is the usual layer. It has a sixteenth of the channels
    inside, at least 1.
    """

    def __init__(self, maps: Maps, channels: int, length: int, dropout: float) -> None:
        super().__init__()
        hidden = max(1, 2 * channels // _REDUCTION)
        self.squeeze = maps(2 * channels, hidden, 1)
        self.excite = maps(hidden, 2 * channels, 1)
        self.map = maps(2 * channels, channels, length)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        both = torch.cat([x, y], dim=1)
        hidden = torch.relu(self.squeeze(both.mean(dim=2, keepdim=True)))
        found: Tensor = self.dropout(self.map(both * torch.sigmoid(self.excite(hidden))))
        return found


class Attention(nn.Module):
    """z = V softmax(Q^T K / sqrt(channels)) over positions, Q of x, K and V of y (eqs. 14, 15).

    Without codings x and y are themselves Q, K and V, as in BM-NAS. Dropout of .1, where there is
    dropout at all, and a layer norm follow, as there.
    """

    def __init__(
        self,
        codings: Callable[[], nn.Module] | None,
        channels: int,
        length: int,
        norms: Norms,
        dropout: float,
    ) -> None:
        super().__init__()
        make = nn.Identity if codings is None else codings
        self.query, self.key, self.value = make(), make(), make()
        self.dropout = nn.Dropout(_ATTENTION_DROPOUT if dropout > 0 else 0.0)
        self.norm = norms.layer(channels, length)

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Two of [n, channels, length] -> the same."""
        scores = self.query(x).transpose(1, 2) @ self.key(y) / math.sqrt(x.shape[1])
        mixed = self.value(y) @ torch.softmax(scores, dim=2).transpose(1, 2)
        found: Tensor = self.norm(self.dropout(mixed))
        return found

    def multiply_adds(self, outputs: Tensor) -> int:
        """Of its two products of matrices."""
        return 2 * outputs.numel() * outputs.shape[2]


class SparseMap(nn.Module):
    """Sparse coding and a bias: what takes a map's place in sparse operations."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, steps: int, l1: float, l2: float
    ) -> None:
        super().__init__()
        self.coding = SparseCoding(inputs, outputs, kernel, steps, l1, l2)
        bound = 1 / math.sqrt(inputs * kernel)
        self.bias = nn.Parameter(torch.empty(outputs, 1).uniform_(-bound, bound))

    def forward(self, inputs: Tensor) -> Tensor:
        """[n, inputs, length] -> [n, outputs, length]."""
        found: Tensor = self.coding(inputs) + self.bias
        return found


class Making(NamedTuple):
    """What operations are made with; see `make_fusion`."""

    channels: int
    length: int
    norms: Norms
    dropout: float
    l1: float
    l2: float
    kernel: int
    fista_steps: int


def _linear(inputs: int, outputs: int, length: int) -> nn.Module:
    del length
    return nn.Conv1d(inputs, outputs, 1)


def _sparse(made: Making) -> Maps:
    def make(inputs: int, outputs: int, length: int) -> nn.Module:
        kernel = made.kernel if length > 1 else 1
        return SparseMap(inputs, outputs, kernel, made.fista_steps, made.l1, made.l2)

    return make


def _coding(made: Making) -> nn.Module:
    sizes = (made.channels, made.channels, made.kernel)
    return SparseCoding(*sizes, made.fista_steps, made.l1, made.l2)


_MAKERS: Mapping[str, Callable[[Making], nn.Module]] = {
    "sum": lambda _: Sum(),
    "glu": lambda m: Gated(_linear, *m[:4]),
    "concat": lambda m: Joined(_linear, *m[:4]),
    "se": lambda m: SqueezeExcite(_linear, m.channels, m.length, m.dropout),
    "sparse_attention": lambda m: Attention(lambda: _coding(m), *m[:4]),
    "sparse_glu": lambda m: Gated(_sparse(m), *m[:4]),
    "sparse_concat": lambda m: Joined(_sparse(m), *m[:4]),
    "sparse_se": lambda m: SqueezeExcite(_sparse(m), m.channels, m.length, m.dropout),
    "attention": lambda m: Attention(None, *m[:4]),
    "bm_glu": lambda m: GatedTogether(m.channels, m.norms, m.dropout),
}


def make_fusion(
    name: str,
    channels: int,
    length: int,
    norms: Norms,
    dropout: float = 0.0,
    l1: float = 0.1,
    l2: float = 0.0,
    kernel: int = 1,
    fista_steps: int = 2,
) -> nn.Module:
    """An operation that fuses x and y, both [n, channels, length], into one such.

    Args:
        name: one of `NORMAL`, `SPARSE` and `BM_NAS`.
        channels: of x, y and z.
        length: of x, y and z.
        norms: how batch and layer norms are made.
        dropout: the rate while training.
        l1: of sparse operations, what the size of a code costs.
        l2: of sparse operations, what its square costs.
        kernel: of sparse operations, the length of an atom.
        fista_steps: of sparse operations, how often a code is improved.
    """
    if name not in _MAKERS:
        raise SpaceError(
            f"no fusion operation '{name}';{did_you_mean(name, _MAKERS)} there are "
            f"{', '.join(_MAKERS)}"
        )
    return _MAKERS[name](Making(channels, length, norms, dropout, l1, l2, kernel, fista_steps))
