from __future__ import annotations

import pytest
import torch

from meritnas import recurrent_space
from meritnas.errors import SpaceError, UsageError
from meritnas.supernet.gates import one_path

ALL = "|tanh~0|+|relu~0|sigmoid~1|+|identity~0|tanh~1|relu~2|"


def test_parameters_of_the_papers_model() -> None:
    """6.01 million for words, 0.36 for the input's maps, 0.18 for each of six edges."""
    space = recurrent_space(10_000)
    assert space.cost(ALL) == 7_450_000
    assert sum(p.numel() for p in space.child(ALL).parameters()) == 7_450_000
    one_zero = ALL.replace("sigmoid", "zero")
    assert space.cost(one_zero) == 7_450_000 - 300 * 300
    assert sum(p.numel() for p in space.child(one_zero).parameters()) == 7_360_000


def test_numbers_of_cells() -> None:
    assert recurrent_space(10).space.count() == 5**6
    # One of n predecessors and five activations for the n-th of eight nodes.
    assert recurrent_space(10, 4, 8, 1).space.count() == 40_320 * 5**8


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


@pytest.mark.parametrize("nodes", [1, 3])
def test_windows_with_a_carried_state_are_one_long_window(nodes: int) -> None:
    space = recurrent_space(9, 4, nodes)
    picks = space.space.picks(space.random(0))
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


def test_dropout_is_for_training_only() -> None:
    space = recurrent_space(9, 8)
    plain, dropping = space.child(ALL, seed=1), space.child(ALL, seed=1, dropout=0.5)
    assert list(plain.state_dict()) == list(dropping.state_dict())
    words = torch.randint(9, (2, 5))
    torch.testing.assert_close(dropping.eval()(words), plain(words))
    assert not torch.allclose(dropping.train()(words), plain(words))


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
