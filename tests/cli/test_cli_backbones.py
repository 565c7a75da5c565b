from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from cli_helpers import Outcome
from test_cli_modalities import TINY, views

import meritnas as library
from meritnas.data.modalities.reading import ModalityReading
from meritnas.families.fusion.spec import Fusion
from meritnas.report.page.page import report_page
from meritnas.settings.request import RunOptions
from meritnas.settings.training import Retraining

Command = Callable[..., Outcome]

TRUST = ("--trust", "small_encoders:Small")

ENCODERS = """
from torch import nn


class Small(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Conv2d(1, 3, 3)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, images):
        return [self.norm(self.map(images)).relu()]
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file of modalities, and a module `small_encoders` in the current folder."""
    (tmp_path / "small_encoders.py").write_text(ENCODERS)
    monkeypatch.syspath_prepend(str(tmp_path))
    np.savez(tmp_path / "views.npz", **views())
    return tmp_path / "views.npz"


@pytest.mark.parametrize("flag", ["--backbone", "--frozen-backbone"])
def test_a_network_of_ones_own_reads_a_modality(data: Path, meritnas: Command, flag: str) -> None:
    own = [flag, "picture=small_encoders:Small"]
    found = meritnas("search", data, *TINY, *own, "--json", "--quiet", "--out", "run")
    assert found.code == 0, found.err
    weights = library.load_predictor("run", trust="small_encoders:Small").module.state_dict()
    trained = any("backbones.0.map" in name for name in weights)
    assert trained == (flag == "--backbone")
    assert "picture.1" not in Path("run/plan.json").read_text()  # its one feature, not conv's two
    answers = meritnas("predict", "run", data, "--out", "answers.csv", *TRUST)
    assert answers.code == 0, answers.err
    assert "note: small_encoders:Small is imported, as --trust says" in answers.err
    shown = re.sub(r"<[^>]+>", "", report_page(Path("run")))
    assert f"{flag} picture=small_encoders:Small" in shown  # in the command that repeats the run


def test_a_trained_one_learns_and_a_frozen_one_does_not_count(data: Path) -> None:
    from small_encoders import Small  # type: ignore[import-not-found]

    with torch.random.fork_rng(devices=[]):
        size = sum(weight.numel() for weight in Small().parameters())
    sizes: dict[str, Any] = {"cells": 2, "channels": 6, "length": 2}
    params = {}
    for name in ("backbones", "frozen_backbones"):
        given: Any = {name: {"picture": Small}}
        result = library.search(
            str(data),
            "label",
            space=Fusion(heads=False, **sizes, **(given if name == "backbones" else {})),
            strategy="random",
            epochs=2,
            reading=ModalityReading(**(given if name == "frozen_backbones" else {})),
            retraining=Retraining(epochs=2, finalists=1, plain=False),
            run=RunOptions(threads=1),
            out=name,
        )
        settings = json.loads(Path(name, "config.json").read_text())["settings"]
        kept = settings["space" if name == "backbones" else "reading"]
        assert kept[name] == {"picture": "small_encoders:Small"}
        inputs = {"picture": [(3, 4, 4)], "sound": [(5,)], "noise": [(3,)]}
        family = library.fusion_space(inputs, outputs=4, **sizes)
        params[name] = result.summary["params"] - family.cost(str(result.architecture))
    assert params == {"backbones": size, "frozen_backbones": 0}


def test_a_resumed_run_finds_its_networks_again(data: Path, meritnas: Command) -> None:
    own = ["--frozen-backbone", "picture=small_encoders:Small", "--seed", "3"]
    assert meritnas("search", data, *TINY, *own, "--quiet", "--out", "whole").code == 0
    assert meritnas("search", data, *TINY, *own, "--quiet", "--out", "part").code == 0
    for name in ("result.json", "retrain.json", "model.safetensors"):
        Path("part", name).unlink()
    resumed = meritnas("search", "--resume", "part", "--quiet", *TRUST)
    assert resumed.code == 0, resumed.err
    assert (
        Path("part/model.safetensors").read_bytes() == Path("whole/model.safetensors").read_bytes()
    )


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--backbone", "picture"], "--backbone takes a modality and a function"),
        (["--frozen-backbone", "=a:b"], "--frozen-backbone takes a modality and a function"),
        (["--backbone", "sund=small_encoders:Small"], "did you mean 'sound'"),
        (["--frozen-backbone", "sund=small_encoders:Small"], "did you mean 'sound'"),
        (["--backbone", "sound=nowhere:Small"], "no backbone 'nowhere:Small'"),
        (["--backbone", "picture=a:b", "--frozen-backbone", "picture=a:b"], "or frozen"),
    ],
)
def test_what_cannot_be_is_said(data: Path, meritnas: Command, flags: list[str], said: str) -> None:
    outcome = meritnas("search", data, *TINY, *flags, "--out", "run")
    assert outcome.code == 2
    assert said in " ".join(outcome.err.split())
    assert not Path("run").exists()


def test_a_function_that_no_run_could_find_again_is_refused(data: Path) -> None:
    with pytest.raises(library.MeritNASError, match="in a module of its own"):
        library.search(
            str(data),
            "label",
            space=Fusion(backbones={"picture": lambda: None}),  # type: ignore[dict-item]
        )
