"""Plain networks in the race of what a search has found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meritnas
from flat_search import search
from meritnas import Retraining, RunOptions, UsageError, nasbench201_space
from meritnas.prediction.writer import write_text
from meritnas.training import train
from meritnas.training.race import Race
from meritnas.training.race_length import timed_race

QUICK: dict[str, Any] = {
    **{"layers": 2, "widths": (4, 8, 16), "epochs": 3, "batch_size": 16, "threads": 1},
    **{"retrain_epochs": 2, "retrain_seeds": 1, "scaling": "standard", "max_params": 300},
    **{"plain": True, "finalists": 2},
}


def results_of(run: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((run / "retrain.json").read_text())["results"]
    return found


def test_the_plain_network_is_trained_as_all_others_and_told_of(tmp_path: Path) -> None:
    result = search("wine", out=tmp_path / "run", **QUICK)
    plain = result.summary["plain"]
    assert plain["architecture"] == "8-8"
    assert plain["params"] <= 300
    own = [one for one in results_of(result.run) if one["architecture"] == "8-8"]
    assert own
    assert min(one["valid_loss"] for one in own) == plain["valid_loss"]
    assert {one["epochs"] for one in own} == {2}
    ranked = json.loads((result.run / "architecture.json").read_text())["ranked"]
    beside = "8-8" not in ranked[:2]  # or the search has found it by itself
    assert plain["won"] == (beside and str(result.architecture) == "8-8")
    assert any("plain network" in note for note in result.summary["notes"])


def test_without_it_nobody_joins(tmp_path: Path) -> None:
    result = search("wine", out=tmp_path / "run", **{**QUICK, "plain": False})
    assert "plain" not in result.summary
    assert len({one["architecture"] for one in results_of(result.run)}) <= 2


def test_whoever_is_better_is_the_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loss_on, worse = train.loss_on, {"plain": 0.0}

    def rigged(module: Any, *given: Any) -> float:
        widths = [part.out_features for part in module.modules() if hasattr(part, "out_features")]
        return loss_on(module, *given) + (worse["plain"] if widths[:2] == [8, 8] else 0.0)

    monkeypatch.setattr(train, "loss_on", rigged)
    for name, penalty in {"loses": 100.0, "wins": -100.0}.items():
        worse["plain"] = penalty
        result = search("wine", out=tmp_path / name, **{**QUICK, "finalists": 1, "seed": 3})
        ranked = json.loads((result.run / "architecture.json").read_text())["ranked"]
        assert ranked[0] != "8-8"
        assert result.summary["plain"]["won"] == (name == "wins")
        assert (str(result.architecture) == "8-8") == (name == "wins")
    assert any("a plain network won, 8-8" in note for note in result.summary["notes"])


def test_a_plain_network_beside_cells_can_be_used_as_any_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (60, 8, 8), dtype=np.uint8)
    labels = np.where(images[:, :, :4].mean((1, 2)) > images[:, :, 4:].mean((1, 2)), "l", "r")
    loss_on = train.loss_on

    def rigged(module: Any, *given: Any) -> float:
        plain = any("rest.blocks.0" in name for name, _ in module.named_modules())
        return loss_on(module, *given) - (100.0 if plain else 0.0)

    monkeypatch.setattr(train, "loss_on", rigged)
    sizes = {"channels": 4, "cells": 1, "supernet_channels": 4, "supernet_cells": 1}
    result = search(
        (images, labels),
        space="nasbench201",
        out=tmp_path / "run",
        **{**sizes, "epochs": 1, "retrain_epochs": 1, "threads": 1, "plain": True},
        max_params=30_000,
    )
    text = str(result.architecture)
    assert text.startswith("8x8 ")
    assert result.summary["plain"]["won"]
    assert result.summary["params"] == sum(p.numel() for p in result.module.parameters()) <= 30_000
    again = meritnas.load_predictor(result.run)
    assert len(again.predict((images[:3], labels[:3]))) == 3
    meritnas.export(result.run, "python", tmp_path / "network")
    with pytest.raises(UsageError, match="plain network that raced beside what was found"):
        result.explain()


def views(rows: int = 60) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    label = np.arange(rows) % 3
    return {
        "left": rng.normal(size=(rows, 4)) + 2 * (label == 1)[:, None],
        "picture": rng.random((rows, 6, 6)) + (label == 2)[:, None, None],
        "label": label,
    }


FUSED: dict[str, Any] = {
    **{"space": "fusion", "channels": 4, "length": 2, "cells": 2, "epochs": 1, "threads": 1},
    **{"retrain_epochs": 2, "retrain_seeds": 1, "finalists": 1, "plain": True},
}


@pytest.mark.parametrize("favoured", ["Concatenation", "LateAveraging", "FusionNetwork"])
def test_modalities_race_with_concatenation_and_late_averaging(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, favoured: str
) -> None:
    loss_on = train.loss_on

    def rigged(module: Any, *given: Any) -> float:
        return loss_on(module, *given) - (100.0 if type(module).__name__ == favoured else 0.0)

    monkeypatch.setattr(train, "loss_on", rigged)
    data = views()
    limit = 8_000
    result = search(data, "label", out=tmp_path / "run", **FUSED, max_params=limit)
    trained = {one["architecture"] for one in results_of(result.run)}
    plain = result.summary["plain"]
    joined, late = plain["all"]
    assert joined.startswith("concatenation(")
    assert late.startswith("late-averaging(")
    assert trained > {joined, late}
    winner = {"Concatenation": joined, "LateAveraging": late}.get(favoured)
    assert plain["won"] == (winner is not None)
    if winner is None:
        assert str(result.architecture).startswith("cell1(")
        return
    assert str(result.architecture) == winner
    way, width = winner.rstrip(")").split("(")
    wider = result.space.cost(f"{way}({int(width) + 1})")
    assert result.summary["params"] <= limit < wider
    assert result.summary["params"] == sum(p.numel() for p in result.module.parameters())
    again = meritnas.load_predictor(result.run)
    few = {name: values[:7] for name, values in data.items() if name != "label"}
    answers = again.predict(few)
    for form in ("python", "onnx", "torch-export"):
        meritnas.export(result.run, form, tmp_path / form)
    np.testing.assert_array_equal(answers, result.predict(few))
    with pytest.raises(UsageError, match="--modalities says what each modality is worth"):
        result.explain()
    explained = meritnas.explain_modalities(result.run, data=data)
    assert [row["modality"] for row in explained.use.rows()] == ["left", "picture"]


def test_cells_with_an_auxiliary_head_race_with_plain_networks_that_have_none(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 255, (60, 8, 8), dtype=np.uint8)
    sizes = {"channels": 2, "cells": 3, "supernet_channels": 2, "supernet_cells": 3}
    result = search(
        (images, np.arange(60) % 2),
        space="darts",
        out=tmp_path / "run",
        **{**sizes, "auxiliary": 0.4, "epochs": 1, "retrain_epochs": 1, "threads": 1},
        **{"plain": True, "finalists": 1, "candidates": 2},
    )
    assert sum(one["architecture"].startswith("8x8 ") for one in results_of(result.run)) == 2


def test_a_space_that_is_given_as_a_family_may_have_plain_networks_beside_it(
    tmp_path: Path,
) -> None:
    images = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    family = nasbench201_space(1, 4, 1, image=(1, 8, 8))
    result = meritnas.search(
        (images, np.arange(60) % 2),
        space=family,
        epochs=1,
        retraining=Retraining(epochs=1, finalists=1),
        run=RunOptions(threads=1),
        out=tmp_path / "run",
    )
    assert result.summary["plain"]
    assert result.space.cost(result.architecture) == result.summary["params"]


def test_where_no_plain_network_can_take_part_the_run_says_so(tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    small = {"channels": 4, "cells": 1, "supernet_channels": 4, "supernet_cells": 1}
    quick = {"epochs": 1, "retrain_epochs": 1, "threads": 1, "finalists": 1, "candidates": 2}
    cells = {**small, **quick, "space": "nasbench201", "max_params_paper": 30_000}
    result = search((images, np.arange(60) % 2), out=tmp_path / "cells", **cells, plain=True)
    why = "no plain network takes part in the race: the limit on params-paper cannot be counted"
    assert [note for note in result.summary["notes"] if "plain" in note] == [f"{why} for them"]
    assert "plain" not in result.summary
    table = {**quick, "layers": 2, "widths": ((2, 8), (4, 16))}
    result = search("wine", out=tmp_path / "table", **table, plain=True)
    why = "no plain network takes part in the race: this space has none"
    assert [note for note in result.summary["notes"] if "plain" in note] == [why]
    table["widths"], table["max_params"] = ((3, 8), (2, 8)), 200
    result = search("wine", out=tmp_path / "narrow", **table, plain=True)
    why = "no plain network takes part in the race: none keeps the limits"
    assert [note for note in result.summary["notes"] if "plain" in note] == [why]
    result = search("wine", out=tmp_path / "without", **table)
    assert not any("plain" in note for note in result.summary["notes"])


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("text") / "book.txt"
    lines = [f"{a} saw {b}." for a, b in np.random.default_rng(0).choice(["he", "she"], (80, 2))]
    file.write_text("\n".join(lines))
    return file


WORDS: dict[str, Any] = {
    **{"space": "recurrent", "width": 6, "nodes": 2, "batch_size": 4, "window": 5, "plain": True},
    **{"epochs": 1, "retrain_epochs": 1, "threads": 1, "finalists": 1},
}


@pytest.mark.parametrize("known", [True, False])
def test_gru_and_lstm_race_with_every_cell(
    book: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    """Whether they are members of the space or not; here the LSTM wins, and can be used."""
    loss_on = train.loss_on

    def rigged(module: Any, *given: Any) -> float:
        return loss_on(module, *given) - (100.0 if getattr(module, "width", 0) == 12 else 0.0)

    monkeypatch.setattr(train, "loss_on", rigged)
    result = search(book, out=tmp_path / "run", known_cells=known, **WORDS)
    raced = {one["architecture"] for one in results_of(result.run)}
    assert {"gru", "lstm"} <= raced
    assert str(result.architecture) == "lstm"
    plain = result.summary["plain"]
    assert (plain["architecture"], plain["won"]) == ("lstm", len(raced) == 3)
    assert plain["params"] == sum(p.numel() for p in result.module.parameters())
    assert result.summary["space_count"] == 5**3 + 2 * known
    assert write_text(meritnas.load_predictor(result.run), "he saw", 5).startswith("he saw")
    meritnas.export(result.run, "python", tmp_path / "network")
    if known:
        assert result.explain().parts == ()
    else:
        with pytest.raises(UsageError, match="search the space recurrent as it is by default"):
            result.explain()


def test_of_gru_and_lstm_those_race_that_keep_the_limit(book: Path, tmp_path: Path) -> None:
    space = search(book, out=tmp_path / "all", **{**WORDS, "plain": False}).space
    limit = space.cost("gru")
    assert space.cost("|zero~0|+|zero~0|zero~1|") == limit < space.cost("lstm")
    result = search(book, out=tmp_path / "run", **WORDS, max_params=limit)
    raced = {one["architecture"] for one in results_of(result.run)}
    assert {"gru"} <= raced <= {"gru", "|zero~0|+|zero~0|zero~1|"}
    assert result.summary["feasible_count"] == 2


def test_comparisons_and_given_networks_have_none_unless_asked(tmp_path: Path) -> None:
    common = {"run": RunOptions(threads=1), "retraining": Retraining(epochs=1, seeds=1)}
    given = meritnas.train("wine", architecture="8-8", out=tmp_path / "given", **common)
    assert "plain" not in given.summary
    found = meritnas.compare(
        *("wine", None),
        strategies=["random", "tabnas"],
        seeds=1,
        out=tmp_path / "all",
        **{"max_params": 300, "epochs": 1},
        **common,
    )
    config = json.loads((next(found.folder.glob("random*")) / "config.json").read_text())
    assert config["settings"]["plain"] is False


def test_a_race_in_time_counts_those_beside() -> None:
    race = Race(("a", "b"), (0.0,), (0,), 1, plain=("plain",))
    alone = timed_race(replace(race, plain=()), ("a", "b"), 0, 60, 20)
    beside = timed_race(race, ("a", "b"), 0, 60, 20)
    assert (alone.epochs, beside.epochs) == (30, 20)
    assert beside.plain == ("plain",)
    assert beside.length <= 60
    # One that the search favours, too, is not trained twice.
    assert timed_race(race, ("plain", "b"), 0, 60, 20).plain == ()
