"""A comparison whose runs several do at a time."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import Outcome

import meritnas as library
from meritnas.comparison.one_run import OneRun, _seldom
from meritnas.errors import StoreError
from meritnas.progress.progress import detail_text, stage_text
from meritnas.strategy.random_search import Random

Command = Callable[..., Outcome]

ASKED = [
    *["compare", "wine", "--strategies", "tabnas,random", "--seeds", "2", "--max-params", "300"],
    *["--widths", "4,8", "--layers", "2", "--scaling", "standard", "--epochs", "1"],
    *["--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "1", "--dropout", "0"],
]


def untimed(found: dict[str, Any]) -> dict[str, Any]:
    """A comparison without what differs from one time to the next."""
    kept = {name: found[name] for name in ("metric", "differ")}
    for name in ("table", "runs"):
        rows = found[name]
        kept[name] = [{k: v for k, v in row.items() if k != "seconds"} for row in rows]
    return kept


def test_the_same_table_by_one_and_by_two(meritnas: Command) -> None:
    one = meritnas(*ASKED, "--out", "one", "--json", "--quiet")
    assert one.code == 0, one.err
    two = meritnas(*ASKED, "--out", "two", "--jobs", "2", "--json")
    assert two.code == 0, two.err
    expected = untimed(json.loads(one.out))
    assert untimed(json.loads(two.out)) == expected
    assert "comparing 100%  4 of 4 runs done" in two.err
    for run in ("tabnas-0", "random-1"):
        for name in ("model.safetensors", "retrain.json", "events.jsonl"):
            assert Path("one", run, name).read_bytes() == Path("two", run, name).read_bytes()

    # Who does it is no part of what a comparison is: one that was begun by two goes on by one.
    shutil.rmtree("two/random-0")
    Path("two/tabnas-1/result.json").unlink()
    before = Path("two/random-1/result.json").stat().st_mtime_ns
    alone = meritnas(*ASKED, "--out", "two", "--json", "--quiet")
    assert alone.code == 0, alone.err
    assert untimed(json.loads(alone.out)) == expected
    assert Path("two/random-1/result.json").stat().st_mtime_ns == before


def test_an_error_of_a_run_is_said_as_ever(tmp_path: Path) -> None:
    asked: dict[str, Any] = {"strategies": ["tabnas", "random"], "max_params": 3, "epochs": 1}
    with ThreadPoolExecutor(1) as pool, pytest.raises(library.InfeasibleError, match="3 param"):
        library.compare("wine", out=tmp_path / "none", executor=pool, **asked)


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    run = OneRun("random", Random(), 0, tmp_path / "random-0", b"{}")
    common: Any = None
    for content in (None, b"another"):
        if content is not None:
            (tmp_path / "compare.json").write_bytes(content)
        with pytest.raises(StoreError, match="a worker does not see the folder"):
            run(common, print)


def test_how_far_all_runs_are_is_a_line() -> None:
    event = {
        **{"kind": "runs", "step": 175, "steps": 400, "done": 1, "runs": 4},
        "at_work": [
            {"strategy": "tabnas", "seed": 0, "share": 0.5},
            {"strategy": "random", "seed": 0, "share": 0.25},
        ],
    }
    assert stage_text(event) == "comparing"
    assert detail_text(event) == "1 of 4 runs done; tabnas, seed 0 50%; random, seed 0 25%"


def test_a_worker_does_not_say_every_step() -> None:
    heard: list[dict[str, Any]] = []
    hear = _seldom(heard.append)
    for step in range(1, 1001):
        hear({"kind": "search", "step": step, "steps": 1000})
    hear({"kind": "note", "text": "a"})
    assert heard[0]["step"] == 1
    assert heard[-2]["step"] == 1000
    assert heard[-1]["kind"] == "note"
    assert len(heard) < 100
