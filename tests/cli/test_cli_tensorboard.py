from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SHORT, Outcome
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

Command = Callable[..., Outcome]


def curves(run: Path) -> dict[str, list[tuple[int, float]]]:
    found = EventAccumulator(str(run / "tensorboard"))
    found.Reload()
    return {
        name: [(point.step, point.value) for point in found.Scalars(name)]
        for name in found.Tags()["scalars"]
    }


def test_curves_are_those_of_the_run_and_do_not_double_when_it_goes_on(
    sales: Path, meritnas: Command
) -> None:
    outcome = meritnas(
        "search", sales, "--target", "churn", "--tensorboard", "--out", "run", *SHORT
    )
    assert outcome.code == 0, outcome.err
    found = curves(Path("run"))
    events = [json.loads(line) for line in Path("run/events.jsonl").read_text().splitlines()]
    assert dict(found["search/entropy"]) == pytest.approx(
        {event["step"]: event["entropy"] for event in events}
    )
    trainings = json.loads(Path("run/retrain.json").read_text())["results"]
    names = [name for name in found if name.startswith("training/")]
    assert len(names) == 2 * len({(one["architecture"], one["seed"]) for one in trainings})
    for name in ("result.json", "retrain.json", "architecture.json", "model.safetensors"):
        Path("run", name).unlink()
    outcome = meritnas("search", "--resume", "run", "--tensorboard")
    assert outcome.code == 0, outcome.err
    assert curves(Path("run"))["search/entropy"] == found["search/entropy"]
