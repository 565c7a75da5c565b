"""What every family must keep, now and later: plain functions that take a `Case`.

Each check is told how to make inputs, nothing else about the family. `CHECKS` lists them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call

from meritnas.families.family import Family
from meritnas.space.architecture import Architecture
from meritnas.supernet.gates import Gate, Gates, mixture, one_path
from meritnas.supernet.supernet import Supernet, leading_block, module_of


@dataclass(frozen=True)
class Case:
    """A family, and how inputs for it are made: (rows, seed) -> inputs."""

    name: str
    family: Family
    inputs: Callable[[int, int], Tensor]

    def random_picks(self, n: int, seed: int = 0) -> list[tuple[int, ...]]:
        space = self.family.space
        rng = np.random.default_rng(seed)
        corners = [tuple(0 for _ in space.sizes), tuple(size - 1 for size in space.sizes)]
        return corners + [space.picks(space.random(rng)) for _ in range(n)]

    def random_mixture(self, seed: int, *, drop: bool) -> Gates:
        """Random weights; with `drop`, options are left out but for at least one a decision."""
        rng = np.random.default_rng(seed)
        rows = []
        for size in self.family.space.sizes:
            row = rng.uniform(0.1, 1.0, size)
            if drop:
                row[rng.choice(size, rng.integers(0, size), replace=False)] = 0.0
            rows.append(torch.tensor(row / row.sum(), dtype=torch.float32, requires_grad=True))
        return mixture(rows)


def parameters(supernet: Supernet) -> dict[str, nn.Parameter]:
    return dict(module_of(supernet).named_parameters())


def one_path_equals_the_child_with_extracted_weights(case: Case) -> None:
    supernet = case.family.supernet(seed=1)
    for k, picks in enumerate(case.random_picks(8)):
        child = case.family.child(case.family.space.architecture(picks), seed=99)
        child.load_state_dict(supernet.extract(picks))
        inputs = case.inputs(7, k)
        with torch.no_grad():
            expected = supernet(inputs, one_path(picks))
            torch.testing.assert_close(child(inputs), expected, atol=1e-5, rtol=1e-5)
        assert expected.abs().max() > 0


def several_at_once_equal_one_by_one(case: Case) -> None:
    supernet = case.family.supernet(seed=1)
    picks = case.random_picks(8)
    picks.append(picks[-1])
    inputs = case.inputs(7, 0)
    with torch.no_grad():
        found = supernet.each(inputs, picks)
        for row, outputs in zip(picks, found, strict=True):
            expected = supernet(inputs, one_path(row))
            torch.testing.assert_close(outputs, expected, atol=1e-5, rtol=1e-5)


def given_weights_replace_the_own(case: Case) -> None:
    supernet, other = (case.family.supernet(seed=seed) for seed in (1, 2))
    for picks in case.random_picks(4):
        gates, inputs = one_path(picks), case.inputs(7, 0)
        blocks = {
            name: parameters(other)[name].detach()[tuple(slice(extent) for extent in extents)]
            for name, extents in other.blocks(gates).items()
        }
        with torch.no_grad():
            expected = other(inputs, gates)
            assert not torch.allclose(supernet(inputs, gates), expected)
            torch.testing.assert_close(supernet(inputs, gates, blocks), expected)


def extracted_weights_are_copies(case: Case) -> None:
    supernet = case.family.supernet(seed=1)
    before = {name: param.detach().clone() for name, param in parameters(supernet).items()}
    for tensor in supernet.extract(case.random_picks(1)[-1]).values():
        tensor.add_(1.0)
    for name, param in parameters(supernet).items():
        assert torch.equal(param, before[name])


def mixture_on_one_option_equals_the_one_path(case: Case) -> None:
    supernet = case.family.supernet(seed=2)
    inputs = case.inputs(5, 0)
    for picks in case.random_picks(4):
        sizes = case.family.space.sizes
        rows = [torch.eye(size)[pick] for size, pick in zip(sizes, picks, strict=True)]
        with torch.no_grad():
            torch.testing.assert_close(
                supernet(inputs, mixture(rows)), supernet(inputs, one_path(picks))
            )


def options_of_weight_zero_play_no_part(case: Case) -> None:
    """Whether an option of weight zero is listed as active or left out is the same function."""
    supernet = case.family.supernet(seed=3)
    inputs = case.inputs(5, 1)
    gates = case.random_mixture(0, drop=True)
    listed = tuple(Gate(tuple(range(len(gate.weights))), gate.weights) for gate in gates)  # type: ignore[arg-type]
    with torch.no_grad():
        torch.testing.assert_close(supernet(inputs, gates), supernet(inputs, listed))


def gate_gradient_is_the_directional_derivative(case: Case) -> None:
    supernet = module_of(case.family.supernet(seed=4)).double()
    inputs = case.inputs(6, 2).double()
    rng = np.random.default_rng(0)
    rows = [torch.tensor(rng.uniform(0.2, 1, s), requires_grad=True) for s in _sizes(case)]
    target = torch.tensor(rng.normal(size=supernet(inputs, mixture(rows)).shape))

    def value(values: list[Tensor]) -> Tensor:
        return (supernet(inputs, mixture(values)) * target).sum()

    gradients = torch.autograd.grad(value(rows), rows)
    for i, row in enumerate(rows):
        for option in range(len(row)):
            moved = [r.detach().clone() for r in rows]
            moved[i][option] += 1e-6
            up = value(moved)
            moved[i][option] -= 2e-6
            slope = float((up - value(moved)).detach()) / 2e-6
            assert abs(slope - float(gradients[i][option])) < 1e-4 * max(1.0, abs(slope))


def _gates_to_try(case: Case) -> list[Gates]:
    gates = [one_path(picks) for picks in case.random_picks(4)]
    return gates + [case.random_mixture(seed, drop=True) for seed in range(3)]


def no_weight_outside_the_blocks_has_a_gradient(case: Case) -> None:
    supernet = case.family.supernet(seed=5)
    named = parameters(supernet)
    for gates in _gates_to_try(case):
        for param in named.values():
            param.grad = None
        supernet(case.inputs(50, 3), gates).square().sum().backward()
        blocks = supernet.blocks(gates)
        assert set(blocks) <= set(named)
        for name, param in named.items():
            touched = torch.zeros_like(param) if param.grad is None else param.grad != 0
            inside = leading_block(touched, blocks[name]) if name in blocks else touched[:0]
            assert inside.sum() == touched.sum()


def no_weight_outside_the_blocks_is_read_and_their_borders_are(case: Case) -> None:
    supernet = case.family.supernet(seed=5)
    inputs = case.inputs(300, 3)  # enough rows for every category to occur
    for gates in _gates_to_try(case):
        blocks = supernet.blocks(gates)
        with torch.no_grad():
            expected = supernet(inputs, gates)
            poisoned = {}
            for name, param in parameters(supernet).items():
                poisoned[name] = torch.full_like(param, torch.nan)
                if name in blocks:
                    assert len(blocks[name]) == param.dim()
                    own = leading_block(param, blocks[name])
                    leading_block(poisoned[name], blocks[name]).copy_(own)
            module = module_of(supernet)
            found = functional_call(module, poisoned, (inputs, gates))
            assert torch.equal(found, expected)
            for name, extents in blocks.items():
                for dimension, extent in enumerate(extents):
                    broken = {key: value.clone() for key, value in poisoned.items()}
                    broken[name].select(dimension, extent - 1).fill_(torch.nan)
                    assert functional_call(module, broken, (inputs, gates)).isnan().any()


def whole_uses_all_weights(case: Case) -> None:
    supernet = case.family.supernet(seed=6)
    shapes = {name: tuple(param.shape) for name, param in parameters(supernet).items()}
    assert {n: tuple(e) for n, e in supernet.blocks(supernet.whole()).items()} == shapes
    outputs = supernet(case.inputs(3, 0), supernet.whole())
    assert outputs.shape[0] == 3


def text_and_json_lead_back(case: Case) -> None:
    for picks in case.random_picks(6):
        architecture = case.family.space.architecture(picks)
        assert case.family.parse(str(architecture)) == architecture
        data = json.loads(json.dumps(architecture.to_json()))
        assert Architecture.from_json(data) == architecture


def restricting_keeps_texts_costs_and_children(case: Case) -> None:
    rng = np.random.default_rng(7)
    for _ in range(4):
        kept = [np.sort(rng.choice(s, rng.integers(1, s + 1), replace=False)) for s in _sizes(case)]
        smaller = case.family.restrict(kept)
        assert smaller.space.sizes == tuple(len(k) for k in kept)
        picks = [int(rng.integers(len(k))) for k in kept]
        architecture = smaller.space.architecture(picks)
        original = [int(k[p]) for k, p in zip(kept, picks, strict=True)]
        assert architecture == case.family.space.architecture(original)
        assert set(smaller.costs) == set(case.family.costs)
        for name in case.family.costs:
            assert smaller.cost(architecture, name) == case.family.cost(architecture, name)
        ours, theirs = smaller.child(architecture, 3), case.family.child(architecture, 3)
        for name, tensor in ours.state_dict().items():
            assert torch.equal(tensor, theirs.state_dict()[name])


def params_are_what_counting_the_child_gives(case: Case) -> None:
    for picks in case.random_picks(8):
        architecture = case.family.space.architecture(picks)
        child = case.family.child(architecture)
        counted = sum(param.numel() for param in child.parameters())
        assert case.family.cost(architecture, "params") == counted


def child_is_a_plain_module_that_extract_fills(case: Case) -> None:
    supernet = case.family.supernet(seed=8)
    for picks in case.random_picks(3):
        child = case.family.child(case.family.space.architecture(picks))
        state = child.state_dict()
        weights = supernet.extract(picks)
        assert list(weights) == list(state)
        assert {n: t.shape for n, t in weights.items()} == {n: t.shape for n, t in state.items()}
        owned = {param.data_ptr() for param in child.parameters()}
        assert not owned & {param.data_ptr() for param in parameters(supernet).values()}
        assert not any(module is module_of(supernet) for module in child.modules())


def seeds_decide_the_weights_and_leave_the_global_generator_alone(case: Case) -> None:
    architecture = case.family.random(0)
    for make in (
        lambda seed: module_of(case.family.supernet(seed=seed)),
        lambda seed: case.family.child(architecture, seed=seed),
    ):
        torch.manual_seed(11)
        expected = torch.rand(3)
        torch.manual_seed(11)
        first, again, other = make(5), make(5), make(6)
        assert torch.equal(torch.rand(3), expected)
        same = [torch.equal(a, b) for a, b in _pairs(first, again)]
        differ = [not torch.equal(a, b) for a, b in _pairs(first, other)]
        assert all(same)
        assert all(differ)


def _pairs(a: nn.Module, b: nn.Module) -> list[tuple[Tensor, Tensor]]:
    return list(zip(a.parameters(), b.parameters(), strict=True))


def _sizes(case: Case) -> tuple[int, ...]:
    return case.family.space.sizes


CHECKS: tuple[Callable[[Case], None], ...] = (
    one_path_equals_the_child_with_extracted_weights,
    several_at_once_equal_one_by_one,
    given_weights_replace_the_own,
    extracted_weights_are_copies,
    mixture_on_one_option_equals_the_one_path,
    options_of_weight_zero_play_no_part,
    gate_gradient_is_the_directional_derivative,
    no_weight_outside_the_blocks_has_a_gradient,
    no_weight_outside_the_blocks_is_read_and_their_borders_are,
    whole_uses_all_weights,
    text_and_json_lead_back,
    restricting_keeps_texts_costs_and_children,
    params_are_what_counting_the_child_gives,
    child_is_a_plain_module_that_extract_fills,
    seeds_decide_the_weights_and_leave_the_global_generator_alone,
)
