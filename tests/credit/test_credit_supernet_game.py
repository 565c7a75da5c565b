from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from torch import Tensor

from meritnas import darts_space, fusion_space, nasbench201_space, shapley_values, tabular_space
from meritnas.credit.game import Counted
from meritnas.credit.grouped_shapley import GroupedSampler
from meritnas.credit.supernet_game import Players, SupernetGame, players_of
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream, joined
from meritnas.data.task import Task
from meritnas.families.family import Family
from meritnas.space.decision import TOGETHER, ZERO, Decision, Option
from meritnas.space.rule import ABSENT
from meritnas.space.space import HyphenText, Space
from meritnas.supernet.gates import Gate, mixture
from meritnas.supernet.probe import Probe

TASK = Task("multiclass", "class", ("a", "b", "c"))


def probe_of(family: Family, *shape: int) -> Probe:
    """A supernet with random weights, and twenty rows to judge it on."""
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(20, *shape, generator=generator)
    part = Part(inputs, torch.arange(20) % 3, None)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    return Probe(family.supernet(2), TASK.loss, *streams, part, TASK.score)


def rows_of(family: Family, seed: int = 0) -> list[Tensor]:
    rng = np.random.default_rng(seed)
    sizes = family.space.sizes
    return [torch.softmax(torch.from_numpy(rng.normal(size=n)).float(), 0) for n in sizes]


CELL = nasbench201_space(3, 4, 1, image=(1, 8, 8))


@pytest.fixture
def probe() -> Probe:
    return probe_of(CELL, 1, 8, 8)


@pytest.mark.parametrize(
    ("family", "players", "heard"),
    [
        (nasbench201_space(), 30, 24),
        (nasbench201_space(zero=False), 24, 24),
        (darts_space(), 224, 196),
    ],
)
def test_players_are_counted_as_in_the_note(family: Family, players: int, heard: int) -> None:
    found = players_of(family.space)
    assert len(found.names) == players
    assert (~found.null).sum() == heard
    assert sorted(p for group in found.groups for p in group) == list(range(players))
    assert len(set(found.names)) == players


def test_a_coalition_scores_what_the_whole_supernet_scores_with_weights_set_to_zero(
    probe: Probe,
) -> None:
    rows, who = rows_of(CELL), players_of(CELL.space)
    game = SupernetGame(probe, who, rows)
    game.renew()
    batch = probe._held.slice(0, 20)
    game._batch = batch
    rng = np.random.default_rng(1)
    for _ in range(6):
        coalition = rng.random(30) < 0.6
        kept = who.rows(coalition.astype(float), CELL.space.sizes)
        plain = [row * torch.from_numpy(mask).float() for row, mask in zip(rows, kept, strict=True)]
        everything = tuple(Gate(tuple(range(len(row))), row) for row in plain)
        expected = probe.score(everything, batch)
        assert game.value(coalition[None])[0] == pytest.approx(expected)
        assert torch.allclose(
            probe._supernet(batch.inputs, game.gates(coalition)),
            probe._supernet(batch.inputs, everything),
            atol=1e-5,
        )


def test_zeros_are_null_players_because_nothing_is_renormalised(probe: Probe) -> None:
    rows, who = rows_of(CELL), players_of(CELL.space)
    game = SupernetGame(probe, who, rows)
    inputs = probe._held.inputs
    whole = probe._supernet(inputs, game.gates(np.ones(30, dtype=bool)))
    assert torch.equal(probe._supernet(inputs, game.gates(~who.null)), whole)
    heard = [torch.where(torch.arange(5) == 0, torch.zeros(()), row) for row in rows]
    scaled = [row / row.sum() for row in heard]
    assert not torch.allclose(probe._supernet(inputs, mixture(scaled)), whole, atol=1e-3)
    found = shapley_values(game, who.names, permutations=2)
    assert not found.values[who.null].any()
    assert found.values[~who.null].any()


