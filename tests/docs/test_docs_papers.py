"""Every full-size command of docs/papers.md runs, on stand-ins and with networks that are small."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from all_flags import click_command, flags_of
from all_pages import ROOT
from paper_files import make_files
from test_docs_commands import commands

from meritnas.cli.chosen import find_chosen, split_strategies
from meritnas.cli.commands.compare import read_strategy
from meritnas.cli.main import main
from meritnas.explanation import network as network_credit

PAGE = ROOT / "docs" / "papers.md"
LINES = commands(PAGE)
PYTHON = [line for line in LINES if line.startswith("python -c ")]

SHORT = {"epochs": "1", "retrain-epochs": "1", "threads": "1", "batch-size": "32", "seeds": "1"}
RACE = {"candidates": "1", "finalists": "1", "retrain-seeds": "1"}
CELLS = {"image-size": "8", "channels": "4", "supernet-channels": "4", "cells": "3"}
SMALL: dict[str, dict[str, str]] = {
    "darts": {**CELLS, "supernet-cells": "3"},
    "darts-unique": {**CELLS, "cells": "2", "supernet-cells": "2"},
    "nasbench201": {**CELLS, "cells": "1", "supernet-cells": "1"},
    "recurrent": {"width": "4", "window": "5"},
    "fusion": {"channels": "4", "length": "4"},
    "table": {"widths": "4,8", "max-params-paper": "6000"},
}
"""What makes networks of a space small; all else is as on the page."""

LARGE_IMAGES = {"image-size": "64"}
"""The stem for ImageNet leaves an eighth of the side."""


def with_few(word: str) -> str:
    """Strategies in parentheses with as little to estimate as there can be."""
    return re.sub(r"samples=\d+", "samples=2", re.sub(r"permutations=\d+", "permutations=1", word))


def shrunk(words: list[str]) -> list[str]:
    """The same command, with few steps of small networks."""
    words = [with_few(word) for word in words]
    chosen = find_chosen(words)
    space = chosen.space or "table"
    space = space if space in SMALL else space.split("-")[0]
    known = flags_of(click_command(words[1], chosen))
    small = {**SMALL[space], **(LARGE_IMAGES if "--stem" in words else {})}
    if space == "table" and words[1] == "retrain":
        words[words.index("--architecture") + 1], small = "8-4", {}
    for flag in ("--permutations", "--normal-samples", "--sparse-samples"):
        if flag in words:
            words[words.index(flag) + 1] = "1"
    for name, value in {**SHORT, **RACE, **small}.items():
        flag = f"--{name}"
        if flag in words:
            words[words.index(flag) + 1] = value
        elif flag in known:
            words += [flag, value]
    return words


def with_strategies(words: list[str], names: Sequence[str]) -> list[str]:
    """A comparison of these alone."""
    place, seeds = words.index("--strategies") + 1, words.index("--seeds") + 1
    words[place], words[seeds] = ",".join(names), "1" if len(names) > 1 else "2"
    return words


def cases() -> Iterator[tuple[list[str], list[str]]]:
    """(lines, strategies to compare) of every case.

    Lines about a run come together with the one that makes it. A comparison has up to two
    strategies that no comparison in such a space has had, or else the last, the quickest, where
    no other line is about its data or its space. What then has none is only parsed.
    """
    words = [shlex.split(line) for line in LINES if line not in PYTHON]
    seen: set[object] = {each[2] for each in words if each[1] == "search"}
    found: list[tuple[list[str], list[str]]] = []
    for line in words:
        if line[2].startswith("runs/"):
            found[-1][0].append(shlex.join(line))
            continue
        names: list[str] = []
        if line[1] == "compare":
            every = split_strategies(line[line.index("--strategies") + 1])
            space = find_chosen(line).space or "table"
            kind = space.split("-")[0]
            fresh = [name for name in every if (kind, name.partition("(")[0]) not in seen]
            names = fresh[:2] or ([] if {line[2], space} <= seen else [*every[-1:]])
            seen |= {line[2], space, *((kind, name.partition("(")[0]) for name in names)}
        found.append(([shlex.join(line)], names))
    yield from found


CASES = list(cases())


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The public files, and what the page makes of them."""
    folder = tmp_path_factory.mktemp("files")
    make_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for line in PYTHON:
            exec(shlex.split(line)[2], {})
    return folder


@pytest.mark.parametrize(
    ("lines", "names"), CASES, ids=[f"{k}-{lines[0][9:40]}" for k, (lines, _) in enumerate(CASES)]
)
def test_a_full_size_command_runs(
    lines: list[str],
    names: list[str],
    files: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(files)
    monkeypatch.setattr(network_credit, "_DRAWS", {True: 2, False: 2})
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "meritnas"
        if words[1] == "compare":
            every = split_strategies(words[words.index("--strategies") + 1])
            assert all(read_strategy(name, {}) for name in every)
            if not names:  # what it would do is tried by others
                click_command(words[1], find_chosen(words)).make_context("compare", words[2:])
                continue
            few = dict.fromkeys(with_few(name) for name in names)
            words = with_strategies(shrunk(words), [*few])
        elif words[1] != "explain":
            words = shrunk(words)
        with pytest.raises(SystemExit) as ended:
            main(words[1:])
        said = capfd.readouterr()
        assert not ended.value.code, f"{line}\n{shlex.join(words)}\n{said.err}"


COUNTS = {
    "table": {"Shapley-NAS": 5, "AdvantageNAS": 4, "TabNAS": 4, "MANAS": 2, "SM-ShapNAS": 11},
    "figure": {"Shapley-NAS": 5, "AdvantageNAS": 6, "TabNAS": 15, "MANAS": 2, "SM-ShapNAS": 5},
}
"""How many the papers have."""


@pytest.mark.parametrize("kind", COUNTS)
def test_every_table_and_figure_of_the_papers_is_there(kind: str) -> None:
    sections = dict(re.findall(r"^## ([\w-]+)\n(.*?)(?=^## |\Z)", PAGE.read_text(), re.M | re.S))
    for paper, count in COUNTS[kind].items():
        rows = [row for row in sections[paper].splitlines() if row.startswith("| ")]
        named = set[int]().union(*(numbers_of(kind, row.split("|")[1]) for row in rows))
        assert set(range(1, count + 1)) <= named, paper


def numbers_of(kind: str, text: str) -> set[int]:
    """`tables 2 to 4, 6` -> 2, 3, 4, 6."""
    found: set[int] = set()
    for listed in re.findall(rf"\b{kind}s? ((?:\d+(?: to | and |, )?)+)", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", listed):
            found |= set(range(int(first), int(last or first) + 1))
    return found
