from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from meritnas import SpaceError, TableInputs, TabularSpace, tabular_space
from meritnas.data.columns.inputs import embedding_width
from meritnas.families.tabular.dropout import PooledDropout
from meritnas.families.tabular.supernet import embed_table
from meritnas.supernet.gates import mixture

spaces = st.builds(
    lambda numbers, cards, embedding, outputs, widths: tabular_space(
        TableInputs(numbers, tuple(cards), embedding), outputs, len(widths), widths
    ),
    st.integers(1, 6),
    st.lists(st.integers(1, 40), max_size=4),
    st.sampled_from([None, None, 1, 2, 5]),
    st.integers(1, 4),
    st.lists(st.lists(st.integers(2, 20), min_size=1, max_size=3), min_size=1, max_size=4),
)


def multiply_adds(child: nn.Module, inputs: Tensor) -> int:
    """What the linear layers do for one row, counted while they do it."""
    counted = []

    def count(module: nn.Module, taken: tuple[Tensor, ...], given: Tensor) -> None:
        del module
        counted.append(taken[0].shape[1] * given.shape[1])

    for module in child.modules():
        if isinstance(module, nn.Linear):
            module.register_forward_hook(count)
    child(inputs)
    return sum(counted)


@settings(max_examples=60)
@given(spaces, st.integers(0, 1000))
def test_costs_are_those_of_the_real_child(space: TabularSpace, seed: int) -> None:
    architecture = space.random(seed)
    child = space.child(architecture)
    counts = {name: param.numel() for name, param in child.named_parameters()}
    assert space.cost(architecture) == space.cost(architecture, "params") == sum(counts.values())
    embeddings = sum(n for name, n in counts.items() if name.startswith("inputs."))
    assert embeddings == space.inputs.embedding_params
    assert space.cost(architecture, "params-paper") == sum(counts.values()) - embeddings
    inputs = torch.zeros(1, space.inputs.numbers + len(space.inputs.cardinalities))
    assert space.cost(architecture, "flops") == multiply_adds(child, inputs)
    assert child(inputs).shape == (1, space.outputs)


def test_several_limits_hold_at_once() -> None:
    space = tabular_space(TableInputs(3, (4, 9)), 2, 3, (2, 4, 8, 16))
    feasible = space.feasible(max_params=250, max_flops=150, max_params_paper=180)
    zeros = [np.zeros(4)] * 3
    for architecture in feasible.sample(zeros, 100, seed=0):
        assert space.cost(architecture, "params") <= 250
        assert space.cost(architecture, "flops") <= 150
        assert space.cost(architecture, "params-paper") <= 180
    every = [space.space.architecture(p) for p in np.ndindex(4, 4, 4)]
    fits = [
        space.cost(a, "params") <= 250
        and space.cost(a, "flops") <= 150
        and space.cost(a, "params-paper") <= 180
        for a in every
    ]
    assert feasible.count() == sum(fits)
    assert 0 < sum(fits) < 64


