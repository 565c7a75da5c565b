"""Networks whose parts each learn the answer by themselves."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.families.fusion.plain import plain_fusion
from meritnas.families.fusion.plain_child import LateAveraging
from meritnas.settings.recipe import TrainRecipe
from meritnas.training.train import train_child

FAMILY = plain_fusion({"left": [(4,)], "right": [(2, 3)]}, 3, "classes")
TASK = Task("multiclass", "y", ("a", "b", "c"))


class Only(nn.Module):
    """What one part of a network says."""

    def __init__(self, whole: LateAveraging, number: int) -> None:
        super().__init__()
        self.whole = whole
        self.number = number

    def forward(self, rows: Tensor) -> Tensor:
        return self.whole.outputs_of_each(rows)[self.number]


def part(rows: int, seed: int) -> Part:
    generator = torch.Generator().manual_seed(seed)
    inputs = torch.randn(rows, FAMILY.layout.width, generator=generator)
    for number in range(2):
        inputs[:, FAMILY.layout.flag(number)] = 1.0
    return Part(inputs, torch.randint(3, (rows,), generator=generator))


def fresh() -> LateAveraging:
    child = FAMILY.child("late-averaging(8)", seed=1)
    assert isinstance(child, LateAveraging)
    return child


@pytest.mark.parametrize("optimizer", ["adam", "sgd"])
@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_every_part_learns_as_it_would_alone(
    optimizer: Literal["adam", "sgd"], smoothing: float
) -> None:
    recipe = TrainRecipe(optimizer, 0.05, "constant", 10, smoothing=smoothing)
    data = part(40, 0), part(20, 1)
    whole = train_child(fresh(), *data, TASK.loss, recipe, 1, 0)
    losses = []
    for number in range(2):
        alone = train_child(Only(fresh(), number), *data, TASK.loss, recipe, 1, 0)
        losses.append(alone.train_losses[0])
        found = whole.module.get_submodule(f"heads.{number}").state_dict()
        for name, value in alone.module.get_submodule(f"whole.heads.{number}").state_dict().items():
            torch.testing.assert_close(found[name], value)
    assert whole.train_losses[0] == pytest.approx(sum(losses) / 2)
