"""What a run's folder names is not imported unless the user names it again."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_helpers import SHORT, Outcome, run, table
from test_cli_modalities import TINY, views

import meritnas as library

Command = Callable[..., Outcome]

CANARY = """
from pathlib import Path

Path("{touched}").touch()


def anything(*_, **__):
    raise SystemExit(99)
"""
USES = (
    *(["predict", "RUN", "new.csv"], ["export", "RUN", "--to", "python"], ["explain", "RUN"]),
    *(["retrain", "RUN"], ["search", "--resume", "RUN"]),
)
LOOKS = (["show", "RUN"], ["report", "RUN"], ["columns", "RUN"])


@pytest.fixture
def touched(tmp_path: Path) -> Iterator[Path]:
    """A module `canary` in the current folder, which leaves a file behind if it is imported."""
    path = tmp_path / "imported"
    (tmp_path / "canary.py").write_text(CANARY.format(touched=path))
    before = list(sys.path)
    yield path
    sys.path[:] = before
    sys.modules.pop("canary", None)


@pytest.fixture(scope="module")
def fused(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on modalities, not to be changed."""
    folder = tmp_path_factory.mktemp("fused")
    np.savez(folder / "views.npz", **views())
    made = run("search", folder / "views.npz", *TINY, "--quiet", "--out", folder / "run")
    assert made.code == 0, made.err
    return folder / "run"


def planted(source: Path, file: str, *way: Any, value: Any, unfinished: bool = False) -> Path:
    """A copy of a run in which a value of a JSON file is another."""
    folder = Path(shutil.copytree(source, "planted"))
    (folder / "digests.json").unlink()
    content = json.loads((folder / file).read_text())
    inner = content
    for key in way[:-1]:
        inner = inner[key]
    inner[way[-1]] = value
    (folder / file).write_text(json.dumps(content))
    if unfinished:
        (folder / "result.json").unlink()
    return folder


def said(folder: Path, command: list[str], meritnas: Command, *more: str) -> Outcome:
    return meritnas(*(str(folder) if word == "RUN" else word for word in command), *more)


@pytest.mark.parametrize("unfinished", [False, True])
@pytest.mark.parametrize("role", ["space", "strategy"])
def test_a_run_on_a_table_imports_nothing(
    trained: Path, touched: Path, meritnas: Command, role: str, unfinished: bool
) -> None:
    value = {"name": "canary:anything", "depth": 3}
    folder = planted(trained, "config.json", "settings", role, value=value, unfinished=unfinished)
    table(5).to_csv("new.csv", index=False)
    path = list(sys.path)
    for command in LOOKS:
        outcome = said(folder, command, meritnas)
        assert outcome.code == 0, outcome.err
    for command in USES:
        outcome = said(folder, command, meritnas)
        assert outcome.code == 2, command
        assert outcome.err.count("\n") == 1
        assert "--trust canary:anything" in outcome.err or "has not ended" in outcome.err
    assert not touched.exists()
    assert sys.path == path  # nor is the current folder looked into


@pytest.mark.parametrize(
    ("file", "way", "value"),
    [
        ("config.json", ("settings", "space", "name"), "canary:anything"),
        ("config.json", ("settings", "strategy", "name"), "canary:anything"),
        ("config.json", ("settings", "space", "backbones"), {"picture": "canary:anything"}),
        (
            *("config.json", ("settings", "reading", "frozen_backbones")),
            {"picture": "canary:anything"},
        ),
        (
            *("preprocessing.json", ("encoder", "modalities", 0)),
            {"kind": "frozen", "backbone": "canary:anything", "weights": "", "features": []},
        ),
    ],
)
def test_a_run_on_modalities_imports_nothing(
    fused: Path, touched: Path, meritnas: Command, file: str, way: tuple[Any, ...], value: Any
) -> None:
    if file == "preprocessing.json":
        kept = json.loads((fused / file).read_text())["encoder"]["modalities"][0]
        value = {**value, "read": kept}
    folder = planted(fused, file, *way, value=value)
    for command in (*LOOKS, ["columns", "RUN"]):
        outcome = said(folder, command, meritnas)
        assert "Traceback" not in outcome.err
    np.savez("new.npz", **views())
    for command in (*USES, ["explain", "RUN", "--modalities"], ["predict", "RUN", "new.npz"]):
        outcome = said(folder, command, meritnas)
        assert outcome.code == 2, command
    assert not touched.exists()


