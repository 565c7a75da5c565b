from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SHORT, Outcome
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from meritnas import search
from meritnas.engine import loop
from meritnas.report.tensorboard import TensorBoardEvents
from meritnas.settings.training import Retraining

Command = Callable[..., Outcome]


class Killed(Exception):
    """Raised in the middle of a run; nothing is closed or saved any more."""


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
    assert len(trainings) > len({(one["architecture"], one["seed"]) for one in trainings})
    for one in trainings:  # some differ in dropout only
        name = f"training/{one['architecture']} dropout {one['dropout']:g} seed {one['seed']}"
        losses = [loss for _, loss in found[f"{name}/valid_loss"]]
        assert losses == pytest.approx(one["valid_losses"])
        score = (one["best_epoch"], one["test"]["accuracy"])
        assert found[f"{name}/test_accuracy"] == [pytest.approx(score)]
    for name in ("result.json", "retrain.json", "architecture.json", "model.safetensors"):
        Path("run", name).unlink()
    outcome = meritnas("search", "--resume", "run", "--tensorboard")
    assert outcome.code == 0, outcome.err
    assert curves(Path("run"))["search/entropy"] == found["search/entropy"]


@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["a checkpoint", "no checkpoint"])
def test_curves_do_not_double_where_a_run_was_killed_after_its_last_checkpoint(
    seconds: float, meritnas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_SECONDS_BETWEEN_CHECKPOINTS", seconds)
    writer = TensorBoardEvents()

    def listen(event: dict[str, Any]) -> None:
        writer(event)
        if event["kind"] == "search" and event["step"] > event["steps"] // 2:
            raise Killed  # the log has this event, the checkpoint has not

    with pytest.raises(Killed):
        search("wine", out="run", epochs=3, retraining=Retraining(epochs=1), listen=listen)
    assert Path("run/checkpoint.pt").exists() is (seconds == 0.0)
    outcome = meritnas("search", "--resume", "run", "--tensorboard")
    assert outcome.code == 0, outcome.err
    events = [json.loads(line) for line in Path("run/events.jsonl").read_text().splitlines()]
    steps = [step for step, _ in curves(Path("run"))["search/entropy"]]
    assert steps == [event["step"] for event in events]


def test_networks_of_a_trade_off_curve_have_their_curves_too(meritnas: Command) -> None:
    limits = ("--max-params", "250", "--pareto", "--finalists", "1", "--dropout", "0")
    outcome = meritnas("search", "wine", "--tensorboard", "--out", "run", *limits, *SHORT)
    assert outcome.code == 0, outcome.err
    found = curves(Path("run"))
    rows = json.loads(Path("run/result.json").read_text())["pareto"]
    assert dict(found["trade-off/test_accuracy_by_parameters"]) == pytest.approx(
        {row["params"]: row["test"]["accuracy"] for row in rows}
    )
    for row in rows[1:]:
        name = f"{row['folder']}/{row['architecture']} dropout 0 seed 0"
        assert len(found[f"{name}/train_loss"]) == 2
