"""Networks of a user's own, from the command line and from scripts."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from cli_helpers import Forked, Outcome, table
from test_cli_process import assert_same_run, wait_for
from torch import nn

import meritnas as library
import meritnas.nn as mn
from meritnas import NASClassifier, Retraining, StoreError, UsageError

Command = Callable[..., Outcome]

OWN = '''
import meritnas.nn as mn
from torch import nn


def build(pick, inputs, outputs, *, most: int = 8):
    """A layer or two.

    Args:
        most: Units of the widest layer.
    """
    width = pick.width("width", 4, most)
    act = pick.one("act", relu=nn.ReLU, prelu=nn.PReLU)
    deep = pick.depth("deep", 0, 1)
    return nn.Sequential(
        mn.Linear(inputs, width),
        act(),
        mn.Stack(deep, lambda number: nn.Sequential(mn.Linear(width, width), act())),
        mn.Linear(width, outputs),
    )


ready = nn.Sequential(
    nn.Linear(3, 6), mn.Choice("act", relu=nn.ReLU(), tanh=nn.Tanh()), nn.Linear(6, 1)
)
'''
SHORT = ("--epochs", "2", "--retrain-epochs", "2", "--retrain-seeds", "1", "--quiet")
LONG = ("--epochs", "16", "--retrain-epochs", "8", "--finalists", "1", "--retrain-seeds", "2")
TRUST = ("--trust", "own_nets:build")


@pytest.fixture
def nets(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "own_nets.py").write_text(OWN)
    before = list(sys.path)
    yield
    sys.path[:] = before
    sys.modules.pop("own_nets", None)


@pytest.mark.usefixtures("nets")
def test_a_build_function_is_searched_and_used_like_any_space(meritnas: Command) -> None:
    table().to_csv("sales.csv", index=False)
    asked = ("sales.csv", "--target", "churn", "--space", "own_nets:build", "--most", "12")
    made = meritnas("search", *asked, "--max-params", "200", *SHORT, "--out", "run", "--json")
    assert made.code == 0, made.err
    said = json.loads(made.out)
    assert said["params"] <= 200
    assert said["architecture"].split("-")[0] in ("4", "12")
    for look in (["show", "run"], ["report", "run"], ["columns", "run"]):
        assert meritnas(*look).code == 0
    assert "own_nets" in (Path("run") / "report.html").read_text()
    for command in (
        *(["predict", "run", "sales.csv"], ["explain", "run"], ["search", "--resume", "run"]),
        ["retrain", "run", "--epochs", "1"],
    ):
        refused = meritnas(*command)
        assert refused.code == 2, command
        assert "--trust own_nets:build" in refused.err
        done = meritnas(*command, *TRUST)
        assert done.code == 0, done.err
    helped = meritnas("search", "--space", "own_nets:build", "--help")
    assert "--most" in helped.out


@pytest.mark.usefixtures("nets")
def test_killed_it_ends_like_an_undisturbed_one() -> None:
    table().to_csv("sales.csv", index=False)
    asked = ("sales.csv", "--target", "churn", "--space", "own_nets:build", *LONG, "--quiet")
    whole = Forked("search", *asked, "--out", "whole")
    process = Forked("search", *asked, "--out", "run")
    wait_for(Path("run/checkpoint.pt"), process)
    process.kill()
    process.communicate()
    assert not Path("run/architecture.json").exists()
    resumed = Forked("search", "--resume", "run", *TRUST, "--quiet")
    resumed.communicate()
    whole.communicate()
    assert (whole.returncode, resumed.returncode) == (0, 0)
    assert_same_run(Path("run"), Path("whole"))


@pytest.mark.usefixtures("nets")
def test_a_ready_module_is_named_like_a_function(meritnas: Command) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
    frame.assign(y=frame["a"] * 2.5).to_csv("numbers.csv", index=False)
    asked = ("numbers.csv", "--target", "y", "--task", "regression", "--space", "own_nets:ready")
    made = meritnas("search", *asked, *SHORT, "--out", "run", "--json")
    assert made.code == 0, made.err
    assert json.loads(made.out)["architecture"] in ("relu", "tanh")
    assert meritnas("predict", "run", "numbers.csv", "--trust", "own_nets:ready").code == 0


@pytest.mark.usefixtures("nets")
@pytest.mark.parametrize(
    ("space", "words"),
    [
        ("own_nets:nothing", "has no attribute 'nothing'"),
        ("own_nets:mn", "must be a function or a class"),
    ],
)
def test_what_makes_no_networks_is_refused(meritnas: Command, space: str, words: str) -> None:
    table().to_csv("sales.csv", index=False)
    found = meritnas("search", "sales.csv", "--target", "churn", "--space", space, *SHORT)
    assert found.code == 2
    assert words in found.err


def local(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
    width = pick.width("width", 4, 6)
    return nn.Sequential(mn.Linear(inputs, width), nn.ReLU(), mn.Linear(width, outputs))


local.__module__ = "__main__"  # as in a script or a notebook
QUICK: dict[str, Any] = {"epochs": 2, "retraining": Retraining(epochs=2, seeds=1, finalists=1)}


def test_a_function_of_a_script_is_given_again(tmp_path: Path) -> None:
    frame = table()
    found = library.search(frame, "churn", space=local, out=tmp_path / "run", **QUICK)
    assert [type(part) for part in found.module.network] == [nn.Linear, nn.ReLU, nn.Linear]  # type: ignore[arg-type]
    answers = found.predict(frame)
    with pytest.raises(StoreError, match="asks to import __main__:local"):
        library.load_predictor(tmp_path / "run")
    again = library.load_predictor(tmp_path / "run", trust=local)
    assert (again.predict(frame) == answers).all()
    assert library.resume(tmp_path / "run", frame, trust=local).architecture == found.architecture
    assert library.explain(tmp_path / "run", frame, trust=local).alternatives
    family = library.space_of(local, found.space.maker.reads, 1)  # type: ignore[attr-defined]
    assert family.spec == found.space.spec
    with pytest.raises(UsageError, match="search with workers=1"):
        library.search(frame, "churn", space=local, out=tmp_path / "two", workers=2, **QUICK)


def test_a_build_function_of_another_run_is_told(tmp_path: Path) -> None:
    def local(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        width = pick.width("units", 4, 6, 9)
        return nn.Sequential(mn.Linear(inputs, width), nn.ReLU(), mn.Linear(width, outputs))

    frame = table()
    library.search(frame, "churn", space=globals()["local"], out=tmp_path / "run", **QUICK)
    local.__module__, local.__qualname__ = "__main__", "local"
    with pytest.raises(StoreError, match="have other decisions than"):
        library.load_predictor(tmp_path / "run", trust=local)


def test_an_estimator_takes_a_build_function() -> None:
    frame = table()
    X, y = frame.drop(columns="churn"), frame["churn"]
    found = NASClassifier(space=local, max_params=80, random_state=0, **QUICK).fit(X, y)
    assert found.n_params_ <= 80
    assert isinstance(found.module_, nn.Module)
    assert len(found.predict(X)) == len(X)
    weights = sum(param.numel() for param in found.module_.parameters())
    assert weights == found.n_params_
    assert torch.is_tensor(next(found.module_.parameters()))
