"""What is done to training images is found out by short trainings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meritnas
from meritnas.data.images.reading import ImageReading
from meritnas.run.augmenting import best_way, is_open, next_way, trying
from meritnas.run.begin import begin
from meritnas.run.job import Job
from meritnas.settings.augment import Augment
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining

SHORT: dict[str, Any] = {
    "space": "convnet",
    "max_params": 3000,
    "epochs": 1,
    "strategy": "random",
    "run": RunOptions(threads=1),
}
USUAL = Augment(crop=1, flip=True, cutout=2)
"""Of few coloured images of 8 by 8 pixels."""


def sided_images(rows: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """A bright spot in the left or in the right half, in colours: the side is the class."""
    rng = np.random.default_rng(0)
    images = rng.integers(0, 120, (rows, 8, 8, 3), dtype=np.uint8)
    labels = np.arange(rows) % 2
    for image, label, row in zip(images, labels, rng.integers(1, 6, rows), strict=True):
        column = 1 + 4 * label
        image[row : row + 2, column : column + 2] = 220
    return images, labels


def job_of(data: Any, **asked: Any) -> Job:
    return begin(data, None, Request(run=RunOptions(threads=1), **asked))[0]


def test_the_usual_way_is_tried_first_and_then_changes_of_the_best_so_far() -> None:
    ways = []
    losses: list[float | None] = []
    for loss in (0.5, 0.6, 0.4, None, 0.3):
        way = next_way(USUAL, 2, losses)
        assert way is not None
        ways.append(way)
        losses.append(loss)
    assert ways == [
        USUAL,
        Augment(),
        Augment(crop=1, flip=False, cutout=2),
        Augment(crop=1, flip=False, cutout=2, rotation=10),
        Augment(crop=1, flip=False),
    ]
    assert next_way(USUAL, 2, losses) is None
    assert best_way(USUAL, 2, losses) == Augment(crop=1, flip=False)


def test_nothing_at_all_is_where_further_changes_begin_if_it_is_better() -> None:
    assert best_way(USUAL, 2, [0.5, 0.4]) == Augment()
    assert next_way(USUAL, 2, [0.5, 0.4]) == Augment(flip=True)
    assert best_way(USUAL, 2, [0.5, 0.5, 0.5]) == USUAL
    assert best_way(USUAL, 2, [None, 9.0]) == Augment()


@pytest.mark.parametrize(
    "asked",
    [
        {"space": "convnet", "reading": ImageReading(flip=True)},
        {"space": "convnet", "reading": ImageReading(cutout=0)},
        {"space": "convnet", "reading": ImageReading(rotation=5)},
        {"space": "nasbench201", "preset": "paper"},
    ],
)
def test_nothing_is_tried_where_it_is_settled(asked: dict[str, Any]) -> None:
    job = job_of(sided_images(), **asked)
    assert not is_open(job)
    assert trying(job, 1000).epochs == 0


def test_nothing_is_tried_on_tables_and_in_trainings_that_are_too_short() -> None:
    assert not is_open(job_of("wine"))
    job = job_of(sided_images(), space="convnet")
    assert trying(job, 4).epochs == 0
    few = trying(job, 40)
    assert (few.share, few.epochs) == (1.0, 10)
    assert few.whole_epochs == 50
    many = trying(job_of("mnist5k", space="convnet"), 30)
    assert many.share == pytest.approx(1 / 3)  # of 3,000 images
    assert many.epochs == 22  # a quarter of 30 epochs on all


def test_images_are_not_mirrored_where_sides_matter(tmp_path: Path) -> None:
    """The usual way of coloured images mirrors them, which makes these two classes one."""
    retraining = Retraining(epochs=32, finalists=1, plain=False)
    found = meritnas.search(
        sided_images(), out=tmp_path / "run", retraining=retraining, seed=1, **SHORT
    )
    losses = json.loads((tmp_path / "run" / "augment.json").read_text())["valid_losses"]
    assert len(losses) == 5
    assert losses[0] > 0.5  # of two classes, chance has 0.69
    assert found.summary["augment"] == vars(best_way(USUAL, 2, losses))
    assert not found.summary["augment"]["flip"]
    assert found.test["accuracy"] > 0.9


class Killed(Exception):
    """In the middle of a run."""


def test_a_run_that_is_killed_while_ways_are_tried_goes_on_with_the_next(tmp_path: Path) -> None:
    common = {**SHORT, "retraining": Retraining(epochs=32, finalists=1, plain=False)}
    whole = meritnas.search(sided_images(), out=tmp_path / "whole", **common)
    seen: list[dict[str, Any]] = []

    def kill(event: dict[str, Any]) -> None:
        seen.append(event)
        if event["kind"] == "trial" and event["step"] == 2:
            raise Killed

    with pytest.raises(Killed):
        meritnas.search(sided_images(), out=tmp_path / "killed", listen=kill, **common)
    kept = json.loads((tmp_path / "killed" / "augment.json").read_text())["valid_losses"]
    assert len(kept) == 2
    found = meritnas.resume(tmp_path / "killed", sided_images())
    both = [
        json.loads((tmp_path / name / "augment.json").read_text())["valid_losses"]
        for name in ("whole", "killed")
    ]
    assert both[0] == both[1]
    assert both[1][:2] == kept
    assert found.summary["test"] == whole.summary["test"]
    assert found.summary["augment"] == whole.summary["augment"]


def test_time_for_trying_is_part_of_the_time_that_was_given(tmp_path: Path) -> None:
    asked = {**SHORT, "epochs": None, "minutes": 0.15}
    found = meritnas.search(sided_images(), out=tmp_path / "run", **asked)
    kept = json.loads((tmp_path / "run" / "augment.json").read_text())
    assert len(kept["valid_losses"]) == 5
    assert kept["seconds"] > 0
    assert found.summary["seconds"] <= 60 * 0.15 * 1.1
