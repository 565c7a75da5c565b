"""What every family must keep, now and later: plain functions that take a `Case`.

Each check is told how to make inputs and little else about the family. `CHECKS` lists them all.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from meritnas.devices.placement import on_cpu, placed
from meritnas.devices.precision import computing_in, single
from meritnas.families.family import Family
from meritnas.families.int8_weights import COST, header_bytes, packed_bytes
from meritnas.families.live_memory import peak_bytes
from meritnas.families.tabular.family import TabularSpace
from meritnas.nn.sliced import SlicedBatchNorm, SlicedLayerNorm
from meritnas.space.architecture import Architecture
from meritnas.supernet.gates import Gate, Gates, mixture, one_path
from meritnas.supernet.supernet import Supernet, leading_block, module_of
from pretend_device import NAME, SecondDevice

Norms = SlicedBatchNorm | SlicedLayerNorm


@dataclass(frozen=True)
class Case:
    """A family, and how inputs for it are made: (rows, seed) -> inputs.

    Attributes:
        make: seed -> a supernet; None for the family's own.
        idle: whether a path may leave weights of its blocks without effect, because it is cut by
            an operation that does not look at what it reads.
        draws: whether an operation draws random numbers, so that running one more changes others.
        regroups: whether how many units are active changes which of them belong together, so that
            units of weight zero play a part.
        trained: whether networks begin with weights that they were given, whatever the seed.
        fused: whether other devices than the CPU have kernels of their own for a part, which the
            pretended one has not.
        codes: whether parts of weights may have no effect on a whole batch even where everything
            is mixed, because the codes that they make are zero, or a unit of few is off for all.
    """

    name: str
    family: Family
    inputs: Callable[[int, int], Tensor]
    make: Callable[[int], Supernet] | None = None
    idle: bool = False
    draws: bool = False
    codes: bool = False
    regroups: bool = False
    trained: bool = False
    fused: bool = False

    @property
    def sliced(self) -> bool:
        """Whether every weight of a block has an effect, for layers are all there is."""
        return isinstance(self.family, TabularSpace)

    def supernet(self, seed: int) -> Supernet:
        return self.family.supernet(seed=seed) if self.make is None else self.make(seed)

    def random_picks(self, n: int, seed: int = 0) -> list[tuple[int, ...]]:
        """The first and the last of all architectures, and random ones."""
        space = self.family.space
        rng = np.random.default_rng(seed)
        numbers = [np.arange(size) for size in space.sizes]
        corners = [self.family.within({}).best([sign * row for row in numbers]) for sign in (-1, 1)]
        if space.rule is None:
            assert [space.picks(corner) for corner in corners] == [
                tuple(0 for _ in space.sizes),
                tuple(size - 1 for size in space.sizes),
            ]
        return [space.picks(one) for one in (*corners, *(space.random(rng) for _ in range(n)))]

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


def run(supernet: Supernet | nn.Module, *arguments: object) -> Tensor:
    """Outputs, whatever random numbers operations draw the same in every call."""
    torch.manual_seed(0)
    outputs: Tensor = supernet(*arguments)  # type: ignore[arg-type]
    return outputs


def parameters(supernet: Supernet) -> dict[str, nn.Parameter]:
    return dict(module_of(supernet).named_parameters())


def one_path_equals_the_child_with_extracted_weights(case: Case) -> None:
    supernet = case.supernet(1)
    with torch.no_grad():
        for param in parameters(supernet).values():
            param.mul_(1 + 0.2 * torch.randn(param.shape)).add_(0.1 * torch.randn(param.shape))
    for k, picks in enumerate(case.random_picks(8)):
        child = case.family.child(case.family.space.architecture(picks), seed=99)
        child.load_state_dict(supernet.extract(picks))
        inputs = case.inputs(7, k)
        with torch.no_grad():
            expected = run(supernet, inputs, one_path(picks))
            torch.testing.assert_close(run(child, inputs), expected, atol=1e-5, rtol=1e-5)
        assert expected.abs().max() > 0


def several_at_once_equal_one_by_one(case: Case) -> None:
    supernet = case.supernet(1)
    picks = case.random_picks(8)
    picks.append(picks[-1])
    inputs = case.inputs(7, 0)
    with torch.no_grad():
        torch.manual_seed(0)
        found = supernet.each(inputs, picks)
        torch.manual_seed(0)
        for row, outputs in zip(picks, found, strict=True):
            expected = supernet(inputs, one_path(row))
            torch.testing.assert_close(outputs, expected, atol=1e-5, rtol=1e-5)


def given_weights_replace_the_own(case: Case) -> None:
    supernet, other = (case.supernet(seed) for seed in (1, 2))
    if case.trained:
        with torch.no_grad():
            for param in parameters(other).values():
                param.mul_(1.5)
    for picks in case.random_picks(4):
        gates, inputs = one_path(picks), case.inputs(7, 0)
        blocks = {
            name: parameters(other)[name].detach()[tuple(slice(extent) for extent in extents)]
            for name, extents in other.blocks(gates).items()
        }
        with torch.no_grad():
            expected = run(other, inputs, gates)
            assert not torch.allclose(run(supernet, inputs, gates), expected)
            torch.testing.assert_close(run(supernet, inputs, gates, blocks), expected)


def extracted_weights_are_copies(case: Case) -> None:
    supernet = case.supernet(1)
    before = {name: param.detach().clone() for name, param in parameters(supernet).items()}
    for tensor in supernet.extract(case.random_picks(1)[-1]).values():
        tensor.add_(1)
    for name, param in parameters(supernet).items():
        assert torch.equal(param, before[name])


def mixture_on_one_option_equals_the_one_path(case: Case) -> None:
    supernet = case.supernet(2)
    inputs = case.inputs(5, 0)
    for picks in case.random_picks(4):
        sizes = case.family.space.sizes
        rows = [torch.eye(size)[pick] for size, pick in zip(sizes, picks, strict=True)]
        with torch.no_grad():
            torch.testing.assert_close(
                run(supernet, inputs, mixture(rows)), run(supernet, inputs, one_path(picks))
            )


def options_of_weight_zero_play_no_part(case: Case) -> None:
    """Whether an option of weight zero is listed as active or left out is the same function.

    Where operations draw numbers it is the same law, but not the same draw.
    """
    if case.draws:
        pytest.skip("listed options draw numbers that those left out do not")
    if case.regroups:
        pytest.skip("heads are parts of as many units as are listed")
    supernet = case.supernet(3)
    inputs = case.inputs(5, 1)
    gates = case.random_mixture(0, drop=True)
    listed = tuple(Gate(tuple(range(len(gate.weights))), gate.weights) for gate in gates)  # type: ignore[arg-type]
    with torch.no_grad():
        torch.testing.assert_close(run(supernet, inputs, gates), run(supernet, inputs, listed))


def gate_gradient_is_the_directional_derivative(case: Case) -> None:
    supernet = module_of(case.supernet(4)).double()
    inputs = case.inputs(6, 2)
    inputs = inputs.double() if inputs.is_floating_point() else inputs
    rng = np.random.default_rng(0)
    rows = [torch.tensor(rng.uniform(0.2, 1, s), requires_grad=True) for s in _sizes(case)]
    target = torch.tensor(rng.normal(size=run(supernet, inputs, mixture(rows)).shape))

    def value(values: list[Tensor]) -> Tensor:
        return (run(supernet, inputs, mixture(values)) * target).sum()

    gradients = torch.autograd.grad(value(rows), rows)
    for direction in _directions(_sizes(case), rng):
        expected = sum(float(g @ d) for g, d in zip(gradients, direction, strict=True))
        slopes = []
        for step in (1e-6, 1e-7, 1e-8):  # within the shortest, no ReLU changes sides
            up, down = (
                value([r.detach() + sign * step * d for r, d in zip(rows, direction, strict=True)])
                for sign in (1, -1)
            )
            slopes.append(float((up - down).detach()) / (2 * step))
        off = min(abs(slope - expected) for slope in slopes)
        assert off < 1e-4 * max(1.0, abs(expected))


def _directions(sizes: tuple[int, ...], rng: np.random.Generator) -> list[list[Tensor]]:
    """Each option by itself; of many options some by themselves, and all together."""
    single = [(i, option) for i, size in enumerate(sizes) for option in range(size)]
    some = single
    if len(single) > 30:
        some = [single[k] for k in rng.choice(len(single), 12, replace=False)]
    found = []
    for i, option in some:
        found.append([torch.zeros(size, dtype=torch.float64) for size in sizes])
        found[-1][i][option] = 1.0
    if len(single) > 30:
        found += [[torch.tensor(rng.normal(size=size)) for size in sizes] for _ in range(2)]
    return found


def _gates_to_try(case: Case) -> list[Gates]:
    gates = [one_path(picks) for picks in case.random_picks(4)]
    return gates + [case.random_mixture(seed, drop=True) for seed in range(3)]


def no_weight_outside_the_blocks_has_a_gradient(case: Case) -> None:
    supernet = case.supernet(5)
    named = parameters(supernet)
    for gates in _gates_to_try(case):
        for param in named.values():
            param.grad = None
        rows = 50 if case.sliced else 8
        supernet(case.inputs(rows, 3), gates).square().sum().backward()
        blocks = supernet.blocks(gates)
        assert set(blocks) <= set(named)
        for name, param in named.items():
            touched = torch.zeros_like(param) if param.grad is None else param.grad != 0
            inside = leading_block(touched, blocks[name]) if name in blocks else touched[:0]
            assert inside.sum() == touched.sum()


def no_weight_outside_the_blocks_is_read_and_their_borders_are(case: Case) -> None:
    supernet = case.supernet(5)
    # Of tables enough rows for every category to occur.
    inputs = case.inputs(300 if case.sliced else 8, 3)
    for gates in _gates_to_try(case):
        blocks = supernet.blocks(gates)
        with torch.no_grad():
            expected = run(supernet, inputs, gates)
            poisoned = {}
            for name, param in parameters(supernet).items():
                poisoned[name] = torch.full_like(param, torch.nan)
                if name in blocks:
                    assert len(blocks[name]) == param.dim()
                    own = leading_block(param, blocks[name])
                    leading_block(poisoned[name], blocks[name]).copy_(own)
            module = module_of(supernet)
            found = _with_weights(module, poisoned, inputs, gates)
            # Not bit by bit: torch's own GRU rounds otherwise where no weight asks for gradients.
            torch.testing.assert_close(found, expected, atol=1e-7, rtol=1e-6)
        if not case.sliced:
            _borders_have_a_gradient(supernet, inputs, gates, may_idle=case.idle)
            continue
        for name, extents in blocks.items():
            for dimension, extent in enumerate(extents):
                broken = {key: value.clone() for key, value in poisoned.items()}
                broken[name].select(dimension, extent - 1).fill_(torch.nan)
                assert _with_weights(module, broken, inputs, gates).isnan().any()
    if not case.sliced:  # nothing is idle where everything is mixed
        gates = case.random_mixture(0, drop=False)
        _borders_have_a_gradient(supernet, inputs, gates, may_idle=case.codes)


def _with_weights(
    module: nn.Module, weights: dict[str, Tensor], inputs: Tensor, gates: Gates
) -> Tensor:
    torch.manual_seed(0)
    outputs: Tensor = functional_call(module, weights, (inputs, gates))
    return outputs


def _borders_have_a_gradient(
    supernet: Supernet, inputs: Tensor, gates: Gates, *, may_idle: bool
) -> None:
    """In cells of many weights: as strict, but for all of them in one pass.

    Of kernels only channels count: on small maps their outer pixels read nothing but padding.
    """
    blocks, named = supernet.blocks(gates), parameters(supernet)
    loss = run(supernet, inputs, gates).square().sum()
    found = torch.autograd.grad(loss, [named[name] for name in blocks], allow_unused=True)
    for (name, extents), gradient in zip(blocks.items(), found, strict=True):
        if gradient is None:
            assert may_idle, name
            continue
        for dimension, extent in enumerate(extents[:2]):
            # A cut path may leave numbers that are the same for all images, which norms remove.
            assert may_idle or gradient.select(dimension, extent - 1).abs().sum() > 0, name


def a_memory_changes_nothing(case: Case) -> None:
    """Options are taken away; what is kept from before is what would be computed."""
    if case.draws:
        pytest.skip("what was drawn once is kept, which no other draw equals")
    supernet = case.supernet(3)
    sizes = case.family.space.sizes
    rng = np.random.default_rng(0)
    rows = [torch.softmax(torch.from_numpy(rng.normal(size=n)).float(), 0) for n in sizes]
    everybody = [(i, k) for i, n in enumerate(sizes) for k in range(n)]
    order = [everybody[j] for j in rng.permutation(len(everybody))]
    steps = [0, 1, 2, len(order) // 2, len(order) // 2 + 1, len(order)]
    first, second = case.inputs(5, 1), case.inputs(5, 2)

    def without(count: int) -> Gates:
        gone = set(order[:count])
        return tuple(
            Gate(tuple(k for k in range(n) if (i, k) not in gone), row)
            for i, (n, row) in enumerate(zip(sizes, rows, strict=True))
        )

    with torch.no_grad():
        plain = [supernet(first, without(count)) for count in steps]
        other = supernet(second, without(0))
        with supernet.remembering():
            for count, expected in zip(steps, plain, strict=True):
                assert torch.equal(supernet(first, without(count)), expected)
            assert torch.equal(supernet(second, without(0)), other)
        for parameter in parameters(supernet).values():
            parameter.add_(0.5)
        assert not torch.equal(supernet(second, without(0)), other)


def whole_uses_all_weights(case: Case) -> None:
    supernet = case.supernet(6)
    shapes = {name: tuple(param.shape) for name, param in parameters(supernet).items()}
    whole = supernet.whole()
    if whole is None:  # options share nothing; then all of them together are all there is
        whole = case.random_mixture(0, drop=False)
    assert {n: tuple(e) for n, e in supernet.blocks(whole).items()} == shapes
    outputs = supernet(case.inputs(3, 0), whole)
    assert outputs.shape[0] == 3


def text_and_json_lead_back(case: Case) -> None:
    for picks in case.random_picks(6):
        architecture = case.family.space.architecture(picks)
        assert case.family.parse(str(architecture)) == architecture
        data = json.loads(json.dumps(architecture.to_json()))
        assert Architecture.from_json(data) == architecture


def restricting_keeps_texts_costs_and_children(case: Case) -> None:
    rng = np.random.default_rng(7)
    for _ in range(2 if case.family.nodes else 4):
        kept = [
            np.union1d(rng.choice(s, rng.integers(0, s), replace=False), [pick])
            for s, pick in zip(
                _sizes(case), case.random_picks(1, int(rng.integers(99)))[-1], strict=True
            )
        ]
        smaller = case.family.restrict(kept)
        assert smaller.space.sizes == tuple(len(k) for k in kept)
        architecture = smaller.random(rng)
        picks = smaller.space.picks(architecture)
        original = [int(k[p]) for k, p in zip(kept, picks, strict=True)]
        assert architecture == case.family.space.architecture(original)
        assert set(smaller.costs) == set(case.family.costs)
        for name in (*case.family.costs, *case.family.maxima):
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


def the_size_in_int8_is_that_of_its_weights(case: Case) -> None:
    for picks in case.random_picks(8):
        architecture = case.family.space.architecture(picks)
        with torch.device("meta"):
            state = case.family.child(architecture).state_dict()
        assert case.family.cost(architecture, COST) == header_bytes() + packed_bytes(state)


def peak_is_what_running_the_child_takes(case: Case) -> None:
    for picks in case.random_picks(8):
        architecture = case.family.space.architecture(picks)
        with torch.device("meta"):
            child = case.family.child(architecture).eval().to("meta")
        measured = peak_bytes(*case.family.running(child, "meta"))
        assert case.family.cost(architecture, "peak") == measured


def child_is_a_plain_module_that_extract_fills(case: Case) -> None:
    supernet = case.supernet(8)
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
        lambda seed: module_of(case.supernet(seed)),
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
        assert not any(differ) if case.trained else all(differ)


def networks_compute_in_half_precision_about_the_same(case: Case) -> None:
    inputs, supernet = case.inputs(8, 0), case.supernet(1)
    child = case.family.child(case.family.random(0), seed=1)
    for network, more in ((supernet, (case.random_mixture(0, drop=False),)), (child, ())):
        expected = run(network, inputs, *more)
        with computing_in("bf16", inputs):
            found = single(run(network, inputs, *more))
        assert found.dtype == expected.dtype
        assert found.isfinite().all()
        apart = (found - expected).norm() / expected.norm()
        assert apart < 0.1
        found.square().mean().backward()
        owned = [param for param in _module(network).parameters() if param.grad is not None]
        assert owned
        assert all(param.grad.dtype == param.dtype for param in owned)  # type: ignore[union-attr]


def networks_run_on_another_device(case: Case) -> None:
    """Each tensor that a network makes for itself is where its inputs are."""
    if case.fused:
        return
    inputs, gates = case.inputs(4, 0), case.random_mixture(0, drop=True)
    supernet = case.supernet(1)
    child = case.family.child(case.family.random(0), seed=1)
    expected = run(supernet, inputs, gates), run(child, inputs)
    with SecondDevice():
        there = placed(inputs, NAME)
        found = (
            run(placed(module_of(supernet), NAME), there, gates),
            run(placed(child, NAME), there),
        )
        for one, other in zip(found, expected, strict=True):
            torch.testing.assert_close(on_cpu(one), other, atol=1e-5, rtol=1e-5)
        found[0].square().mean().backward()
        assert any(param.grad is not None for param in module_of(supernet).parameters())


def _module(network: Supernet | nn.Module) -> nn.Module:
    return network if isinstance(network, nn.Module) else module_of(network)


def _pairs(a: nn.Module, b: nn.Module) -> list[tuple[Tensor, Tensor]]:
    """All weights but those of norms and PReLU, which begin with the same numbers."""
    return [
        pair
        for one, other in zip(a.modules(), b.modules(), strict=True)
        if not isinstance(one, nn.BatchNorm1d | nn.BatchNorm2d | nn.LayerNorm | nn.PReLU | Norms)
        for pair in zip(one.parameters(recurse=False), other.parameters(recurse=False), strict=True)
    ]


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
    a_memory_changes_nothing,
    whole_uses_all_weights,
    text_and_json_lead_back,
    restricting_keeps_texts_costs_and_children,
    params_are_what_counting_the_child_gives,
    the_size_in_int8_is_that_of_its_weights,
    peak_is_what_running_the_child_takes,
    child_is_a_plain_module_that_extract_fills,
    seeds_decide_the_weights_and_leave_the_global_generator_alone,
    networks_compute_in_half_precision_about_the_same,
    networks_run_on_another_device,
)
