from __future__ import annotations

import argparse
import importlib
import io
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pytest
from all_flags import all_flags, click_command, flags_of
from all_pages import PAGES, ROOT, page_name
from PIL import Image

from meritnas.cli.chosen import find_chosen
from meritnas.cli.main import main
from meritnas.explanation import network as network_credit

FULL = bool(os.environ.get("MERITNAS_FULL"))
"""Whether commands run as they are; otherwise with short trainings of small networks."""

SHORT = {"epochs": "1", "retrain-epochs": "1", "finalists": "1", "threads": "1"}
CELLS = {"image-size": "8", "channels": "2", "cells": "3", "supernet-channels": "2"}
SIZES = {
    "table": {"widths": "4,8", "layers": "2"},
    "darts": {**CELLS, "supernet-cells": "3"},
    "nasbench201": {**CELLS, "cells": "1", "supernet-cells": "1"},
    "convnet": {"image-size": "8", "widths": "8;16", "blocks": "plain3"},
    "recurrent": {"width": "8", "window": "5"},
    "fusion": {"channels": "4", "length": "2"},
}
"""What makes networks of a space small."""

BLOCK = re.compile(r"^```sh\n(.*?)^```", re.DOTALL | re.MULTILINE)
MODULE = re.compile(r"```python\n(# (\w+\.py)\n.*?)```", re.DOTALL)
INLINE = re.compile(r"`(meritnas [a-z-][^`]*)`")
BENCHMARK = re.compile(r"`(python benchmarks/[^`]*)`")
EXTRA = re.compile(r"meritnas\[([\w,]+)\]")


def commands(page: Path) -> list[str]:
    """All lines of a page's sh blocks, without comments."""
    lines = "".join(BLOCK.findall(page.read_text())).replace("\\\n", " ").splitlines()
    stripped = (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines)
    return [line for line in stripped if line]


def prepare(folder: Path, page: Path) -> None:
    """The files that the pages speak of, and modules that this page shows."""
    rng = np.random.default_rng(0)
    churn = rng.random(80) < 0.5
    sales = pd.DataFrame(
        {
            "since": pd.date_range("2020-01-01", periods=80).strftime("%Y-%m-%d"),
            "plan": rng.choice(["basic", "pro"], 80),
            "visits": rng.normal(size=80) + 2 * churn,
            "churn": np.where(churn, "yes", "no"),
        }
    )
    sales.to_csv(folder / "sales.csv", index=False)
    sales.drop(columns="churn").to_csv(folder / "new.csv", index=False)
    (folder / "clicks").mkdir()
    clicks = sales.rename(columns={"churn": "label"})
    for part in range(2):
        clicks[part * 40 :][:40].to_parquet(folder / "clicks" / f"part-{part}.parquet")
    clicks.to_parquet(folder / "new.parquet")
    for place in ("photos/cat", "photos/dog", "new-pictures"):
        (folder / place).mkdir(parents=True)
        for k in range(12):
            pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / place / f"{k}.png")
    words = rng.choice(["the", "cat", "it", "was", "late", "sat", "under", "a", "tree", "."], 3000)
    (folder / "book.txt").write_text(" ".join(words))
    label = rng.integers(3, size=80)
    views = {name: rng.normal(size=(80, 4)) + label[:, None] for name in ("upper", "lower")}
    views["blurred"] = rng.normal(size=(80, 4, 4)) + label[:, None, None]
    np.savez(folder / "views.npz", **views, label=label)
    np.savez(folder / "new.npz", **views)
    for text, name in MODULE.findall(page.read_text()):
        (folder / name).write_text(text)