def test_a_run_of_0_1_imports_nothing(touched: Path, meritnas: Command) -> None:
    old = Path(__file__).parents[1] / "store" / "runs_of_0_1"
    sources = [path.parent for path in old.rglob("config.json")]
    assert sources
    for source in sources:
        folder = Path(shutil.copytree(source, "old"))
        config = json.loads((folder / "config.json").read_text())
        config["settings"]["strategy"] = "canary:anything"
        (folder / "config.json").write_text(json.dumps(config))
        for command in (*LOOKS, *USES):
            said(folder, command, meritnas)
        shutil.rmtree(folder)
    assert not touched.exists()


OWN = """
from meritnas import tabular_space


def small(inputs, outputs, *, most: int = 8):
    return tabular_space(inputs, outputs, layers=2, widths=[4, most])
"""


@pytest.fixture
def own(tmp_path: Path, sales: Path, meritnas: Command) -> Iterator[Path]:
    """A run in a space of one's own, whose module is in the current folder."""
    (tmp_path / "own_small.py").write_text(OWN)
    asked = ("--target", "churn", "--space", "own_small:small", "--most", "16", *SHORT[:6])
    made = meritnas("search", sales, *asked, "--quiet", "--out", "run")
    assert made.code == 0, made.err
    yield Path("run")
    sys.modules.pop("own_small", None)


def test_what_is_named_again_is_imported_and_told(
    own: Path, sales: Path, meritnas: Command
) -> None:
    trust = ("--trust", "own_small:small")
    for command in (
        *(["predict", own, sales], ["export", own, "--to", "python"], ["explain", own]),
        *(["retrain", own, "--epochs", "1"], ["search", "--resume", own]),
    ):
        refused = meritnas(*command)
        assert refused.code == 2
        assert "--trust own_small:small" in refused.err
        done = meritnas(*command, *trust)
        assert done.code == 0, done.err
        assert done.err.count("note: own_small:small is imported, as --trust says") == 1
    other = meritnas("predict", own, sales, "--trust", "own_small:other")
    assert other.code == 2
    assert "does not name 'own_small:other', but own_small:small" in other.err
    fresh = meritnas("search", sales, "--target", "churn", *trust)
    assert fresh.code == 2
    assert "--trust goes with --resume" in fresh.err
    data = meritnas("retrain", sales, "--target", "churn", "--architecture", "4-4", *trust)
    assert data.code == 2
    assert "is no run" in data.err


def test_in_python_the_function_itself_is_trust(own: Path) -> None:
    from own_small import small  # type: ignore[import-not-found]

    with pytest.raises(library.StoreError, match="--trust own_small:small"):
        library.load_predictor(own)
    for trust in (small, [small], "own_small:small", ["own_small:small"]):
        assert len(library.load_predictor(own, trust=trust).predict(table())) == 60
    assert library.resume(own, trust=small).architecture
    assert library.explain(own, trust=small).alternatives
    assert library.export(own, "python", trust=small)


def test_a_search_needs_no_trust_in_what_it_was_given(
    sales: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own_small.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    length: dict[str, Any] = {
        "epochs": 1,
        "retraining": library.Retraining(epochs=1, seeds=1, finalists=1),
    }
    found = library.search(sales, "churn", space="own_small:small", **length, out="run")
    assert len(found.predict(table())) == 60
    assert found.explain().alternatives
    names = ["random", "evolution"]
    compared = {"target": "churn", "strategies": names, "seeds": 1, "out": "both", **length}
    first = library.compare(sales, space="own_small:small", **compared)
    Path("both/random-0/result.json").unlink()
    again = library.compare(sales, space="own_small:small", **compared)
    assert list(again.table["score"]) == list(first.table["score"])


def test_the_report_shows_what_was_decided_without_the_users_code(
    own: Path, meritnas: Command
) -> None:
    sys.modules.pop("own_small", None)
    Path("own_small.py").unlink()
    assert meritnas("report", own).code == 0
    page = (own / "report.html").read_text()
    chosen = json.loads((own / "result.json").read_text())["architecture"].split("-")
    drawn = re.sub(r"<[^>]+>", " ", page.split('<section id="network"')[1].split("</section>")[0])
    for width in chosen:
        assert f" {width} " in drawn
    assert "layer 1" in drawn
    repeat = re.sub(r"<[^>]+>", "", page.split('<section id="repeat"')[1])
    assert "--space own_small:small" in repeat
    assert "--most 16" in repeat
    shown = meritnas("show", own)
    assert shown.code == 0
    assert all(width in shown.out for width in chosen)
