from __future__ import annotations

import numpy as np
import torch

from meritnas import tabular_space
from meritnas.supernet.gates import (
    mixture,
    one_path,
    tracked,
    tracked_all,
    tracked_mixture,
    two_paths,
)

SIZES = (3, 2)


def outputs(gates: object) -> torch.Tensor:
    supernet = tabular_space(4, 1, 2, (2, 3, 5)).supernet(0)
    inputs = torch.randn(6, 4, generator=torch.Generator().manual_seed(0))
    return supernet(inputs, gates)  # type: ignore[arg-type]


def test_tracked_gates_run_one_path_and_record_gradients() -> None:
    gates, rows = tracked([2, 0], SIZES)
    assert [gate.active for gate in gates] == [(2,), (0,)]
    assert [row.tolist() for row in rows] == [[0, 0, 1], [1, 0]]
    assert all(gate.weights is row for gate, row in zip(gates, rows, strict=True))
    assert all(row.requires_grad and row.is_leaf for row in rows)


def test_a_tracked_path_computes_what_the_path_computes() -> None:
    gates, rows = tracked([1, 2], (3, 3))
    found = outputs(gates)
    torch.testing.assert_close(found, outputs(one_path([1, 2])))
    slopes = torch.autograd.grad(found.sum(), rows)
    assert all(slope[k] != 0 for slope, k in zip(slopes, [1, 2], strict=True))
    assert slopes[0][[0, 2]].tolist() == [0.0, 0.0]


def test_the_gate_gradient_is_the_product_of_output_and_its_gradient() -> None:
    generator = torch.Generator().manual_seed(1)
    output = torch.randn(6, 3, generator=generator, dtype=torch.float64, requires_grad=True)
    head = torch.randn(3, generator=generator, dtype=torch.float64)

    def loss(units: torch.Tensor) -> torch.Tensor:
        return (units @ head).tanh().square().mean()

    gate = torch.ones((), dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(loss(output * gate), gate)
    (by_output,) = torch.autograd.grad(loss(output), output)
    torch.testing.assert_close(slope, (by_output * output).sum())


def test_two_paths_add_a_second_option_of_weight_zero() -> None:
    gates, rows = two_paths([2, 0], [1, None], SIZES)
    assert [gate.active for gate in gates] == [(2, 1), (0,)]
    assert rows[0].tolist() == [0, 0, 1]
    both, leaves = two_paths([1, 2], [0, 0], (3, 3))
    found = outputs(both)
    torch.testing.assert_close(found, outputs(one_path([1, 2])), atol=1e-6, rtol=1e-5)
    slopes = torch.autograd.grad(found.sum(), leaves)
    assert slopes[0][0] != 0
    assert slopes[0][2] == 0


def test_a_tracked_mixture_holds_leaves_and_leaves_out_zeros() -> None:
    rows = [torch.tensor([0.5, 0.0, 0.5]).requires_grad_(), torch.tensor([0.2, 0.8])]
    gates, leaves = tracked_mixture(rows)
    assert [gate.active for gate in gates] == [(0, 2), (0, 1)]
    assert all(leaf.is_leaf and leaf.requires_grad for leaf in leaves)
    torch.testing.assert_close(leaves[0], rows[0].detach())
    assert [gate.active for gate in mixture(rows)] == [(0, 2), (0, 1)]


def test_all_that_takes_part_runs_even_at_weight_zero() -> None:
    rows = [torch.tensor([0.0, 0.0, 1.0]), torch.tensor([1.0, 0.0])]
    parts = [np.array([True, False, True]), np.array([True, True])]
    gates, leaves = tracked_all(rows, parts)
    assert [gate.active for gate in gates] == [(0, 2), (0, 1)]
    assert [leaf.tolist() for leaf in leaves] == [[0, 0, 1], [1, 0]]