def shortened(words: list[str]) -> list[str]:
    """The same command with short trainings of small networks."""
    if words[1] not in ("search", "retrain", "compare", "latency") or FULL:
        return words
    known = flags_of(click_command(words[1], find_chosen(words)))
    space, data = find_chosen(words).space, words[2]
    if space is None:
        space = "convnet" if data.rstrip("/") in ("mnist5k", "photos") else "table"
    if data == "mnist5k":
        words[2] = "photos"
    sizes = SIZES.get(space, {})  # a space of one's own has sizes of its own
    for name, value in {**SHORT, "seeds": "1", **sizes}.items():
        option = f"--{name}"
        if option not in known:
            continue
        if option in words:
            words[words.index(option) + 1] = value
        else:
            words += [option, value]
    if "--minutes" in words:
        i = words.index("--minutes")
        del words[i : i + 2]
    return words


ELSEWHERE = ("papers.md",)
"""Pages whose commands are about files that nobody has here: test_docs_papers.py has stand-ins."""

WITH_COMMANDS = [
    page for page in PAGES if BLOCK.search(page.read_text()) and page.name not in ELSEWHERE
]


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=page_name)
def test_commands_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Every line of an sh block, in the order of the page and in one folder."""
    monkeypatch.chdir(tmp_path)
    prepare(tmp_path, page)
    if not FULL:
        monkeypatch.setattr(network_credit, "_DRAWS", {True: 2, False: 2})
    for line in commands(page):
        words = shlex.split(line)
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), line
            continue
        if words[0] == "pip":
            continue  # its extras are looked at below
        if words[0] == "python":
            run_python(words)
            continue
        assert words[0] == "meritnas", line
        words, file = (words[:-2], words[-1]) if words[-2] == ">" else (words, None)
        capfd.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(shortened(words)[1:])
        said = capfd.readouterr()
        assert not ended.value.code, f"{line}\n{said.err}"
        if file is not None:
            Path(file).write_text(said.out)


def run_python(words: list[str]) -> None:
    """`python -c CODE > FILE`, which is how pages make a file."""
    assert words[:2] == ["python", "-c"], words
    if len(words) == 3:
        exec(words[2], {})
        return
    assert words[3] == ">", words
    said = io.StringIO()
    with redirect_stdout(said):
        exec(words[2], {})
    Path(words[4]).write_text(said.getvalue() if FULL else said.getvalue()[:20_000])


def mentioned() -> Iterator[Any]:
    for page in PAGES:
        for text in dict.fromkeys(INLINE.findall(page.read_text())):
            yield pytest.param(" ".join(text.split()), id=f"{page_name(page)}-{text[:40]}")


@pytest.mark.parametrize("text", list(mentioned()))
def test_commands_within_sentences_exist(text: str) -> None:
    """And have the options that are named."""
    words = text.split()[1:]
    if words[0].startswith("-"):
        assert words in (["--help"], ["--install-completion"])
        return
    known = all_flags(words[0])
    named = {re.split(r"[=,.;)]", word)[0] for word in words if word.startswith("--")}
    assert named <= known | {"--help"}, named - known


class Parsed(Exception):
    """The arguments of a benchmark are understood."""


def measured() -> Iterator[Any]:
    for page in PAGES:
        for text in dict.fromkeys(BENCHMARK.findall(page.read_text())):
            yield pytest.param(" ".join(text.split()), id=f"{page_name(page)}-{text[7:60]}")


@pytest.mark.parametrize("text", list(measured()))
def test_commands_that_measure_are_understood(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All benchmarks run in their quick form elsewhere; here their arguments are read."""
    words = shlex.split(text)[1:]
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    parse = argparse.ArgumentParser.parse_args

    def parse_and_stop(parser: argparse.ArgumentParser) -> NoReturn:
        parse(parser)
        raise Parsed

    monkeypatch.setattr(sys, "argv", words)
    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
    module = importlib.import_module(Path(words[0]).stem)
    with pytest.raises(Parsed):
        module.main()


def test_extras_to_install_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    named = {
        name
        for page in PAGES
        for found in EXTRA.findall(page.read_text())
        for name in found.split(",")
    }
    assert named
    assert named <= extras.keys()