def test_nobody_at_all_still_answers(probe: Probe) -> None:
    game = SupernetGame(probe, players_of(CELL.space), rows_of(CELL))
    outputs = probe._supernet(probe._held.inputs, game.gates(np.zeros(30, dtype=bool)))
    assert torch.isfinite(outputs).all()
    assert torch.allclose(outputs, outputs[:1].expand_as(outputs))


def test_batches_are_new_at_a_renewal_only_and_large_enough(probe: Probe) -> None:
    who = players_of(CELL.space)
    game = SupernetGame(probe, who, rows_of(CELL), judged_rows=9)
    everybody = np.ones((1, 30), dtype=bool)
    game.value(everybody)
    first = game._batch
    game.value(everybody)
    assert game._batch is first
    assert first is not None
    assert len(first.target) == 16
    game.renew()
    assert game._batch is not first


def test_buffers_and_weights_stay_as_they_are(probe: Probe) -> None:
    before = {k: v.clone() for k, v in probe._supernet.state_dict().items()}  # type: ignore[attr-defined]
    passes = probe.passes
    with probe.remembering():
        found = shapley_values(
            SupernetGame(probe, players_of(CELL.space), rows_of(CELL)), 30, permutations=2
        )
    after = probe._supernet.state_dict()  # type: ignore[attr-defined]
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert probe.passes - passes == found.evaluations == 1 + 2 * 24


def test_on_widths_a_player_is_a_term_of_the_layers_mixture() -> None:
    family = tabular_space(4, 3, 2, (2, 5))
    probe = probe_of(family, 4)
    who: Players = players_of(family.space)
    assert len(who.names) == 4
    assert not who.null.any()
    game = SupernetGame(probe, who, rows_of(family))
    inputs = probe._held.inputs
    alone = probe._supernet(inputs, game.gates(np.array([True, False, True, True])))
    row = rows_of(family)[0] * torch.tensor([1.0, 0.0])
    plain = (Gate((0, 1), row), Gate((0, 1), rows_of(family)[1]))
    assert torch.allclose(alone, probe._supernet(inputs, plain), atol=1e-6)
    cut = probe._supernet(inputs, game.gates(np.array([True, True, False, False])))
    assert torch.allclose(cut, cut[:1].expand_as(cut))


def test_all_options_of_a_darts_cell_can_be_taken_away() -> None:
    family = darts_space(3, 4, 3, "s2", (1, 8, 8))
    probe = probe_of(family, 1, 8, 8)
    who = players_of(family.space)
    game = SupernetGame(probe, who, rows_of(family))
    with probe.remembering():
        found = shapley_values(game, who.names, permutations=1)
        ends = game.value(np.array([np.ones(len(who.names)), who.null], dtype=bool))
    heard = int((~who.null).sum())
    assert heard == 56
    assert found.depth == heard
    assert found.values.sum() == pytest.approx(ends[0] - ends[1], abs=1e-6)


def test_batches_join() -> None:
    part = Part(torch.arange(8.0)[:, None], torch.arange(8), torch.arange(8.0))
    stream = BatchStream(part, 3, 0)
    first, second = stream.next(), stream.next()
    both = joined([first, second])
    assert both.inputs.tolist() == [*first.inputs.tolist(), *second.inputs.tolist()]
    assert both.target.tolist() == [*first.target.tolist(), *second.target.tolist()]
    assert both.weights is not None
    assert both.weights.tolist() == both.inputs[:, 0].tolist()
    assert joined([first]) is first


def edges() -> Space:
    """An edge that may be there as x or as y, an operation, and an edge with one more option."""
    both, nothing = frozenset({TOGETHER}), frozenset({ZERO})
    x, y, none = Option("x", both), Option("y", both), Option("none", nothing)
    return Space(
        (
            Decision("cell1<-image.0", (x, none, y)),
            Decision("op", (Option("sum"), Option("glu"))),
            Decision("mixed", (Option("none", frozenset({TOGETHER, ZERO})), x, Option("z"), y)),
        ),
        HyphenText(),
    )


