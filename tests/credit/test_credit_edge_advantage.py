"""Advantages by derivatives and by closed gates (AdvantageNAS, eq. 7 and 6)."""

from __future__ import annotations

import itertools
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.credit.advantage import Advantage
from meritnas.credit.edge_advantage import ByGradient, EdgeAdvantage, Exact, ExactWhereBlind
from meritnas.data.bundle import Part
from meritnas.data.stream import Batch, BatchStream
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.policy.laws import Draw
from meritnas.policy.policy import Policy
from meritnas.space.decision import ZERO, Decision, Option
from meritnas.space.space import HyphenText, Space
from meritnas.supernet.gates import Gate, Gates, one_path
from meritnas.supernet.probe import Probe

SIZES = (3, 2, 3)
EVERY = np.array(list(itertools.product(*map(range, SIZES))))


class Curved(nn.Module):
    """loss = sin(sum of gated numbers) + their product; option 0 of edge 0 gives zeros."""

    def __init__(self) -> None:
        super().__init__()
        numbers = np.random.default_rng(0).normal(size=(3, 3))
        numbers[0, 0] = 0.0
        self.numbers = nn.Parameter(torch.tensor(numbers))
        self.asked: list[Gates] = []

    def forward(self, inputs: Tensor, gates: Gates, weights: Any = None) -> Tensor:
        numbers = self.numbers if weights is None else weights["numbers"]
        self.asked.append(gates)
        outputs = []
        for i, gate in enumerate(gates):
            (k,) = gate.active
            outputs.append(numbers[i, k] * (1.0 if gate.weights is None else gate.weights[k]))
        total = outputs[0] + outputs[1] + outputs[2]
        return (torch.sin(total) + outputs[0] * outputs[1] * outputs[2]).expand(len(inputs), 1)

    def blocks(self, gates: Gates) -> dict[str, tuple[int, ...]]:
        del gates
        return {"numbers": (3, 3)}

    def remembering(self) -> Any:
        return nullcontext()


