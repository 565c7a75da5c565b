from __future__ import annotations

import functools
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from all_flags import all_flags

from meritnas.clock import Clock
from meritnas.cost.feasible import FeasibleSet
from meritnas.data.bundle import Bundle
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.engine.loop import Search
from meritnas.engine.start import make_search
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import make_ground
from meritnas.settings.fields import Setting
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.algorithms.pace import PACES
from meritnas.strategy.catalogue import options_of, strategy_spec, strategy_specs

PAGE = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text()
ON_TABLES = [name for name in strategy_specs() if name != "pc-darts"]
STEPS = 16
"""After which strategies that learn from 8 or 16 networks at once have learnt from as many."""


def sections() -> dict[str, str]:
    """What the page says under each heading in backticks."""
    parts = re.split(r"^#{2,} `([^`]+)`$", PAGE, flags=re.MULTILINE)
    return {
        name: re.split(r"^#{2,} ", text, flags=re.MULTILINE)[0]
        for name, text in zip(parts[1::2], parts[2::2], strict=True)
    }


def option_rows(name: str) -> dict[str, tuple[str, str]]:
    """(default, what is said about it) by option of a strategy's table."""
    rows = re.findall(
        r"^\| `--([a-z-]+)` \| ([^|]+) \| ([^|]*) \|$", sections()[name], re.MULTILINE
    )
    return {option.replace("-", "_"): (default, text) for option, default, text in rows}


def first_table() -> dict[str, tuple[str, str, str]]:
    """(family, passes, limits) by strategy."""
    rows = re.findall(
        r"^\| \[`([^`]+)`\]\(#([^)]+)\) \| (.+) \| (.+) \| (.+) \|$", PAGE, re.MULTILINE
    )
    assert all(name == anchor for name, anchor, *_ in rows)
    return {name: (family, passes, limits) for name, _, family, passes, limits in rows}


def options(name: str) -> dict[str, Setting]:
    return {setting.name: setting for setting in options_of(name)}


def agrees(text: str, default: Any) -> bool:
    if default is None:
        return text == "found"
    if isinstance(default, bool):
        return text == ("on" if default else "off")
    if isinstance(default, str):
        return text == default
    return float(Fraction(text)) == default


def test_every_strategy_has_a_section_and_a_row_of_its_own() -> None:
    headings = re.findall(r"^#+ .*`.*$", PAGE, flags=re.MULTILINE)
    assert sorted(headings) == sorted(f"### `{name}`" for name in strategy_specs())
    assert list(first_table()) == list(sections())


@pytest.mark.parametrize("name", strategy_specs())
def test_a_section_has_a_formula_and_advice(name: str) -> None:
    text = sections()[name]
    assert "```text\n" in text
    assert re.search(r"\bTake it ", text)


def test_every_option_on_the_page_is_one_of_the_search() -> None:
    said = set(re.findall(r"--[a-z][a-z-]*", PAGE))
    assert {"--strategy", "--policy-rate", "--no-grouped"} <= said
    assert said <= all_flags("search")


@pytest.mark.parametrize("name", strategy_specs())
def test_the_table_of_options_is_the_library_s(name: str) -> None:
    rows, known = option_rows(name), options(name)
    assert list(rows) == list(known)
    wrong = {key: rows[key][0] for key in rows if not agrees(rows[key][0], known[key].default)}
    assert not wrong


@pytest.mark.parametrize("name", strategy_specs())
def test_every_value_that_an_option_can_have_is_in_its_row(name: str) -> None:
    known = options(name)
    for option, (default, text) in option_rows(name).items():
        if not text.startswith("as `"):
            told = {default, *re.findall(r"`([a-z-]+)`", text)}
            assert set(known[option].choices) <= told, option


@pytest.mark.parametrize("name", PACES)
def test_rates_are_those_of_the_library(name: str) -> None:
    said = option_rows(name)["policy_rate"][1]
    if other := re.match(r"as `([a-z-]+)`", said):
        said = option_rows(other[1])["policy_rate"][1]
    numbers = re.fullmatch(r"([\d.]+) / U, not below ([\d.]+) and not above ([\d.]+)", said)
    assert numbers, said
    pace = PACES[name]
    assert tuple(map(float, numbers.groups())) == (pace.way, pace.least, pace.most)


@functools.cache
def bundle() -> Bundle:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.normal(size=90)})
    frame["y"] = np.where(frame["a"] * frame["b"] > 0, "up", "down")
    return make_bundle(load_source(frame, "y"), seed=0)


def small_search(name: str) -> tuple[Search, FeasibleSet]:
    settings = SearchSettings(
        space=Tabular(layers=2, widths=(2, 3, 5, 8)),
        strategy=strategy_spec(name),
        reading=TableReading(),
        limits={"params": 50},
        recipe=TrainRecipe(learning_rate=0.02, batch_size=8),
        seed=0,
    )
    family = make_family(settings, bundle().encoder, bundle().task)
    ground = make_ground(family, {"params": 50})
    search = make_search(settings, ground, bundle(), None, 2 * STEPS)
    return search, ground.searched_feasible


def joint(step: int) -> Clock:
    return Clock(step, STEPS, "joint", step, STEPS)


@pytest.mark.parametrize("name", ON_TABLES)
def test_a_step_takes_as_many_passes_as_the_page_says(name: str) -> None:
    search, _ = small_search(name)
    weights, learning = first_table()[name][1].split(" + ")
    active = [len(gate.active) for gate in search.strategy.sample(joint(0))]
    assert ("path" in weights) == (active == [1, 1])
    if search.strategy.turns.phase == "frozen":
        assert re.search("after an epoch|at the end", learning)
        return
    for step in range(STEPS):
        search.strategy.update(search.probe, joint(step))
    passes = STEPS * int(learning.split()[0])
    if "a few forward" in learning:
        assert passes < search.probe.passes < 3 * passes
    else:
        assert search.probe.passes == passes


@pytest.mark.parametrize("name", ON_TABLES)
def test_what_weights_are_trained_on_fits_where_the_page_says_so(name: str) -> None:
    search, feasible = small_search(name)
    says = first_table()[name][2]
    assert "final choice" in says
    gates = [search.strategy.sample(joint(0)) for _ in range(60)]
    if any(len(gate.active) > 1 for gate in gates[0]):
        assert says == "the final choice keeps them"
        return
    picks = np.array([[gate.active[0] for gate in path] for path in gates])
    fits = bool(feasible.contains(picks).all())
    assert fits == bool(re.match("all draws|the network that is trained", says))
