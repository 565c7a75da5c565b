from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import Outcome, table

import meritnas as library
from meritnas.cli.waiting import Waiting
from meritnas.families.tabular.spec import Tabular
from meritnas.settings.training import Retraining
from meritnas.store.run_store import RunStore

Command = Callable[..., Outcome]


def test_parts_alternatives_and_interactions(trained: Path, meritnas: Command) -> None:
    page = trained / "report.html"
    page.write_text("of before")
    outcome = meritnas("explain", trained, "--json")
    assert outcome.code == 0, outcome.err
    assert 'id="alternatives"' in page.read_text()
    found = json.loads(outcome.out)
    widths = found["architecture"].split("-")
    for row in found["rows"]:
        number = int(row["decision"].removeprefix("layer"))
        assert row["option"] == widths[number - 1]
        assert row["low"] <= row["value"] <= row["high"]
    limit = 300
    for other in found["alternatives"]:
        differing = [a != b for a, b in zip(widths, other["architecture"].split("-"), strict=True)]
        assert sum(differing) == 1
        assert other["fits"] == (other["cost"] <= limit)
    changes = [other["loss_change"] for other in found["alternatives"]]
    assert changes == sorted(changes)
    assert len(found["interactions"]) == len(found["rows"]) * (len(found["rows"]) - 1) // 2
    assert json.loads((trained / "credit.json").read_text())["rows"] == found["rows"]
    kept = pd.read_csv(trained / "credit.csv")
    np.testing.assert_allclose(kept["value"], [row["value"] for row in found["rows"]])
    shown = meritnas("explain", trained)
    assert "closest alternatives" in shown.out
    assert "keeps the limits" in shown.out
    assert f"look at it: {page}" in shown.err
    assert meritnas("explain", trained, "--json").out == outcome.out  # the same again


def test_a_result_explains_itself_without_the_data(tmp_path: Path) -> None:
    result = library.search(
        table(),
        "churn",
        space=Tabular(widths=(4, 8)),
        epochs=2,
        retraining=Retraining(epochs=1, seeds=1, finalists=1),
        out=tmp_path / "run",
    )
    explained = result.explain()
    assert explained.architecture == str(result.architecture)
    with pytest.raises(library.UsageError, match="data in memory"):
        library.explain(tmp_path / "run")
    again = library.explain(tmp_path / "run", data=table())
    assert again == explained


def test_what_cannot_be_explained(trained: Path, sales: Path, meritnas: Command) -> None:
    assert "goes with --modalities" in meritnas("explain", trained, "--noise", "shot").err
    given = meritnas(
        *["retrain", sales, "--target", "churn", "--architecture", "4-4", "--epochs", "1"],
        *["--seeds", "1", "--out", "given", "--quiet"],
    )
    assert given.code == 0, given.err
    assert "without a search" in meritnas("explain", "given").err
    RunStore.create(Path("begun"), json.loads((trained / "config.json").read_text())).close()
    outcome = meritnas("explain", "begun")
    assert outcome.code == 2
    assert "has not ended yet" in outcome.err


def test_what_takes_long_is_said_while_it_is_done(
    trained: Path, meritnas: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("meritnas.cli.waiting.SECONDS", 600.0)
    quick = meritnas("explain", trained, "--json")
    assert quick.err == ""
    monkeypatch.setattr("meritnas.cli.waiting.SECONDS", 0.0)
    slow = meritnas("explain", trained, "--json")
    assert slow.out == quick.out
    pairs = ["how parts work together ..."] if json.loads(slow.out)["interactions"] else []
    parts = ["what each part is worth ...", *pairs, "what else was close ..."]
    begun = [*parts, "what each column is worth ..."]
    assert slow.err.splitlines()[-len(begun) :] == begun
    assert meritnas("explain", trained, "--json", "--quiet").err == ""
    assert logging.getLogger("meritnas").handlers == []


def test_a_terminal_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("meritnas.cli.waiting.SECONDS", 0.0)
    screen = io.StringIO()
    monkeypatch.setattr(screen, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("sys.stderr", screen)
    with Waiting() as waiting:
        waiting._timer.join()
        logging.getLogger("meritnas.explanation").info("what each part is worth: %d of %d", 3, 12)
        waiting._spinner._live.refresh()  # type: ignore[union-attr]
    assert "what each part is worth: 3 of 12" in screen.getvalue()
