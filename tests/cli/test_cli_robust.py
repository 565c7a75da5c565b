"""Robust networks from the command line: kept, refused elsewhere, and the same after a pause."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from cli_helpers import Outcome, table
from test_cli_modalities import SMALL, TINY, views

import meritnas as library
from meritnas.report.repeat import repeat_command
from meritnas.report.run_files import read_run

Command = Callable[..., Outcome]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    np.savez(tmp_path / "views.npz", **views())
    return tmp_path / "views.npz"


def test_a_run_keeps_that_it_is_robust(data: Path, meritnas: Command) -> None:
    found = meritnas("search", data, *TINY, "--robust", "--quiet", "--json", "--out", "run")
    assert found.code == 0, found.err
    assert "robust: networks learn on samples with noise" in str(json.loads(found.out)["notes"])
    assert json.loads(Path("run/config.json").read_text())["settings"]["reading"]["robust"]
    assert "--robust" in str(repeat_command(read_run(Path("run")).config)).split()
    new = views(12, seed=1)
    new["sound"][:6] = np.nan  # some samples lack one
    np.savez("new.npz", **new)
    answers = meritnas("predict", "run", "new.npz")
    assert answers.code == 0, answers.err
    assert answers.out.count("\n") == 13


def test_a_robust_search_that_was_stopped_comes_to_the_same(data: Path, meritnas: Command) -> None:
    again = [*TINY, "--robust", "--strategy", "random", "--retrain-epochs", "3", "--quiet"]
    assert meritnas("search", data, *again, "--out", "whole").code == 0

    def stumble(event: dict[str, object]) -> None:
        if event["kind"] == "retrain" and event["step"] == 2:
            raise KeyboardInterrupt

    config = json.loads(Path("whole/config.json").read_text())
    assert config["settings"]["reading"]["robust"]
    with pytest.raises(KeyboardInterrupt):
        _searched_again(data, stumble)
    assert meritnas("search", "--resume", "stopped", "--quiet").code == 0
    whole, stopped = (
        library.load_predictor(folder).module.state_dict() for folder in ("whole", "stopped")
    )
    assert whole.keys() == stopped.keys()
    assert all((whole[name] == stopped[name]).all() for name in whole)


def _searched_again(data: Path, listen: Callable[[dict[str, object]], None]) -> None:
    library.search(
        data,
        "label",
        space=library.Fusion(channels=6, length=2),
        strategy="random",
        epochs=4,
        reading=library.ModalityReading(robust=True),
        retraining=library.Retraining(epochs=3, finalists=1, plain=False),
        out="stopped",
        listen=listen,
    )


def test_other_data_is_refused(meritnas: Command, tmp_path: Path) -> None:
    table(60).to_csv(tmp_path / "rows.csv", index=False)
    found = meritnas("search", tmp_path / "rows.csv", "--target", "churn", "--robust")
    assert found.code == 2
    assert "robust is for several modalities (--space fusion), and this is a table" in found.err
    assert "leave it out" in found.err


def test_given_networks_may_be_trained_robustly(data: Path, meritnas: Command) -> None:
    text = "cell1(picture.1, sound.0): step1 = sum(x, y) + cell2(cell1, noise.0): step1 = sum(x, y)"
    given = ["--architecture", text, "--epochs", "1", "--seeds", "1", "--robust", "--quiet"]
    found = meritnas("retrain", data, *SMALL, *given, "--json", "--out", "run")
    assert found.code == 0, found.err
    assert json.loads(Path("run/config.json").read_text())["settings"]["reading"]["robust"]
