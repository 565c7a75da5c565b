"""Folders of runs whose JSON files hold anything: a word or the right answer, no traceback."""

from __future__ import annotations

import copy
import json
import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SHORT, Outcome, run, table

Command = Callable[..., Outcome]

READS: dict[str, tuple[str, ...]] = {
    "config.json": ("show", "report", "columns", "predict", "resume"),
    "preprocessing.json": ("show", "report", "columns", "predict", "export"),
    "plan.json": ("show", "report", "explain", "resume"),
    "architecture.json": ("report", "resume"),
    "retrain.json": ("report", "resume"),
    "timing.json": ("report", "resume"),
    "result.json": ("show", "report", "resume", "explain"),
    "digests.json": ("show", "predict", "resume"),
}
WORDS: dict[str, tuple[str, ...]] = {
    "show": ("show", "r"),
    "report": ("report", "r"),
    "columns": ("columns", "r"),
    "predict": ("predict", "r", "sales.csv", "--quiet"),
    "export": ("export", "r", "--to", "python", "--force"),
    "explain": ("explain", "r", "--quiet"),
    "resume": ("search", "--resume", "r", "--quiet"),
}
TEXTS = {
    "nested": "[" * 100_000,
    "nested-objects": '{"a":' * 50_000,
    "digits": '{"version": ' + "9" * 10_000 + "}",
    "surrogate": '{"format": "\\ud800"}',
    "nan": '{"a": NaN}',
    "list": "[]",
    "text": '"x"',
    "number": "3",
    "empty-object": "{}",
    "null": "null",
    "empty": "",
    "half": '{"format": "meritnas-run", ',
}
VALUES: tuple[Any, ...] = (None, [], {}, "x", -1, 10**30, 1e300, True, [[]], "\x1b[31m", ...)
"""In the place of others; `...` for nothing at all."""

CHANGES = 10
"""Of each file, beside the texts."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished and explained run, without digests: as anybody may have written it."""
    folder = tmp_path_factory.mktemp("whole")
    table().to_csv(folder / "sales.csv", index=False)
    asked = ("--target", "churn", "--max-params", "300", *SHORT, "--finalists", "1", "--pareto")
    made = run("search", folder / "sales.csv", *asked, "--quiet", "--out", folder / "run")
    assert made.code == 0, made.err
    return folder / "run"


def places(node: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something in JSON can be another thing."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in inner:
        yield (*way, key)
        if isinstance(value, dict | list):
            yield from places(value, (*way, key))


def changed(content: Any, way: tuple[Any, ...], value: Any) -> str:
    found = copy.deepcopy(content)
    inner = found
    for key in way[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[way[-1]]
    else:
        inner[way[-1]] = value
    return json.dumps(found)


def cases(whole: Path, file: str) -> Iterator[str]:
    yield from TEXTS.values()
    content = json.loads((whole / file).read_text())
    rng = random.Random(file)
    every = list(places(content))
    for _ in range(CHANGES):
        yield changed(content, rng.choice(every), rng.choice(VALUES))


@pytest.mark.parametrize("file", READS)
def test_anything_in_a_file_of_a_run_is_a_word_or_the_right_answer(
    whole: Path, meritnas: Command, file: str
) -> None:
    shutil.copy(whole.parent / "sales.csv", "sales.csv")
    tried = 0
    for text in cases(whole, file):
        for command in READS[file]:
            shutil.copytree(whole, "r")
            if file != "digests.json":
                Path("r/digests.json").unlink()
            if command == "resume" and file in ("plan.json", "architecture.json", "retrain.json"):
                Path("r/result.json").unlink()
            Path("r", file).write_text(text)
            outcome = meritnas(*WORDS[command])  # any other exception would end the test
            said = f"{command} with {text[:200]!r}: {outcome.err[-300:]}"
            assert outcome.code in (0, 2), said
            if outcome.code == 2:
                assert outcome.err.splitlines()[-1].startswith("error: "), said
            shutil.rmtree("r")
            tried += 1
    assert tried >= (len(TEXTS) + CHANGES) * len(READS[file])