def test_options_that_go_together_are_one_player() -> None:
    found = players_of(edges())
    assert found.names == (
        "cell1<-image.0",
        "cell1<-image.0=none",
        "op=sum",
        "op=glu",
        "mixed=none",
        "mixed=x+y",
        "mixed=z",
    )
    assert found.options == ((0, 2), (1,), (0,), (1,), (0,), (1, 3), (2,))
    assert found.decisions.tolist() == [0, 0, 1, 1, 2, 2, 2]
    assert found.null.tolist() == [False, True, False, False, True, False, False]
    assert found.groups == ((0, 1), (2, 3), (4, 5, 6))


def test_all_options_of_a_player_have_its_value_and_leave_with_it() -> None:
    who = players_of(edges())
    rows = who.rows(np.arange(1.0, 8.0), (3, 2, 4))
    assert [row.tolist() for row in rows] == [[1, 2, 1], [3, 4], [5, 6, 7, 6]]
    weights = [torch.ones(3), torch.ones(2), torch.ones(4)]
    game = SupernetGame(probe_of(CELL, 1, 8, 8), who, weights)
    everybody = np.ones(7, dtype=bool)
    assert [gate.active for gate in game.gates(everybody)] == [(0, 1, 2), (0, 1), (0, 1, 2, 3)]
    everybody[[0, 5]] = False
    assert [gate.active for gate in game.gates(everybody)] == [(1,), (0, 1), (0, 2)]


def test_a_lone_option_that_goes_together_with_others_elsewhere_is_named_by_its_decision() -> None:
    """As where a limit has left one of the two."""
    x = Option("x", frozenset({TOGETHER}))
    space = Space((Decision("edge", (Option("none", frozenset({ABSENT})), x)),), HyphenText())
    found = players_of(space)
    assert found.names == ("edge",)
    assert found.options == ((1,),)


class Remembered:
    """A supernet's game on one batch, whose coalitions are scored once each."""

    fixed = True

    def __init__(self, game: SupernetGame) -> None:
        self.players, self.null = game.players, game.null
        self._game = game
        self._known: dict[bytes, float] = {}

    def renew(self) -> None:
        """The batch stays."""

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        found = []
        for row in coalitions | self.null:  # of no consequence, and so scored once
            key = row.tobytes()
            if key not in self._known:
                self._known[key] = float(self._game.value(row[None])[0])
            found.append(self._known[key])
        return np.array(found)


@pytest.mark.parametrize("sparse", [1, 6])
def test_grouped_estimates_of_a_fusion_supernet_are_its_exact_values_on_average(
    sparse: int,
) -> None:
    family = fusion_space(
        {"a": [(3,)], "b": [(2,)]}, 3, 1, 1, 4, 2, operations=["sum", "glu", "sparse_concat"]
    )
    probe = probe_of(family, family.layout.width)
    who = players_of(family.space)
    heard = np.flatnonzero(~who.null)
    assert len(heard) == 7  # two edges into the cell, two into its step, three operations
    game = Remembered(SupernetGame(probe, who, rows_of(family)))
    exact = np.zeros(len(who.names))
    for members in itertools.product((False, True), repeat=7):
        coalition = who.null.copy()
        coalition[heard] = members
        size = sum(members)
        score = game.value(coalition[None])[0]
        for player, here in zip(heard, members, strict=True):
            orders = math.comb(6, size - here)
            exact[player] += (score if here else -score) / (7 * orders)
    assert (exact[heard] != 0).sum() >= 5
    samples = np.array([sparse if "sparse" in name else 3 for name in who.names])
    found = []
    for seed in range(400):
        sampler = GroupedSampler(samples, np.random.default_rng(seed))
        sampler.advance(Counted(game))
        found.append(sampler.values())
    spread = np.std(found, axis=0)[heard] / np.sqrt(400)
    assert (np.abs(np.mean(found, axis=0) - exact)[heard] < 4 * spread + 1e-9).all()
    assert not np.array(found)[:, who.null].any()
