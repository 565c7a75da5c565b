"""GRU and LSTM as members of the space of recurrent cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch import nn

from meritnas import recurrent_space
from meritnas.errors import SpaceError
from meritnas.space.architecture import Architecture
from meritnas.supernet.gates import Gate, mixture, one_path

ZEROS = "|zero~0|+|zero~0|zero~1|"


@pytest.mark.parametrize("predecessors", [None, 1])
def test_costs_of_all_networks_are_what_counting_them_gives(predecessors: int | None) -> None:
    space = recurrent_space(6, 3, 2, predecessors)
    every = np.array(list(itertools.product(*map(range, space.space.sizes))))
    found = every[space.space.valid(every)]
    assert len(found) == space.space.count()
    texts = set()
    for picks in found:
        architecture = space.space.architecture(picks)
        texts.add(architecture.text)
        child = space.child(architecture)
        weights = sum(param.numel() for param in child.parameters())
        assert space.cost(architecture) == weights
        # All but the embeddings, of which one is looked up, are used once for a word.
        assert space.cost(architecture, "flops") == weights - 6 * 3
    assert len(texts) == len(found)
    assert {"gru", "lstm"} < texts
    for limit in sorted({space.cost(text) for text in texts}):
        fitting = sum(space.cost(text) <= limit for text in texts)
        assert space.feasible(max_params=limit).count() == fitting


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_they_are_those_of_torch(kind: str) -> None:
    child = recurrent_space(9, 5).child(kind, seed=3).eval()
    own = child.state_dict()
    torchs = nn.GRU(5, 5, batch_first=True) if kind == "gru" else nn.LSTM(5, 5, batch_first=True)
    for ours, theirs in {"from_words": "ih", "from_state": "hh"}.items():
        for part in ("weight", "bias"):
            torchs.get_parameter(f"{part}_{theirs}_l0").data = own[f"cell.{ours}.{part}"]
    words = torch.randint(9, (4, 7))
    with torch.no_grad():
        outputs, after = torchs(own["words.weight"][words])
        scores, state = child.advance(words)
    torch.testing.assert_close(scores, outputs @ own["output.weight"].T + own["output.bias"])
    parts = after if kind == "lstm" else (after,)
    torch.testing.assert_close(state, torch.cat([part[0] for part in parts], dim=1))
    assert state.shape == (4, child.width)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_they_begin_as_those_of_torch(kind: str) -> None:
    own = recurrent_space(50, 25).child(kind, seed=3).state_dict()
    for name, value in own.items():
        if name == "words.weight":
            assert value.std() == pytest.approx(1.0, abs=0.1)
        else:
            assert 0.9 * 25**-0.5 < value.abs().max() <= 25**-0.5


def test_cells_are_the_same_with_and_without_them() -> None:
    space, alone = recurrent_space(9, 5, 2), recurrent_space(9, 5, 2, known_cells=False)
    cell = "|tanh~0|+|zero~0|relu~1|"
    for a, b in zip(
        space.child(cell, seed=4).state_dict().items(),
        alone.child(cell, seed=4).state_dict().items(),
        strict=True,
    ):
        assert a[0] == b[0]
        assert torch.equal(a[1], b[1])
    assert space.cost(cell) == alone.cost(cell)
    assert [space.parse(cell).text, alone.parse(cell).text] == [cell, cell]
    assert alone.space.sizes == (5, 5, 5)
    words, (update, *picks) = torch.randint(9, (3, 4)), space.space.picks(space.parse(cell))
    with torch.no_grad():
        found = space.supernet(1)(words, one_path([update, *picks]))
        assert torch.equal(found, alone.supernet(1)(words, one_path(picks)))


def test_a_mixture_is_the_sum_of_updates_that_remember_on_their_own() -> None:
    space = recurrent_space(9, 5, 2)
    supernet = space.supernet(1)
    bias = supernet.output.bias
    words = torch.randint(9, (3, 8))
    shares = torch.tensor([0.2, 0.5, 0.3])
    edges = [torch.tensor([0.0, 0.6, 0.0, 0.0, 0.4])] * 3
    with torch.no_grad():
        each = [supernet(words, mixture([one, *edges])) - bias for one in torch.eye(3)]
        whole = bias + sum(share * own for share, own in zip(shares, each, strict=True))
        gates = mixture([shares, *edges])
        first, state = supernet.advance(words[:, :5], gates)
        second, _ = supernet.advance(words[:, 5:], gates, state=state)
        torch.testing.assert_close(torch.cat([first, second], dim=1), whole)
        nobody = (Gate((), shares), *gates[1:])
        assert torch.equal(supernet(words, nobody), bias.expand(3, 8, 9))
        assert set(supernet.blocks(nobody)) == {"output.weight", "output.bias"}


def test_an_update_that_did_not_run_begins_anew() -> None:
    space = recurrent_space(9, 5, 2)
    supernet = space.supernet(1)
    paths = [one_path(space.space.picks(space.parse(text))) for text in (ZEROS, "gru", "lstm")]
    words = torch.randint(9, (3, 4))
    with torch.no_grad():
        for before, after in itertools.permutations(paths, 2):
            _, state = supernet.advance(words, before)
            found, _ = supernet.advance(words, after, state=state)
            torch.testing.assert_close(found, supernet(words, after))


@pytest.mark.parametrize("text", ["gru", "lstm", ZEROS])
def test_a_path_uses_only_what_its_network_has(text: str) -> None:
    space = recurrent_space(9, 5, 2)
    supernet = space.supernet(2)
    picks = space.space.picks(space.parse(text))
    child = space.child(text)
    assert list(supernet.extract(picks)) == list(child.state_dict())
    child.load_state_dict(supernet.extract(picks))
    words = torch.randint(9, (3, 4))
    given = {
        name: dict(supernet.named_parameters())[name] for name in supernet.blocks(one_path(picks))
    }
    with torch.no_grad():
        torch.testing.assert_close(supernet(words, one_path(picks), given), child(words))


def test_where_only_they_fit_nothing_else_is_made() -> None:
    """A cell has at least 10 squares of its width in maps, a GRU 6 and biases."""
    space = recurrent_space(10, 16)
    limit = space.cost("lstm")
    assert space.cost("|zero~0|+|zero~0|zero~1|+|zero~0|zero~1|zero~2|") > limit
    feasible = space.feasible(max_params=limit)
    assert feasible.count() == 2
    searched = space.restrict(feasible.reachable())
    assert searched.space.sizes == (2, 1, 1, 1, 1, 1, 1)
    supernet = searched.supernet(0)
    assert not any(name.startswith(("gates", "maps", "from")) for name in supernet.state_dict())
    assert supernet(torch.randint(10, (2, 3)), one_path([0] * 7)).shape == (2, 3, 10)


def test_plain_networks_are_those_that_keep_the_limits() -> None:
    space = recurrent_space(10, 8)
    gru, lstm = space.cost("gru"), space.cost("lstm")

    def plain(**limits: int) -> list[str]:
        return [one.text for one in space.plain(limits)]

    assert plain() == plain(params=lstm) == ["gru", "lstm"]
    assert plain(params=lstm - 1) == ["gru"]
    assert plain(params=gru - 1) == plain(flops=10) == []
    assert recurrent_space(10, 8, known_cells=False).plain({}) == ()


def test_they_have_no_edges_and_one_text() -> None:
    space = recurrent_space(10, 4, 2)
    assert space.parse(" gru ") == Architecture(("gru", "zero", "zero", "zero"), "gru")
    assert (space.short("lstm"), space.lines("lstm")) == ("lstm", ["lstm"])
    with pytest.raises(SpaceError, match="cell alone has edges, those of other updates are zero"):
        space.space.picks(Architecture(("gru", "tanh", "zero", "zero"), "gru"))
    with pytest.raises(SpaceError, match=r"'rnn' is no recurrent cell, .*tanh~1\|, or gru or lstm"):
        space.parse("rnn")
    with pytest.raises(SpaceError, match="'gru' is no recurrent cell, which is written like"):
        recurrent_space(10, 4, 2, known_cells=False).parse("gru")
    (drawing,) = space.drawings("gru")
    assert drawing.inputs == ("word", "state before")
    assert [(node.name, node.joined) for node in drawing.nodes] == [("output", "gru")]


def test_spaces_with_and_without_them_have_specs_that_build_them() -> None:
    for known in (True, False):
        space = recurrent_space(10, 4, 2, 1, known_cells=known)
        assert space.spec.known_cells == known
        assert space.spec.build((), 10, {}) == space
