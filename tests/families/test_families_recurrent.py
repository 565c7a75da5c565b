from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch

from meritnas import recurrent_space
from meritnas.credit.advantage import Advantage
from meritnas.errors import SpaceError, UsageError
from meritnas.families.recurrent.spec import Recurrent
from meritnas.settings.preset import Facts
from meritnas.space.decision import ZERO
from meritnas.supernet.gates import Gate, one_path, tracked

cells_alone = partial(recurrent_space, known_cells=False)
"""AdvantageNAS' space."""

ALL = "|tanh~0|+|relu~0|sigmoid~1|+|identity~0|tanh~1|relu~2|"
ALL_ZERO = "|zero~0|+|zero~0|zero~1|+|zero~0|zero~1|zero~2|"


def test_parameters_of_the_papers_model() -> None:
    """6.01 million for words, 0.36 for the input's maps, 0.18 for each of six edges."""
    space = recurrent_space(10_000)
    assert space.cost(ALL) == 7_450_000
    assert sum(p.numel() for p in space.child(ALL).parameters()) == 7_450_000
    one_zero = ALL.replace("sigmoid", "zero")
    assert space.cost(one_zero) == 7_450_000 - 300 * 300
    assert sum(p.numel() for p in space.child(one_zero).parameters()) == 7_360_000


def test_numbers_of_cells() -> None:
    assert cells_alone(10).space.count() == 5**6
    # One of n predecessors and five activations for the n-th of eight nodes.
    assert cells_alone(10, 4, 8, 1).space.count() == 40_320 * 5**8
    assert recurrent_space(10).space.count() == 5**6 + 2  # and GRU and LSTM
    assert recurrent_space(10, 4, 8, 1).space.count() == 40_320 * 5**8 + 2


def test_a_step_is_that_of_the_papers_appendix() -> None:
    space = recurrent_space(6, 3, 2)
    child = space.child("|tanh~0|+|zero~0|sigmoid~1|")
    maps = {name: param.detach() for name, param in child.named_parameters()}
    word, state = torch.tensor([[4]]), torch.randn(1, 3)
    with torch.no_grad():
        found, after = child.advance(word, state)
        x = maps["words.weight"][4][None]
        joined = x @ maps["from_words.weight"].T + state @ maps["from_state.weight"].T
        c, h = joined[:, :3].sigmoid(), joined[:, 3:].tanh()
        node0 = state + c * (h - state)

        def edge(i: int, source: torch.Tensor, act: object) -> torch.Tensor:
            c = (source @ maps[f"gates.{i}.weight"].T).sigmoid()
            if act is None:
                return source + c * (0 - source)
            return source + c * (act(source @ maps[f"maps.{i}.weight"].T) - source)  # type: ignore[operator]

        node1 = edge(0, node0, torch.tanh)
        node2 = (edge(1, node0, None) + edge(2, node1, torch.sigmoid)) / 2
        expected = (node1 + node2) / 2
    torch.testing.assert_close(after, expected)
    scores = expected @ maps["output.weight"].T + maps["output.bias"]
    torch.testing.assert_close(found[:, 0], scores)


def test_a_gate_weighs_the_activation_and_not_the_highway() -> None:
    """Slopes by the gates of a path are <dL/dy, c * act(W_h x)> of each edge (AdvantageNAS, eq. 7).

    The authors gate the activation only; what is left of the input, x - c * x, is not chosen.
    """
    space = cells_alone(6, 3, 1)
    supernet = space.supernet(0).double()
    words, state = torch.tensor([[4]]), torch.randn(1, 3, dtype=torch.float64)
    target = torch.randn(1, 3, dtype=torch.float64)
    held = {name: param.detach() for name, param in supernet.named_parameters()}
    joined = held["words.weight"][[4]] @ held["from_words.weight"].T
    joined = joined + state @ held["from_state.weight"].T
    node0 = state + joined[:, :3].sigmoid() * (joined[:, 3:].tanh() - state)
    opened = (node0 @ held["gates.0.weight"].T).sigmoid()
    mapped = node0 @ held["maps.0.weight"].T
    for name, act in {"tanh": mapped.tanh(), "identity": mapped, "zero": 0 * mapped}.items():
        pick = space.space.picks(space.parse(f"|{name}~0|"))
        gates, rows = tracked(pick, space.space.sizes)
        rows[0].data = rows[0].data.double()
        _, after = supernet.advance(words, gates, state=state)
        loss = (after * target).sum()
        slope = torch.autograd.grad(loss, rows, allow_unused=True)[0]
        found = torch.zeros(()) if slope is None else slope[pick[0]]
        expected = (target * opened * act).sum()
        torch.testing.assert_close(found.double(), expected)


