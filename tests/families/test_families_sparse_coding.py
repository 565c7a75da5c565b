from __future__ import annotations

import itertools
import math

import pytest
import torch
from torch import Tensor
from torch.func import functional_call

from meritnas.errors import SpaceError
from meritnas.families.fusion.sparse_coding import (
    SparseCoding,
    analysis,
    fista,
    ista,
    largest_eigenvalue,
    objective,
    synthesis,
    unit_atoms,
)


def problem(seed: int, size: int = 32, kernel: int = 1, length: int = 5) -> tuple[Tensor, Tensor]:
    """Signals and a dictionary of unit atoms, in double precision."""
    generator = torch.Generator().manual_seed(seed)
    atoms = torch.randn(size, size, kernel, generator=generator, dtype=torch.float64)
    signals = torch.randn(4, size, length, generator=generator, dtype=torch.float64)
    return signals, unit_atoms(atoms)


def as_matrix(atoms: Tensor, length: int) -> Tensor:
    """A as a matrix [inputs * length, codes * length], a column for every code."""
    codes = atoms.shape[0] * length
    units = torch.eye(codes, dtype=atoms.dtype).reshape(codes, atoms.shape[0], length)
    return synthesis(units, atoms).flatten(1).T


def step_of(atoms: Tensor, length: int) -> float:
    return 0.9 / float(torch.linalg.matrix_norm(as_matrix(atoms, length), 2)) ** 2


def values(solver: object, signals: Tensor, atoms: Tensor, counts: tuple[int, ...]) -> list[float]:
    step = step_of(atoms, signals.shape[2])
    found = [solver(signals, atoms, step, k) for k in counts]  # type: ignore[operator]
    return [float(objective(signals, codes, atoms)) for codes in found]


@pytest.mark.parametrize("kernel", [1, 3])
def test_analysis_is_the_transpose_of_synthesis(kernel: int) -> None:
    signals, atoms = problem(0, 6, kernel)
    matrix = as_matrix(atoms, 5)
    expected = (signals.flatten(1) @ matrix).reshape(4, 6, 5)
    torch.testing.assert_close(analysis(signals, atoms), expected)


@pytest.mark.parametrize(("seed", "kernel"), [(0, 1), (1, 1), (2, 3)])
def test_steps_lower_the_objective_and_momentum_lowers_it_faster(seed: int, kernel: int) -> None:
    signals, atoms = problem(seed, kernel=kernel)
    counts = (1, 2, 5, 20, 200, 400)
    plain, fast = (values(solver, signals, atoms, counts) for solver in (ista, fista))
    assert plain[:2] == pytest.approx(fast[:2], rel=1e-12)
    assert fast[2] < plain[2]
    assert fast[3] < plain[3]
    assert plain[4] == pytest.approx(fast[4], rel=1e-2)
    assert values(fista, signals, atoms, (1000,))[0] == pytest.approx(fast[5], rel=1e-4)
    assert values(ista, signals, atoms, (2000,))[0] == pytest.approx(fast[5], rel=1e-3)
    every = values(ista, signals, atoms, tuple(range(1, 20)))
    assert all(after < before for before, after in itertools.pairwise(every))


def test_the_third_step_takes_the_gradient_at_the_extrapolated_point() -> None:
    signals, atoms = problem(3, 8)
    step, l1, l2 = step_of(atoms, 5), 0.1, 0.05
    matrix = atoms[:, :, 0].T

    def shrink(codes: Tensor) -> Tensor:
        return torch.clamp(codes - step * l1, min=0) / (1 + 2 * step * l2)

    def run(at_point: bool) -> Tensor:
        z, y, t = torch.zeros(4, 8, 5, dtype=torch.float64), None, 1.0
        y = z
        for _ in range(6):
            read = y if at_point else z
            new = shrink(y + step * matrix.T @ (signals - matrix @ read))
            later = (1 + math.sqrt(1 + 4 * t * t)) / 2
            y, z, t = new + (t - 1) / later * (new - z), new, later
        return z

    found = fista(signals, atoms, step, 6, l1, l2)
    torch.testing.assert_close(found, run(at_point=True))
    assert (found - run(at_point=False)).abs().max() > 1e-3


def test_one_step_is_a_threshold_of_the_correlations() -> None:
    signals, atoms = problem(4, 8)
    expected = torch.relu((0.3 * analysis(signals, atoms)).abs() - 0.3 * 0.1)
    signs = torch.sign(analysis(signals, atoms))
    torch.testing.assert_close(fista(signals, atoms, 0.3, 1), expected * (signs > 0))
    both = fista(signals, atoms, 0.3, 1, positive=False)
    torch.testing.assert_close(both, expected * signs)


