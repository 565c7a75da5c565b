"""Sparse coding by a few steps of FISTA, as a layer."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.errors import SpaceError

_SHARE = 0.9
_SQUARINGS = 6
_POWERS = 24
_TINY = 1e-12


class SparseCoding(nn.Module):
    """The sparse code of a signal: argmin_z .5|x - A(z)|^2 + l1 |z|_1 + l2 |z|^2.

    A is a transposed convolution with a dictionary of unit atoms [codes, inputs, kernel], the
    minimum is approached by a few steps of FISTA (SM-ShapNAS, eqs. 1 and 2), and the step size is
    .9 / lambda_max(A^T A). No gradient flows through the size of atoms or of steps.

    lambda_max is found anew from the dictionary in every pass, which keeps no state: weights that
    are only tried, as unrolled gradients do, leave nothing behind. (With a vector kept from pass to
    pass power iteration needs fewer steps; by squaring it needs six small products, see
    `largest_eigenvalue`.)

    Deviations: the paper names neither kernel nor steps nor padding; here signals are padded with
    zeros so that they keep their length, and codes are not negative, as in SDNet, whose gradient
    is taken at the wrong point from the third step on.

    Args:
        inputs: channels of the signal.
        codes: channels of its code.
        kernel: length of an atom; odd.
        steps: of FISTA.
        l1: what a code's size costs; more makes it sparser.
        l2: what its square costs.
        positive: whether codes are at least zero.
    """

    def __init__(
        self,
        inputs: int,
        codes: int,
        kernel: int = 1,
        steps: int = 2,
        l1: float = 0.1,
        l2: float = 0.0,
        positive: bool = True,
    ) -> None:
        super().__init__()
        if kernel < 1 or kernel % 2 == 0:
            raise SpaceError(f"the kernel of sparse coding must be odd, got {kernel}")
        if steps < 1:
            raise SpaceError(f"sparse coding takes at least 1 step, got {steps}")
        self.steps, self.l1, self.l2, self.positive = steps, l1, l2, positive
        self.weight = nn.Parameter(torch.empty(codes, inputs, kernel))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, signals: Tensor) -> Tensor:
        """[n, inputs, length] -> [n, codes, length]."""
        atoms = unit_atoms(self.weight)
        step = _SHARE / largest_eigenvalue(atoms.detach(), signals.shape[2])
        return fista(signals, atoms, step, self.steps, self.l1, self.l2, self.positive)

    def multiply_adds(self, outputs: Tensor) -> int:
        """Of the 2 * steps - 1 convolutions that give these codes."""
        each = outputs.numel() * self.weight.shape[1] * self.weight.shape[2]
        return each * (2 * self.steps - 1)


def unit_atoms(weight: Tensor) -> Tensor:
    """A dictionary [codes, inputs, kernel] with every atom at unit norm, the norm a constant."""
    norms = torch.linalg.vector_norm(weight.detach(), dim=(1, 2), keepdim=True)
    return weight / norms.clamp_min(_TINY)


def synthesis(codes: Tensor, atoms: Tensor) -> Tensor:
    """A(z): [n, codes, length] -> [n, inputs, length]."""
    if atoms.shape[2] == 1:  # half the time of a convolution
        return F.linear(codes.transpose(1, 2), atoms[:, :, 0].T).transpose(1, 2)
    return F.conv_transpose1d(codes, atoms, padding=atoms.shape[2] // 2)


def analysis(signals: Tensor, atoms: Tensor) -> Tensor:
    """A^T(x): [n, inputs, length] -> [n, codes, length]."""
    if atoms.shape[2] == 1:
        return F.linear(signals.transpose(1, 2), atoms[:, :, 0]).transpose(1, 2)
    return F.conv1d(signals, atoms, padding=atoms.shape[2] // 2)


def objective(
    signals: Tensor, codes: Tensor, atoms: Tensor, l1: float = 0.1, l2: float = 0.0
) -> Tensor:
    """.5|x - A(z)|^2 + l1 |z|_1 + l2 |z|^2, summed over all signals."""
    rest = signals - synthesis(codes, atoms)
    return 0.5 * rest.square().sum() + l1 * codes.abs().sum() + l2 * codes.square().sum()


def ista(
    signals: Tensor,
    atoms: Tensor,
    step: Tensor | float,
    steps: int,
    l1: float = 0.1,
    l2: float = 0.0,
    positive: bool = True,
) -> Tensor:
    """Codes [n, codes, length] after proximal gradient steps from zero, without momentum."""
    codes = _shrunk(step * analysis(signals, atoms), step, l1, l2, positive)
    for _ in range(steps - 1):
        moved = codes + step * analysis(signals - synthesis(codes, atoms), atoms)
        codes = _shrunk(moved, step, l1, l2, positive)
    return codes


def fista(
    signals: Tensor,
    atoms: Tensor,
    step: Tensor | float,
    steps: int,
    l1: float = 0.1,
    l2: float = 0.0,
    positive: bool = True,
) -> Tensor:
    """The same with momentum: the gradient is taken at the extrapolated point.

    y = z_k + (t_k - 1) / t_{k+1} * (z_k - z_{k-1}), t_1 = 1, t_{k+1} = (1 + sqrt(1 + 4 t_k^2)) / 2;
    the first two steps have none.
    """
    codes = _shrunk(step * analysis(signals, atoms), step, l1, l2, positive)
    before, time = codes, 1.0
    for _ in range(steps - 1):
        following = (1 + math.sqrt(1 + 4 * time * time)) / 2
        point = codes if time == 1.0 else codes + (time - 1) / following * (codes - before)
        moved = point + step * analysis(signals - synthesis(point, atoms), atoms)
        before, codes, time = codes, _shrunk(moved, step, l1, l2, positive), following
    return codes


def _shrunk(codes: Tensor, step: Tensor | float, l1: float, l2: float, positive: bool) -> Tensor:
    """The proximal map: soft threshold at step * l1, shrunk by 1 + 2 step * l2, perhaps ReLU."""
    least = step * l1
    found = F.relu(codes - least)
    if not positive:
        found = found - F.relu(-codes - least)
    return found if l2 == 0 else found / (1 + 2 * step * l2)


def largest_eigenvalue(atoms: Tensor, length: int) -> Tensor:
    """lambda_max of A^T A for signals of this length, by power iteration.

    At kernel 1 every position is by itself and lambda_max that of G, the atoms' products. P = G^64
    comes from six squarings, and trace(G P) / trace(P), the mean of all eigenvalues weighted by
    their 64th powers, is lambda_max or hardly less, wherever an iteration would have begun. Longer
    atoms overlap, and 24 powers of A^T A are applied to a fixed vector. With unit atoms
    lambda_max is at least 1; a dictionary of zeros gets 1, too.

    Args:
        atoms: of unit norm, [codes, inputs, kernel].
        length: of signals; at their ends there is less overlap.
    """
    if atoms.shape[2] > 1:
        return _largest_of_map(atoms, length)
    plain = atoms[:, :, 0]
    products = plain @ plain.T if plain.shape[0] <= plain.shape[1] else plain.T @ plain
    power = products
    for number in range(_SQUARINGS):
        if number % 2 == 0:  # of up to 192 codes the fourth power of a trace of 1 is no zero yet
            power = power / power.diagonal().sum().clamp_min(_TINY)
        power = power @ power
    found = (products * power).sum() / power.diagonal().sum().clamp_min(_TINY)
    return found.clamp_min(1.0)


def _largest_of_map(atoms: Tensor, length: int) -> Tensor:
    codes = atoms.shape[0]
    start = torch.arange(codes * length, dtype=atoms.dtype, device=atoms.device)
    vector = torch.cos(start.square()).reshape(1, codes, length)
    for _ in range(_POWERS):
        vector = vector / torch.linalg.vector_norm(vector).clamp_min(_TINY)
        vector = analysis(synthesis(vector, atoms), atoms)
    vector = vector / torch.linalg.vector_norm(vector).clamp_min(_TINY)
    found = (vector * analysis(synthesis(vector, atoms), atoms)).sum()
    return found.clamp_min(1.0)
