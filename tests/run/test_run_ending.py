"""Whether a search says that it ended too early."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meritnas
from meritnas.run.ending import NEARLY_UNIFORM, Ending, ending_of, ending_text
from meritnas.strategy.catalogue import strategy_specs

EQUAL = [[0.34, 0.33, 0.33]] * 3
SURE = [[0.9, 0.05, 0.05]] * 3


def events(beliefs: list[Any], entropy: float, losses: list[float]) -> list[dict[str, Any]]:
    return [
        {"beliefs": rows, "entropy": entropy, "train_loss": loss}
        for rows, loss in zip(beliefs, losses, strict=True)
    ]


def judged(log: list[dict[str, Any]], believes: bool = True, steps: int = 100) -> Ending:
    return ending_of(log, believes=believes, chance_loss=2.0, weight_steps=steps, usual_steps=100)


def test_beliefs_that_are_nearly_uniform_are_undecided() -> None:
    flat = [0.5] * 8
    assert judged(events([EQUAL] * 8, NEARLY_UNIFORM, flat)).undecided
    assert not judged(events([SURE] * 8, 0.4, flat)).undecided


def test_who_has_no_beliefs_is_not_undecided() -> None:
    found = judged(events([EQUAL] * 8, 1.0, [0.5] * 8), believes=False)
    assert not found.undecided
    assert found.entropy is None
    without = {name for name, spec in strategy_specs().items() if not spec.believes}
    assert without == {"random", "evolution", "bayesian", "darts-shapley-frozen"}


def test_small_steps_that_all_go_one_way_have_settled() -> None:
    ahead = [[[0.34 + k / 1000, 0.33, 0.33]] * 3 for k in range(12)]
    assert not judged(events(ahead, 0.99, [0.5] * 12)).undecided
    rng = np.random.default_rng(0)
    astray = [rng.dirichlet([500.0] * 3, size=3).tolist() for _ in range(12)]
    assert judged(events(astray, 0.99, [0.5] * 12)).undecided


@pytest.mark.parametrize(
    ("losses", "steps", "undertrained"),
    [
        ([1.9] * 8, 50, True),  # hardly better than 2.0, and shorter than usual
        ([1.9] * 8, 100, False),  # there may be no more to learn
        ([1.6, 1.6, 1.4, 1.4, 1.2, 1.2, 1.0, 1.0], 100, True),  # still falling
        ([1.6, 1.4, 1.1, 0.8, 0.51, 0.5, 0.5, 0.5], 100, False),
        ([1.6, 1.4, 1.1, 0.8, 0.51, 0.5, 0.5, 0.5], 50, False),
    ],
)
def test_weights_that_still_improve_or_know_nothing_are_undertrained(
    losses: list[float], steps: int, undertrained: bool
) -> None:
    assert judged(events([SURE] * 8, 0.3, losses), steps=steps).undertrained == undertrained


def test_the_time_that_is_needed_is_that_of_a_usual_search() -> None:
    found = judged(events([EQUAL] * 8, 0.99, [1.9] * 8), steps=20)
    assert found.times_longer == 5.0
    text = ending_text(found.to_json(), 8.0)
    assert "of 20 weight steps ended undecided (entropy 0.99 of 1" in text
    assert "hardly trained (loss 0.95 of what knows nothing)" in text
    assert text.endswith("one of the usual 100 takes about 40 s at its pace")


def test_beyond_the_usual_length_the_time_is_called_a_guess() -> None:
    text = ending_text(judged(events([EQUAL] * 8, 0.99, [0.5] * 8)).to_json(), 90.0)
    assert text.endswith("twice as many, which is a guess, take about 3 min at its pace")


def test_a_search_that_was_enough_says_nothing() -> None:
    found = judged(events([SURE] * 8, 0.3, [0.5] * 8))
    assert found.times_longer == 1.0
    assert ending_text(found.to_json(), 8.0) == ""


@pytest.mark.parametrize(("strategy", "undecided"), [("tabnas", True), ("random", False)])
def test_a_search_of_one_epoch_says_so_everywhere(
    strategy: str, undecided: bool, tmp_path: Path
) -> None:
    heard: list[str] = []
    result = meritnas.search(
        "wine",
        strategy=strategy,
        epochs=1,
        retraining=meritnas.Retraining(epochs=1, seeds=1, finalists=1),
        out=tmp_path / "run",
        listen=lambda event: heard.append(str(event.get("text"))),
    )
    ending = result.summary["ending"]
    assert ending["undecided"] == undecided
    assert ending["weight_steps"] < ending["usual_steps"]
    assert result.summary["seconds_needed"] > 0
    said = [text for text in heard if text.startswith("the search of ")]
    assert bool(said) == (undecided or ending["undertrained"])
    assert any("ended undecided" in text for text in said) == undecided
    assert ("ended undecided" in result.report.read_text()) == undecided