def test_zero_is_an_option_that_gives_zeros() -> None:
    """It is tagged so, adds nothing to any coalition, and equals no activation at all."""
    for space in (cells_alone(7, 5), cells_alone(7, 5, 3, 1)):
        for decision in space.space.decisions:
            names = {option.name for option in decision.options if ZERO in option.tags}
            assert names == {"zero"}
        supernet = space.supernet(1)
        words = torch.randint(7, (3, 4))
        rng = np.random.default_rng(0)
        rows = [torch.from_numpy(rng.dirichlet(np.ones(size))) for size in space.space.sizes]
        zero = [k for k, option in enumerate(decision.options) if option.name == "zero"]
        none = [k for k, option in enumerate(decision.options) if option.name == "none"]
        for _ in range(8):
            others = [
                [k for k in range(len(row)) if k not in zero + none and rng.random() < 0.5]
                for row in rows
            ]
            without = tuple(Gate(tuple(o), row) for o, row in zip(others, rows, strict=True))
            with_ = tuple(Gate((*o, *zero), r) for o, r in zip(others, rows, strict=True))
            torch.testing.assert_close(supernet(words, with_), supernet(words, without))
            assert supernet.blocks(with_) == supernet.blocks(without)


def test_advantage_gives_zero_the_worst_of_the_others() -> None:
    """Appendix B: a policy that draws `zero` learns from the averages of the other activations."""
    space = cells_alone(7, 5)
    credit = Advantage(space.feasible())
    zeros = np.array(space.space.picks(space.parse(ALL_ZERO)))
    credit._averages = [np.array([3.0, -2.0, 1.0, 5.0, 9.0]) for _ in range(6)]
    assert credit._credited(zeros, np.full(6, 7.0)).tolist() == [-2.0] * 6


@pytest.mark.parametrize(
    ("nodes", "text"), [(1, "|tanh~0|"), (3, ALL), (3, "gru"), (3, "lstm")], ids=str
)
def test_windows_with_a_carried_state_are_one_long_window(nodes: int, text: str) -> None:
    space = recurrent_space(9, 4, nodes)
    picks = space.space.picks(space.parse(text))
    supernet = space.supernet(1)
    child = space.child(space.space.architecture(picks))
    child.load_state_dict(supernet.extract(picks))
    words = torch.randint(9, (3, 10))
    with torch.no_grad():
        whole = child(words)
        first, state = child.advance(words[:, :6])
        second, _ = child.advance(words[:, 6:], state)
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
        first, state = supernet.advance(words[:, :6], one_path(picks))
        second, _ = supernet.advance(words[:, 6:], one_path(picks), state=state)
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
        assert not torch.allclose(child(words[:, 6:]), whole[:, 6:])


@pytest.mark.parametrize("text", [ALL, "gru", "lstm"])
def test_dropout_is_for_training_only(text: str) -> None:
    space = recurrent_space(9, 8)
    plain, dropping = space.child(text, seed=1), space.child(text, seed=1, dropout=0.5)
    assert list(plain.state_dict()) == list(dropping.state_dict())
    words = torch.randint(9, (2, 5))
    torch.testing.assert_close(dropping.eval()(words), plain(words))
    assert not torch.allclose(dropping.train()(words), plain(words))


@pytest.mark.parametrize("text", [ALL, "gru"])
def test_a_supernet_drops_out_where_gradients_are_computed_and_judges_whole_networks(
    text: str,
) -> None:
    space = recurrent_space(9, 8)
    plain, dropping = space.supernet(1), space.supernet(1, dropout=0.5)
    gates, words = one_path(space.space.picks(space.parse(text))), torch.randint(9, (2, 5))
    assert not torch.allclose(dropping(words, gates), plain(words, gates))
    with torch.no_grad():
        torch.testing.assert_close(dropping(words, gates), plain(words, gates))


def test_the_papers_search_drops_out_and_learns_on_training_text() -> None:
    facts = Facts("text", 1000, window=35)
    paper, quick = (Recurrent().preset(name, facts, 1).space for name in ("paper", "quick"))
    assert isinstance(paper, Recurrent)
    assert isinstance(quick, Recurrent)
    assert (paper.search_dropout, paper.learnt_on()) == (0.5, "train")
    assert (quick.search_dropout, quick.learnt_on()) == (0.0, "valid")
    own = Recurrent(search_dropout=0.1, learn_on="valid").preset("paper", facts, 1).space
    assert (own.search_dropout, own.learnt_on()) == (0.1, "valid")
    with pytest.raises(UsageError, match="search_dropout must be from 0 to below 1, got 1"):
        Recurrent(search_dropout=1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "vocabulary must be at least 1, got 0"),
        ((10, 0), "width must be at least 1, got 0"),
        ((10, 4, 9), "nodes must be at least 1 and at most 8, got 9"),
        ((10, 4, 3, 2), "predecessors must be 1, as node 1 has one edge only, or None; got 2"),
    ],
)
def test_sizes_that_make_no_sense(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(SpaceError, match=message):
        recurrent_space(*arguments)


def test_what_is_no_cell_or_has_no_such_head_is_refused() -> None:
    space = recurrent_space(10, 4)
    with pytest.raises(SpaceError, match=r"'\|tanh~0\|' is no recurrent cell, which is written"):
        space.parse("|tanh~0|")
    with pytest.raises(SpaceError, match="softplus"):
        space.parse(ALL.replace("tanh", "softplus"))
    with pytest.raises(UsageError, match="no auxiliary head"):
        space.child(ALL, auxiliary=True)
    with pytest.raises(SpaceError, match="exactly 1 of the edges into each node"):
        recurrent_space(10, 4, 2, 1).parse("|tanh~0|+|tanh~0|tanh~1|")