def test_unknown_costs_and_broken_limits_are_refused() -> None:
    space = tabular_space(3, 1, 2, (2, 4))
    with pytest.raises(SpaceError, match="no cost 'energy' here; there are params"):
        space.cost("2-2", "energy")
    with pytest.raises(SpaceError, match="no cost 'energy'"):
        space.within({"energy": 3})
    with pytest.raises(SpaceError, match=r"whole number, got 30\.5"):
        space.within({"params": 30.5})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"layers": 0}, "layers=0"),
        ({"outputs": 0}, "outputs=0"),
        ({"inputs": 0}, "at least one input"),
        ({"widths": []}, "widths of at least 2"),
        ({"widths": [0, 4]}, "widths of at least 2"),
        ({"widths": [[2, 4], [3]]}, "each of 3 layers is needed, got 2"),
    ],
)
def test_spaces_that_make_no_sense_are_refused(arguments: dict[str, object], says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        tabular_space(**{"inputs": 3, "outputs": 1, "layers": 3, **arguments})  # type: ignore[arg-type]


def test_widths_are_sorted_and_may_differ_by_layer() -> None:
    space = tabular_space(3, 1, 2, [[8, 2, 8], [5]])
    assert space.widths == ((2, 8), (5,))
    assert tabular_space(3, 1, 2, (4, 2)).widths == ((2, 4), (2, 4))


@pytest.mark.parametrize("cardinality", [1, 2, 3, 10, 1000, 10**6])
def test_embeddings_are_narrower_than_their_column_is_wide(cardinality: int) -> None:
    width = embedding_width(cardinality)
    assert 1 <= width <= 50
    assert width < max(2, cardinality)


def test_columns_of_one_embedding_width_share_a_table_but_no_rows() -> None:
    inputs = TableInputs(2, (3, 2, 3), embedding=4)
    embed = embed_table(inputs)
    rows = torch.tensor([[0.5, -1.0, 2.0, 1.0, 1.0], [7.0, 8.0, 1.0, 0.0, 2.0]])
    out = embed(rows)
    assert out.shape == (2, inputs.width) == (2, 14)
    assert torch.equal(out[:, :2], rows[:, :2])
    pieces = {tuple(piece.tolist()) for row in out for piece in row[2:].split(4)}
    assert len(pieces) == 6
    # A category that training never saw says nothing.
    assert embed(torch.zeros(1, 5)).eq(0).all()
    assert sum(p.numel() for p in embed.parameters()) == inputs.embedding_params == 8 * 4


def test_each_code_has_its_own_vector() -> None:
    inputs = TableInputs(0, (3, 30, 2, 30))
    embed = embed_table(inputs)
    zeros = embed(torch.zeros(1, 4))[0]
    for column, count in enumerate(inputs.cardinalities):
        seen = []
        for code in range(count):
            row = torch.zeros(1, 4)
            row[0, column] = code
            out = embed(row)[0]
            # Only this column's own part of the output answers.
            assert (out != zeros).sum() in (0, inputs.embedding_widths[column])
            seen.append(tuple(out.tolist()))
        assert len(set(seen)) == count


def test_the_child_is_made_of_torchs_own_modules() -> None:
    child = tabular_space(3, 2, 2, (4, 8)).child("8-4")
    kinds = [type(module) for module in child]
    assert kinds == [nn.Linear, nn.LayerNorm, nn.ReLU] * 2 + [nn.Linear]
    assert not list(child.buffers())


def test_a_mixture_of_widths_is_the_sum_of_padded_layers() -> None:
    space = tabular_space(3, 2, 2, ((2, 5, 6), (3, 4)))
    supernet = space.supernet(0)
    inputs = torch.randn(9, 3, generator=torch.Generator().manual_seed(0))
    rows = [torch.tensor([0.2, 0.3, 0.5]), torch.tensor([0.6, 0.4])]
    units = inputs
    for layer, row, widths in zip(supernet.layers, rows, space.widths, strict=True):
        linear = layer.linear
        scores = units @ linear.weight.T + linear.bias
        total = torch.zeros(9, max(widths))
        for weight, width in zip(row, widths, strict=True):
            part = scores[:, :width]
            spread = (part.var(dim=1, unbiased=False, keepdim=True) + 1e-5).sqrt()
            normal = (part - part.mean(dim=1, keepdim=True)) / spread
            total[:, :width] += weight * normal.clamp(min=0)
        units = total
    expected = units @ supernet.output.weight.T + supernet.output.bias
    torch.testing.assert_close(supernet(inputs, mixture(rows)), expected)


@pytest.mark.parametrize("inputs", [TableInputs(4), TableInputs(2, (3, 5))])
def test_dropout_changes_training_and_nothing_else(inputs: TableInputs) -> None:
    space = tabular_space(inputs, 2, 2, (8, 16))
    plain, dropped = space.child("8-16", seed=3), space.child("8-16", seed=3, dropout=0.5)
    assert plain.state_dict().keys() == dropped.state_dict().keys()
    for name, tensor in plain.state_dict().items():
        assert torch.equal(tensor, dropped.state_dict()[name])
    rows = torch.ones(5, inputs.numbers + len(inputs.cardinalities))
    assert not torch.equal(dropped(rows), plain(rows))
    assert torch.equal(dropped.eval()(rows), plain(rows))
    shares = [part.share for part in dropped.modules() if isinstance(part, PooledDropout)]
    assert shares == [0.5, 0.5]  # after each hidden layer
    assert not any(isinstance(part, PooledDropout) for part in plain.modules())
