from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from meritnas import darts_space, nasbench201_space, tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.families.convnet.family import convnet_space
from meritnas.families.family import Family
from meritnas.supernet.probe import Probe
from meritnas.witness.first_look import first_look
from meritnas.witness.panel import panel_of
from meritnas.witness.untrained import Looks, gradients, patterns
from meritnas.workers.virtual import VirtualWorkers

PLAIN = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|nor_conv_3x3~2|"
SHORTCUT = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|none~1|nor_conv_3x3~2|"
NARROW = "|none~0|+|none~0|none~1|+|avg_pool_3x3~0|none~1|none~2|"


def entropy(outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
    assert weights is None
    return nn.functional.cross_entropy(outputs, target)


def images(rows: int = 24, size: int = 8) -> Part:
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(rows, 3, size, size, generator=generator)
    return Part(inputs, torch.arange(rows) % 3, None)


def cells() -> Family:
    return nasbench201_space(3, 4, 2, image=(3, 8, 8))


def total(outputs: Tensor) -> Tensor:
    return outputs.sum()


def test_patterns_are_the_log_determinant_of_agreements() -> None:
    network = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU())
    with torch.no_grad():
        network[0].weight.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    inputs = torch.tensor([[1.0, 1.0], [-1.0, 0.5], [-1.0, -1.0]])
    # On: all three; the second; none. So rows agree in 1, 0 and 2 of 3 ReLUs.
    agreements = np.array([[3.0, 1.0, 0.0], [1.0, 3.0, 2.0], [0.0, 2.0, 3.0]])
    found = first_look(network, inputs, total)
    assert found.patterns == pytest.approx(math.log(np.linalg.det(agreements)), abs=1e-4)
    assert math.isnan(found.growth)


def test_a_network_without_relus_shows_no_patterns() -> None:
    assert math.isnan(first_look(nn.Linear(2, 3), torch.ones(4, 2), total).patterns)


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_growth_is_by_how_much_gradients_grow_on_their_way_back(factor: float) -> None:
    layers = [nn.Linear(4, 4, bias=False) for _ in range(3)]
    with torch.no_grad():
        for layer in layers:
            layer.weight.copy_(factor * torch.eye(4))
    found = first_look(nn.Sequential(*layers), torch.ones(5, 4), total, (layers[0], layers[2]))
    assert found.growth == pytest.approx(2 * math.log(factor))


def test_a_look_leaves_neither_gradients_nor_hooks() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
    first_look(network, torch.ones(5, 4), total, (network[0], network[2]))
    assert all(param.grad is None for param in network.parameters())
    assert not any(part._forward_hooks for part in network.modules())


def looks_at(family: Family, workers: VirtualWorkers | None = None) -> Looks:
    return Looks(family, images(), entropy, 0, workers or VirtualWorkers())


def picks_of(family: Family, *texts: str) -> np.ndarray:
    return np.array([family.space.picks(family.space.parse(text)) for text in texts])


def test_a_way_past_the_convolutions_keeps_gradients_from_growing() -> None:
    family = nasbench201_space(3, 4, 5, image=(3, 8, 8))
    plain, shortcut = gradients(looks_at(family)).judge(picks_of(family, PLAIN, SHORTCUT))
    assert shortcut > plain + 1.0


def test_convolutions_tell_rows_apart_where_pooling_does_not() -> None:
    family = cells()
    plain, narrow = patterns(looks_at(family)).judge(picks_of(family, PLAIN, NARROW))
    assert plain > narrow


def test_looks_are_the_same_however_many_workers_share_them() -> None:
    family = cells()
    picks = picks_of(family, PLAIN, SHORTCUT, NARROW, PLAIN)
    alone, shared = looks_at(family).at(picks), looks_at(family, VirtualWorkers(2)).at(picks)
    assert alone == shared
    assert alone[0] == alone[3]


def test_each_network_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    family, made = cells(), []
    child: Callable[..., nn.Module] = type(family).child

    def counted(*given: object, **others: object) -> nn.Module:
        made.append(given[1])
        return child(*given, **others)

    monkeypatch.setattr(type(family), "child", counted)
    looks = looks_at(family)
    picks = picks_of(family, PLAIN, SHORTCUT, PLAIN)
    patterns(looks).judge(picks)
    gradients(looks).judge(picks)
    assert len(made) == 2


@pytest.mark.parametrize(
    ("family", "names"),
    [
        (cells(), ["one-shot", "beliefs", "size", "patterns", "gradients"]),
        (
            darts_space(3, 4, 3, image=(3, 8, 8)),
            ["one-shot", "beliefs", "size", "patterns", "gradients"],
        ),
        (
            convnet_space(3, (3, 8, 8), ("plain3", "residual3"), ((8, 16), (16, 32))),
            ["one-shot", "flops", "patterns"],
        ),
        (tabular_space(4, 3, 2, (2, 4)), ["one-shot", "size"]),
    ],
)
def test_a_family_says_who_is_asked_and_all_of_them_answer(
    family: Family, names: list[str]
) -> None:
    part = images() if "patterns" in names else Part(torch.randn(24, 4), torch.arange(24) % 3, None)
    streams = BatchStream(part, 8, 0), BatchStream(part, 8, 1)
    probe = Probe(family.supernet(0), entropy, *streams, part)
    panel = panel_of(family, probe, part, entropy, 0)
    feasible = family.useful.feasible()
    picks = np.array([feasible.space.picks(feasible.space.random(k)) for k in range(3)])
    believed = [np.full(size, 1 / size) for size in feasible.space.sizes]
    witnesses = panel.within(feasible, believed)
    assert [witness.name for witness in witnesses] == names
    early = panel.without_weights(feasible, believed)
    assert [witness.name for witness in early] == names[1:]
    assert set(names) == set(panel.weights)
    for witness in witnesses:
        assert np.isfinite(witness.judge(picks)).all(), witness.name
