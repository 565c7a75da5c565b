"""Trained networks whose widths become decisions."""

from __future__ import annotations

import functools
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import meritnas
import meritnas.nn as mn
from meritnas import Retraining, SpaceError
from meritnas.families.built.family import BuiltSpace, space_of
from meritnas.supernet.gates import one_path


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(width, 12, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(12)
        self.each = nn.Conv2d(12, 12, 3, padding=1, groups=12)
        self.second = nn.Conv2d(12, width, 1)

    def forward(self, maps: Tensor) -> Tensor:
        inside = torch.relu(self.norm(self.first(maps)))
        return torch.relu(maps + self.second(self.each(inside)))


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.blocks = nn.Conv2d(1, 8, 3, padding=1), nn.Sequential(Block(8), Block(8))
        self.pool = nn.MaxPool2d(2)
        self.last = nn.Conv2d(8, 16, 3, stride=2, padding=1)
        self.hidden, self.out = nn.Linear(16 * 4, 20), nn.Linear(20, 5)

    def forward(self, images: Tensor) -> Tensor:
        maps = torch.relu(self.last(self.pool(self.blocks(self.stem(images)))))
        found: Tensor = self.out(torch.relu(self.hidden(maps.flatten(1))))
        return found


IMAGES = torch.randn(6, 1, 8, 8, generator=torch.Generator().manual_seed(0))


def trained() -> nn.Module:
    """As it might be after training: statistics and weights that differ from unit to unit."""
    torch.manual_seed(1)
    module = Network()
    with torch.no_grad():
        for param in module.parameters():
            param.mul_(1 + 0.5 * torch.randn(param.shape))
        for _ in range(3):
            module(torch.randn(6, 1, 8, 8))
    return module.eval()


@functools.cache
def space() -> BuiltSpace:
    return space_of(mn.prunable(trained(), IMAGES, kept=(0.25, 0.5)), (1, 8, 8), 5)


def test_units_that_are_added_go_together_and_answers_stay_whole() -> None:
    family = space()
    assert [decision.name for decision in family.space.decisions] == [
        *("stem", "blocks.0.first", "blocks.1.first", "last", "hidden")
    ]
    assert family.space.names[0] == ["2", "4", "8"]
    assert family.child(family.space.architecture([0] * 5))(IMAGES).shape == (6, 5)


def test_the_widest_is_the_network_as_it_was() -> None:
    module, family = trained(), space()
    widest = family.space.architecture([2] * 5)
    child = family.child(widest).eval()
    assert list(child.state_dict()) == list(module.state_dict())
    torch.testing.assert_close(child(IMAGES), module(IMAGES), atol=1e-5, rtol=1e-4)
    ready = mn.prunable(module, IMAGES)
    torch.testing.assert_close(ready(IMAGES), module(IMAGES), atol=1e-5, rtol=1e-4)


def test_the_supernet_begins_with_the_trained_weights_and_equals_each_child() -> None:
    family = space()
    supernet = family.supernet()
    for seed in range(6):
        architecture = family.random(seed)
        child = family.child(architecture).train()
        picks = family.space.picks(architecture)
        assert sum(p.numel() for p in child.parameters()) == family.cost(architecture)
        found = supernet(IMAGES, one_path(picks))
        torch.testing.assert_close(child(IMAGES), found, atol=1e-4, rtol=1e-4)
        for name, tensor in supernet.extract(picks).items():
            if "num_batches" not in name:
                assert torch.equal(tensor, family.child(architecture).state_dict()[name])


def test_a_narrower_layer_keeps_the_units_that_matter() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 2))
    with torch.no_grad():
        module[0].weight[[0, 2]] = 0.0
        module[0].bias[[0, 2]] = 0.0
        module[2].weight[:, [0, 2]] = 0.0
    family = space_of(mn.prunable(module, torch.randn(5, 3), kept=(0.5,)), 3, 2)
    rows = torch.randn(5, 3)
    torch.testing.assert_close(family.child("2")(rows), module(rows))


def odd(*layers: nn.Module) -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), *layers, nn.Linear(4, 2))


class Sorting(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        return rows.sort(1).values


class Branching(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        return rows if rows.sum() > 0 else -rows


@pytest.mark.parametrize(
    ("module", "options", "words"),
    [
        (odd(Sorting()), {}, "no width of this network can be decided"),
        (odd(Branching()), {}, "cannot be traced"),
        (odd(nn.Softmax(1)), {}, "no width of this network can be decided"),
        (odd(nn.ReLU()), {"kept": (0.0, 0.5)}, "above 0 and at most 1"),
    ],
)
def test_what_is_not_understood_stays_as_it_is(
    module: nn.Module, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(SpaceError, match=words):
        mn.prunable(module, torch.randn(5, 3), **options)


def test_a_trained_network_is_pruned_to_a_limit() -> None:
    module = nn.Sequential(nn.Linear(13, 40), nn.ReLU(), nn.Linear(40, 20), nn.ReLU())
    module.append(nn.Linear(20, 3))
    space = mn.prunable(module, torch.randn(4, 13))
    whole = sum(param.numel() for param in module.parameters())
    short = Retraining(epochs=2, seeds=1, finalists=1)
    limit = whole // 4
    found = meritnas.search("wine", space=space, max_params=limit, epochs=2, retraining=short)
    assert 0.8 * limit < found.summary["params"] <= limit