def test_codes_are_sparse_and_vanish_where_they_cost_too_much() -> None:
    signals, atoms = problem(5)
    step = step_of(atoms, 5)
    share = float((fista(signals, atoms, step, 200) == 0).double().mean())
    assert 0.35 < share < 0.75
    assert fista(signals, atoms, step, 5, l1=1e6).abs().max() == 0
    # A minimum: no small move in a direction that is allowed makes it better.
    codes = fista(signals, atoms, step, 1500, l1=0.1, l2=0.2)
    best = objective(signals, codes, atoms, 0.1, 0.2)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        move = 1e-3 * torch.randn(codes.shape, generator=generator, dtype=torch.float64)
        assert objective(signals, torch.relu(codes + move), atoms, 0.1, 0.2) > best


@pytest.mark.parametrize("positive", [True, False])
def test_gradients_are_those_of_differences(positive: bool) -> None:
    signals, atoms = problem(6, 4, 3)
    signals, atoms = signals[:2].requires_grad_(), atoms.detach().requires_grad_()

    def run(x: Tensor, a: Tensor) -> Tensor:
        return fista(x, a, 0.2, 3, 0.05, 0.1, positive)

    assert torch.autograd.gradcheck(run, (signals, atoms))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("kernel", "length"), [(1, 1), (1, 7), (3, 7), (3, 2), (5, 3)])
def test_the_step_size_follows_the_largest_eigenvalue(kernel: int, length: int, seed: int) -> None:
    torch.manual_seed(seed)
    layer = SparseCoding(12, 16, kernel).double()
    signals = torch.randn(3, 12, length, dtype=torch.float64)
    atoms = unit_atoms(layer.weight).detach()
    true = float(torch.linalg.matrix_norm(as_matrix(atoms, length), 2)) ** 2
    found = float(largest_eigenvalue(atoms, length))
    assert found == pytest.approx(max(1.0, true), rel=0.03)
    assert found <= true * (1 + 1e-9)
    expected = fista(signals, atoms, 0.9 / found, 2)
    torch.testing.assert_close(layer(signals).detach(), expected)


@pytest.mark.parametrize("size", [(64, 64), (16, 64), (64, 16)])
def test_steps_are_never_too_long(size: tuple[int, int]) -> None:
    """Descent needs step * lambda_max < 2; meant is .9."""
    for seed in range(5):
        torch.manual_seed(seed)
        atoms = unit_atoms(torch.randn(*size, 1))
        true = float(torch.linalg.matrix_norm(atoms[:, :, 0], 2)) ** 2
        assert 0.9 <= 0.9 / float(largest_eigenvalue(atoms, 1)) * true + 1e-4 < 0.93


def test_the_layer_has_no_state_but_its_weights() -> None:
    torch.manual_seed(0)
    layer = SparseCoding(5, 6)
    signals = torch.randn(2, 5, 3)
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    assert list(before) == ["weight"]
    first = layer(signals).detach()
    assert torch.equal(layer.eval()(signals).detach(), first)
    assert torch.equal(layer.weight.detach(), before["weight"])


def test_the_layer_runs_with_other_weights() -> None:
    torch.manual_seed(0)
    layer, other = SparseCoding(5, 6), SparseCoding(5, 6)
    signals = torch.randn(2, 5, 3)
    layer(signals)
    with torch.no_grad():
        found = functional_call(layer, dict(other.named_parameters()), (signals,))
        torch.testing.assert_close(found, other(signals), rtol=1e-2, atol=1e-2)
        assert not torch.allclose(found, layer(signals), atol=0.05)


def test_sizes_of_atoms_do_not_matter_and_zeros_are_no_trouble() -> None:
    torch.manual_seed(0)
    layer = SparseCoding(5, 6)
    signals = torch.randn(2, 5, 3)
    expected = layer(signals).detach()
    with torch.no_grad():
        layer.weight.mul_(torch.arange(1.0, 7.0)[:, None, None])
        torch.testing.assert_close(layer(signals), expected, rtol=1e-2, atol=1e-2)
        layer.weight.zero_()
    codes = layer(signals)
    codes.sum().backward()
    assert codes.abs().max() == 0
    assert layer.weight.grad is not None
    assert layer.weight.grad.isfinite().all()
    assert all(value.isfinite().all() for value in layer.state_dict().values())
    with torch.no_grad():
        layer.weight.copy_(torch.randn(6, 5, 1))
    assert layer(signals).abs().max() > 0


def test_wrong_sizes_are_explained() -> None:
    with pytest.raises(SpaceError, match="must be odd, got 2"):
        SparseCoding(3, 3, 2)
    with pytest.raises(SpaceError, match="at least 1 step, got 0"):
        SparseCoding(3, 3, steps=0)
