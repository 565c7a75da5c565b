"""Which plain networks stand beside a family, by data and task."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from meritnas.families.fusion.plain_child import LateAveraging
from meritnas.families.fusion.spec import Fusion
from meritnas.run.begin import begin
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request
from meritnas.settings.training import Retraining

RNG = np.random.default_rng(0)
VIEWS = {"left": RNG.normal(size=(60, 4)), "picture": RNG.random((60, 6, 6))}
TARGETS: dict[str, Any] = {
    "binary": np.arange(60) % 2,
    "multiclass": np.arange(60) % 3,
    "multilabel": np.stack([np.arange(60) % 2, np.arange(60) % 3 > 0], axis=1).astype(int),
    "regression": RNG.normal(size=60),
}


def job(kind: str, **asked: Any) -> Any:
    space = Fusion(channels=16, length=4)
    found, _ = begin({**VIEWS, "y": TARGETS[kind]}, "y", Request(space=space, **asked))
    assert found.bundle.task.kind == kind
    return found


@pytest.mark.parametrize("kind", TARGETS)
def test_late_averaging_averages_what_the_task_asks_for(kind: str) -> None:
    made = job(kind, limits=Limits(max_params=20_000))
    _, late = made.plain
    child = made.ground.family.child(late).eval()
    assert isinstance(child, LateAveraging)
    rows, task = made.bundle.test.inputs, made.bundle.task

    def said(outputs: torch.Tensor) -> torch.Tensor:
        return outputs if kind == "regression" else task.probabilities(outputs)

    each = torch.stack([said(outputs) for outputs in child.outputs_of_each(rows)])
    torch.testing.assert_close(said(child(rows)), each.mean(dim=0))


def test_without_a_limit_plain_networks_are_no_larger_than_those_of_the_space() -> None:
    made = job("binary")
    family = made.ground.family
    assert len(made.plain) == 2
    assert all(family.cost(text) <= family.largest() for text in made.plain)


def test_what_is_searched_is_as_without_them() -> None:
    beside = job("binary", limits=Limits(max_params=20_000)).ground
    alone = job(
        "binary", limits=Limits(max_params=20_000), retraining=Retraining(plain=False)
    ).ground
    assert alone.family.plain({}) == ()
    assert beside.family.asked == alone.family
    assert beside.feasible.count() == alone.feasible.count()
    assert beside.searched == alone.searched
