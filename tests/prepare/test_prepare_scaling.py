from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import meritnas
from flat_search import search
from meritnas import InfeasibleError
from meritnas.data.bundle import Outline
from meritnas.data.kinds import kind_named
from meritnas.data.tables import preview
from meritnas.data.tables.bundle import outline_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import Source, load_source
from meritnas.errors import DivergedError
from meritnas.families.tabular.embedding_room import EMBEDDING_SHARE
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare import encoding
from meritnas.prepare.encoding import Encoding, choose_encoding
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.tabnas import Tabnas

SETTINGS = SearchSettings(
    Tabular(layers=2, widths=(8, 16)),
    Tabnas(),
    TableReading(),
    recipe=TrainRecipe(batch_size=32),
    limits={"params": 900},
)
QUICK: dict[str, Any] = {
    "layers": 2,
    "widths": (8, 16),
    "epochs": 2,
    "retrain_epochs": 2,
    "retrain_seeds": 1,
    "finalists": 1,
    "batch_size": 32,
    "threads": 1,
}


def long_tailed(rows: int = 500) -> pd.DataFrame:
    """What matters is the logarithm of numbers that span many powers of ten."""
    rng = np.random.default_rng(0)
    logs = rng.normal(0, 4, size=(rows, 3))
    frame = pd.DataFrame(np.exp(logs), columns=["a", "b", "c"])
    frame["y"] = np.where(logs[:, 0] - logs[:, 1] > 0, "more", "less")
    return frame


def normal(rows: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] - frame["b"] > 0, "more", "less")
    return frame


def outlined(frame: pd.DataFrame) -> tuple[Source, Outline]:
    source = load_source(frame, "y")
    return source, outline_table(source, 0)


def choose(settings: SearchSettings, source: Source, outline: Outline) -> Encoding:
    return choose_encoding(settings, kind_named("table"), source, outline)


def test_long_tails_get_quantile_scaling() -> None:
    found = choose(SETTINGS, *outlined(long_tailed()))
    assert found.name == "quantile"
    assert found.losses["quantile"] < 0.8 * found.losses["standard"]
    for words in ("quantile scaling", "with standard scaling", f"{found.losses['standard']:.4g}"):
        assert words in found.note


def test_without_tails_both_do_and_the_better_is_taken() -> None:
    found = choose(SETTINGS, *outlined(normal()))
    assert found.name == min(found.losses, key=lambda name: found.losses[name])
    assert set(found.losses) == {"standard", "quantile"}
    assert max(found.losses.values()) < 0.6  # both have learnt something
    assert f"numbers get {found.name} scaling" in found.note


def test_the_trial_is_decided_by_the_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_STEPS", 30)
    place = outlined(normal())
    found = choose(SETTINGS, *place)
    assert choose(SETTINGS, *place) == found
    other = replace(SETTINGS, seed=3)
    assert choose(other, *place).losses != found.losses


def forbid_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("a trial was made")

    monkeypatch.setattr(encoding, "train_child", refuse)


