"""Wrong arguments of the functions that users call, each with one error that says what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meritnas
from meritnas import (
    MeritNASError,
    NASClassifier,
    NASFusionClassifier,
    NASFusionRegressor,
    NASRegressor,
    Retraining,
    Tabnas,
    Tabular,
    Training,
    UsageError,
)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    return found.assign(y=np.where(found.a > 0, "p", "q"))


@pytest.fixture(scope="module")
def run(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, which no wrong argument changes."""
    folder = tmp_path_factory.mktemp("values") / "run"
    again = Retraining(epochs=1, seeds=1, finalists=1, dropout=0.0)
    space = Tabular(2, (4, 8))
    meritnas.search(frame, "y", space=space, epochs=1, retraining=again, out=folder)
    return folder


@pytest.mark.parametrize("data", [None, 42, 1.5, True, object(), [1], b"x.csv", print, {1, 2}])
def test_what_is_no_data_is_refused(data: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"data must be the name of .* or a dict of arrays, got"):
        meritnas.search(data, "y", out=tmp_path / "run")
    with pytest.raises(UsageError, match="data must be the name of"):
        meritnas.train(data, "y", architecture="4-8", out=tmp_path / "run")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"target": 3}, "target must be a text, got 3"),
        ({"max_params": "many"}, "max_params must be a whole number, got 'many'"),
        ({"max_params": 1.5}, "max_params must be a whole number, got 1.5"),
        ({"max_params": True}, "max_params must be a whole number, got True"),
        ({"max_params": -1}, "the limit of -1 parameters is below the cheapest network"),
        ({"max_params": 10**400}, r"max_params must be at most 1e\+300, got a value of type int"),
        ({"max_size_kb": "1"}, "max_size_kb must be a number, got '1'"),
        ({"max_latency_ms": float("nan")}, "max_latency_ms must be above 0 and finite, got nan"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"seed": "a"}, "seed must be a whole number, got 'a'"),
        ({"seed": 2**40}, r"seed must be below 2\*\*32, got 1099511627776"),
        ({"minutes": "5"}, "minutes must be a number, got '5'"),
        ({"minutes": 0}, "minutes must be above 0 and finite, got 0"),
        ({"epochs": 2.5}, "epochs must be a whole number, got 2.5"),
        ({"epochs": 0}, "epochs must be at least 1, got 0"),
        ({"pareto": 1}, "pareto must be True or False, got 1"),
        ({"preset": "fast"}, "preset must be one of quick, paper, got 'fast'"),
        ({"listen": "events"}, "listen must be a function, got 'events'"),
        ({"out": 3}, "out must be a path, got 3"),
        ({"out": ""}, "out must be the path of a file or a folder, got ''"),
        ({"out": "a\0b"}, "out must be the path of a file or a folder"),
        ({"reading": "fast"}, "which a TableReading says how to read; got str"),
        ({"strategy": 3}, "strategy must be a text or a StrategySpec, got 3"),
        ({"strategy": Tabnas}, "strategy must be a text or a StrategySpec, got <class"),
        ({"strategy": ""}, "no strategy ''; there are"),
        ({"space": 3}, "space must be a text or a SpaceSpec, got 3"),
        ({"space": ""}, "no space ''; there are"),
        ({"training": {"epochs": 3}}, r"training must be a Training, got \{'epochs': 3\}"),
        ({"training": 0}, "training must be a Training, got 0"),
        ({"retraining": Training()}, r"retraining must be a Retraining, got Training\("),
        ({"run": "cpu"}, "run must be a RunOptions, got 'cpu'"),
    ],
    ids=str,
)
def test_a_wrong_argument_of_a_search_is_told_by_its_rule(
    given: dict[str, Any], words: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    usual = {"target": "y", "out": tmp_path / "run", "space": Tabular(2, (4, 8))}
    with pytest.raises(MeritNASError, match=words) as refused:
        meritnas.search(frame, **{**usual, **given})
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"architecture": None}, "architecture must be a text, got None"),
        ({"architecture": 48}, "architecture must be a text, got 48"),
        ({"seeds": 0}, "retrain_seeds must be at least 1, got 0"),
        ({"epochs": "3"}, "retrain_epochs must be a whole number, got '3'"),
        ({"retraining": 3}, "retraining must be a Retraining, got 3"),
        ({"listen": 3}, "listen must be a function, got 3"),
    ],
    ids=str,
)
def test_a_wrong_argument_of_a_training_is_told_by_its_rule(
    given: dict[str, Any], words: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    usual = {"target": "y", "architecture": "4-8", "out": tmp_path / "run"}
    with pytest.raises(UsageError, match=words):
        meritnas.train(frame, **{**usual, **given})


def test_wrong_arguments_about_a_run_are_told_by_their_rules(
    run: Path, frame: pd.DataFrame, tmp_path: Path
) -> None:
    compared: dict[str, Any] = {"strategies": ["random", "tabnas"], "out": tmp_path / "c"}
    for call, words in (
        (lambda: meritnas.resume(3), "run must be a path, got 3"),  # type: ignore[arg-type]
        (lambda: meritnas.resume(run, frame, 3), "listen must be a function"),  # type: ignore[arg-type]
        (lambda: meritnas.retrain(run, seeds=1.5), "retrain_seeds must be a whole"),  # type: ignore[arg-type]
        (lambda: meritnas.retrain(run, seeds=10**9), "retrain_seeds must be at most 1,000"),
        (lambda: meritnas.retrain(run, epochs=0), "retrain_epochs must be at least 1"),
        (lambda: meritnas.retrain(run, architecture=3), "architecture must be a text"),  # type: ignore[arg-type]
        (lambda: meritnas.explain(None), "run must be a path, got None"),  # type: ignore[arg-type]
        (lambda: meritnas.load_predictor(run, [1]), "network must be a text, got"),  # type: ignore[arg-type]
        (lambda: meritnas.export(run, 3), "to must be a text, got 3"),  # type: ignore[arg-type]
        (lambda: meritnas.export(run, "python", ""), "out must be the path"),
        (
            lambda: meritnas.compare(frame, "y", **{**compared, "strategies": "random"}),
            "strategies must be a list, got 'random'",
        ),
        (lambda: meritnas.compare(frame, "y", **compared, seeds=0), "seeds must be at least 1"),
        (lambda: meritnas.compare(frame, "y", **compared, seeds=10**9), "seeds must be at most 1"),
        (lambda: meritnas.compare(frame, "y", **{**compared, "out": 3}), "out must be a path"),
    ):
        with pytest.raises(UsageError, match=words):
            call()


@pytest.mark.parametrize(
    "estimator", [NASClassifier, NASRegressor, NASFusionClassifier, NASFusionRegressor]
)
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_params": "many"}, "max_params must be a whole number, got 'many'"),
        ({"epochs": 2.5}, "epochs must be a whole number, got 2.5"),
        ({"minutes": "5"}, "minutes must be a number, got '5'"),
        ({"space": 3}, "space must be a text or a SpaceSpec or a function, got 3"),
        ({"strategy": 3}, "strategy must be a text or a StrategySpec, got 3"),
        ({"training": 3}, "training must be a Training, got 3"),
        ({"retraining": "long"}, "retraining must be a Retraining, got 'long'"),
        ({"validation_fraction": "half"}, "validation_fraction must be a number, got 'half'"),
        ({"test_fraction": None}, "test_fraction must be a number, got None"),
        ({"random_state": -1}, "random_state must be a whole number from 0"),
        ({"random_state": "a"}, "random_state must be"),
        ({"device": 3}, "device must be a text, got 3"),
        ({"verbose": "very"}, "verbose must be a whole number, got 'very'"),
    ],
    ids=str,
)
def test_a_wrong_parameter_of_an_estimator_is_told_when_it_is_fitted(
    estimator: Any, given: dict[str, Any], words: str, frame: pd.DataFrame
) -> None:
    X: Any = frame[["a", "b"]]
    y: Any = frame["a"] if estimator in (NASRegressor, NASFusionRegressor) else frame["y"]
    if estimator in (NASFusionClassifier, NASFusionRegressor):
        X = {"left": frame[["a"]].to_numpy(), "right": frame[["b"]].to_numpy()}
    made = estimator(**given)
    with pytest.raises(UsageError, match=words):
        made.fit(X, y)
    assert made.get_params(deep=False) == {**estimator().get_params(deep=False), **given}