def plain(outputs: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
    del target, weights
    return outputs.mean()


def curved_probe() -> tuple[Probe, Batch]:
    part = Part(torch.zeros(4, 1), torch.zeros(4))
    stream = BatchStream(part, 4, 0)
    net: Any = Curved()
    return Probe(net, plain, stream, stream, part), stream.next()


def curved_space() -> Space:
    tags = {(0, 0): frozenset({ZERO})}
    return Space(
        tuple(
            Decision(
                f"e{i}", tuple(Option(f"o{k}", tags.get((i, k), frozenset())) for k in range(n))
            )
            for i, n in enumerate(SIZES)
        ),
        HyphenText(),
    )


def curved_loss(numbers: np.ndarray) -> float:
    return float(np.sin(numbers.sum()) + numbers.prod())


def numbers_of(picks: np.ndarray) -> np.ndarray:
    return np.asarray(Curved().numbers.detach().numpy()[np.arange(3), picks])


@pytest.mark.parametrize("picks", EVERY.tolist())
def test_exact_advantages_are_those_of_closing_each_gate(picks: list[int]) -> None:
    probe, batch = curved_probe()
    loss, found = Exact(curved_space()).judge(probe, batch, np.array(picks))
    own = numbers_of(np.array(picks))
    assert loss == pytest.approx(curved_loss(own))
    expected = [curved_loss(own * (np.arange(3) != i)) - curved_loss(own) for i in range(3)]
    assert found == pytest.approx(expected)
    assert probe.passes == 1 + sum(number != 0 for number in own)


def expected_gradient(edge: EdgeAdvantage) -> tuple[np.ndarray, np.ndarray]:
    """(the mean of what a policy is moved by, the gradient of its mean reward), by enumeration."""
    policy = Policy(SIZES, 0.1, initial=np.random.default_rng(1).normal(size=sum(SIZES)))
    rows = policy.probabilities()
    probe, batch = curved_probe()
    feasible = FeasibleSet(curved_space(), {})
    mean = np.zeros(sum(SIZES))
    for picks in EVERY:
        chance = np.prod([row[k] for row, k in zip(rows, picks, strict=True)])
        credit = Advantage(feasible, edge=edge)
        drawn = Draw(picks[None], rows, None)
        mean += chance * credit.assign(probe, batch, drawn, policy).gradient
    logits = [torch.tensor(row.copy(), requires_grad=True) for row in policy.rows()]
    laws = [row.softmax(0) for row in logits]
    reward = sum(
        -curved_loss(numbers_of(picks)) * laws[0][picks[0]] * laws[1][picks[1]] * laws[2][picks[2]]
        for picks in EVERY
    )
    exact = torch.autograd.grad(reward, logits)  # type: ignore[arg-type]
    return mean, torch.cat(exact).numpy()


def test_with_exact_advantages_the_policy_gradient_is_unbiased_zeros_included() -> None:
    mean, exact = expected_gradient(Exact(curved_space()))
    assert mean == pytest.approx(exact, abs=1e-9)


def test_with_derivatives_it_is_not() -> None:
    mean, exact = expected_gradient(ByGradient(curved_space()))
    assert np.abs(mean - exact).max() > 0.05


def cells() -> tuple[Any, Probe, Batch]:
    family = nasbench201_space(10, zero=True, image=(3, 8, 8))
    generator = torch.Generator().manual_seed(0)
    part = Part(
        torch.randn(32, 3, 8, 8, generator=generator), torch.randint(10, (32,), generator=generator)
    )
    stream = BatchStream(part, 32, 0)

    def loss(outputs: Tensor, target: Tensor, weights: Tensor | None) -> Tensor:
        del weights
        return nn.functional.cross_entropy(outputs, target)

    supernet = family.supernet(0, 8, 1)
    return family, Probe(supernet, loss, stream, stream, part), stream.next()


def picks_of(family: Any, *names: str) -> np.ndarray:
    found = []
    for decision, name in zip(family.space.decisions, names, strict=True):
        found.append([option.name for option in decision.options].index(name))
    return np.array(found)


def without(probe: Probe, batch: Batch, picks: np.ndarray, edge: int) -> float:
    """The loss of the network that does not have this edge."""
    gates = list(one_path(picks.tolist()))
    gates[edge] = Gate(())
    return probe.loss_under(tuple(gates), batch)


def test_eq_7_does_not_see_an_edge_that_only_convolutions_read_and_auto_does() -> None:
    """Both edges that leave node 1 are convolutions; edge 0 is 1<-0."""
    family, probe, batch = cells()
    picks = picks_of(
        family,
        *("nor_conv_1x1", "skip_connect", "nor_conv_3x3"),
        *("skip_connect", "nor_conv_1x1", "skip_connect"),
    )
    auto = ExactWhereBlind(family.space, family.nodes)
    _, slopes = ByGradient(family.space).judge(probe, batch, picks)
    loss, found = auto.judge(probe, batch, picks)
    exact = without(probe, batch, picks, 0) - loss
    assert abs(exact) > 1e-3
    assert abs(slopes[0]) < 1e-2 * abs(exact)
    assert auto.blind(picks, slopes) == [0]
    assert found[0] == pytest.approx(exact, abs=1e-6)
    assert found[1:].tolist() == slopes[1:].tolist()


def test_edges_into_a_node_that_one_convolution_reads_are_judged_exactly_together() -> None:
    family, probe, batch = cells()
    picks = picks_of(
        family,
        *("skip_connect", "nor_conv_1x1", "avg_pool_3x3"),
        *("skip_connect", "skip_connect", "nor_conv_3x3"),
    )
    auto = ExactWhereBlind(family.space, family.nodes)
    _, slopes = ByGradient(family.space).judge(probe, batch, picks)
    assert abs(slopes[1] + slopes[2]) < 1e-3 * abs(slopes[1])
    before = probe.passes
    loss, found = auto.judge(probe, batch, picks)
    assert probe.passes - before == 1 + 1 + 2
    for edge in (1, 2):
        exact = without(probe, batch, picks, edge) - loss
        assert found[edge] == pytest.approx(exact, abs=1e-6)
    assert [found[i] for i in (0, 3, 4, 5)] == [slopes[i] for i in (0, 3, 4, 5)]


def test_zeros_are_never_judged_by_a_pass() -> None:
    family, probe, batch = cells()
    picks = picks_of(family, *("none",) * 3, *("nor_conv_3x3", "none", "none"))
    loss, found = Exact(family.space).judge(probe, batch, picks)
    assert probe.passes == 2
    assert found[[0, 1, 2, 4, 5]].tolist() == [0.0] * 5
    assert found[3] == pytest.approx(without(probe, batch, picks, 3) - loss, abs=1e-6)