@pytest.mark.parametrize("asked", ["standard", "quantile"])
def test_what_a_user_asks_for_is_not_tried(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    forbid_trials(monkeypatch)
    settings = replace(SETTINGS, reading=TableReading(scaling=asked))  # type: ignore[arg-type]
    found = choose(settings, *outlined(long_tailed()))
    assert found == Encoding(asked, {})  # type: ignore[arg-type]
    assert found.note == ""


def test_few_rows_cannot_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_trials(monkeypatch)
    source, outline = outlined(long_tailed(preview._LEAST_ROWS_TO_TRY))  # fewer are for training
    assert choose(SETTINGS, source, outline) == Encoding("standard", {})


def test_a_table_without_numbers_has_nothing_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    forbid_trials(monkeypatch)
    frame = pd.DataFrame({"a": ["p", "q", "r", "q"] * 100, "y": ["u", "v"] * 200})
    assert choose(SETTINGS, *outlined(frame)) == Encoding("standard", {})


def test_large_tables_are_tried_on_some_of_their_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_MOST_ROWS", 120)
    train = encoding.train_child
    seen: list[tuple[int, int]] = []

    def watched(module: Any, rows: Any, valid: Any, *rest: Any) -> Any:
        seen.append((len(rows), len(valid)))
        return train(module, rows, valid, *rest)

    monkeypatch.setattr(encoding, "train_child", watched)
    choose(SETTINGS, *outlined(long_tailed(1000)))
    assert seen == [(120, 120)] * 2


class Stop(Exception):
    """Raised by a listener in the middle of a run."""


def test_a_run_keeps_its_scaling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoding, "_STEPS", 100)
    frame = long_tailed()
    result = search(frame, "y", out=tmp_path / "run", **QUICK)
    assert result.summary["scaling"] == "quantile"
    assert sum("numbers get quantile scaling" in note for note in result.summary["notes"]) == 1
    kept = json.loads((result.run / "preprocessing.json").read_text())["scaling"]
    assert kept["chosen"] == "quantile"
    assert kept["losses"]["quantile"] < kept["losses"]["standard"]

    def stumble(event: dict[str, Any]) -> None:
        if event["kind"] == "search" and event["step"] == 4:
            raise Stop

    with pytest.raises(Stop):
        search(frame, "y", out=tmp_path / "stopped", listen=stumble, **QUICK)
    early = tmp_path / "early"  # killed between its first two files
    early.mkdir()
    (early / "config.json").write_bytes((result.run / "config.json").read_bytes())
    again = meritnas.resume(early, frame)
    assert again.summary["notes"] == result.summary["notes"]
    forbid_trials(monkeypatch)
    resumed = meritnas.resume(tmp_path / "stopped", frame)
    for found in (again, resumed):
        assert found.test == result.test
        for name in ("preprocessing.json", "events.jsonl", "model.safetensors"):
            assert (found.run / name).read_bytes() == (result.run / name).read_bytes()


def test_an_explicit_scaling_is_what_a_run_uses(tmp_path: Path) -> None:
    frame = long_tailed()
    found = {}
    for kind in ("standard", "quantile"):
        run = tmp_path / kind
        result = search(frame, "y", scaling=kind, out=run, **QUICK)  # type: ignore[arg-type]
        assert result.summary["scaling"] == kind
        assert not any("scaling" in note for note in result.summary["notes"])
        predictor = meritnas.load_predictor(run)
        found[kind] = np.abs(predictor.encoder.transform(frame.drop(columns="y"))).max()
    assert found["quantile"] < 10 < found["standard"]


def test_the_trial_keeps_the_limits(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match="8-8 with"):
        search(normal(), "y", max_params=50, out=tmp_path / "run", **QUICK)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["standard", "auto"])
def test_categories_are_capped_where_their_embeddings_would_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(encoding, "_STEPS", 50)
    frame = long_tailed(3000)
    frame["many"] = [f"c{i}" for i in np.random.default_rng(1).integers(0, 250, 3000)]
    quick = {**QUICK, "epochs": 1, "retrain_epochs": 1, "scaling": kind}
    result = search(frame, "y", max_params=240, out=tmp_path / "run", **quick)
    assert sum(param.numel() for param in result.module.parameters()) <= 240
    embeddings = result.module.get_parameter("inputs.tables.0").numel()
    assert 2 < embeddings <= EMBEDDING_SHARE * 240
    assert result.predict(frame).shape == (3000,)


def diverging(monkeypatch: pytest.MonkeyPatch, trials: set[int]) -> None:
    """Lets these of the trials diverge."""
    train, made = encoding.train_child, iter(range(9))

    def unsteady(*given: Any) -> Any:
        if next(made) in trials:
            raise DivergedError
        return train(*given)

    monkeypatch.setattr(encoding, "train_child", unsteady)


@pytest.mark.parametrize(("trial", "other"), [(0, "quantile"), (1, "standard")])
def test_a_scaling_that_training_diverges_with_is_not_taken(
    monkeypatch: pytest.MonkeyPatch, trial: int, other: str
) -> None:
    monkeypatch.setattr(encoding, "_STEPS", 30)
    diverging(monkeypatch, {trial})
    found = choose(SETTINGS, *outlined(normal()))
    assert found.name == other
    assert [loss is None for loss in found.losses.values()] == [trial == 0, trial == 1]
    assert "none, it diverged, with" in found.note


def test_where_training_diverges_with_every_scaling_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    diverging(monkeypatch, {0, 1})
    with pytest.raises(DivergedError):
        choose(SETTINGS, *outlined(normal()))
