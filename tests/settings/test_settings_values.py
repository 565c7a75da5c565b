"""Every setting of every class, with values that nobody means: refused at once, or usable."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from meritnas.api import search
from meritnas.cli.chosen import Chosen
from meritnas.cli.flags import _typer_type
from meritnas.cli.request import assemble, simple_settings
from meritnas.data.kinds import KINDS
from meritnas.data.tables.reading import TableReading
from meritnas.errors import MeritNASError, UsageError
from meritnas.families.catalogue import space_specs
from meritnas.families.tabular.spec import Tabular
from meritnas.settings.augment import Augment
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_specs

NUMBERS = (0, -1, 10**9, 10**30, 10**400, 0.5, 1e-300, 1e300, float("nan"), float("inf"), 1j)
OTHERS = (
    *("", "x", "8", b"8", [], (), [1], [[1], [2]], {}, {"a": 1}, {1: "a"}, None, True),
    *(object(), print, Tabular, np.array([1, 2]), np.float32(0.5), np.int64(3)),
)
CLASSES = (
    *(Limits, Training, Retraining, RunOptions, Request, Augment, TrainRecipe),
    *(kind.reading for kind in KINDS),
    *space_specs().values(),
    *strategy_specs().values(),
)


def one_line(error: MeritNASError) -> None:
    text = str(error)
    assert text
    assert "\n" not in text
    assert len(text) < 700


def typed(value: Any, setting: Setting) -> bool:
    """Whether a value that was accepted is what code that reads the setting counts on."""
    kind = setting.kind
    if value is None:
        return setting.optional
    if kind is int:
        return type(value) is int
    if kind is float:
        return type(value) is float
    if kind in (bool, str):
        return type(value) is kind
    return not setting.choices or value in setting.choices


@pytest.mark.parametrize("owner", CLASSES, ids=lambda each: each.__name__)
def test_every_field_is_refused_in_a_line_or_is_of_its_type(owner: type) -> None:
    for setting in settings_of(owner):
        for value in (*NUMBERS, *OTHERS):
            try:
                made = owner(**{setting.name: value})
            except MeritNASError as error:
                one_line(error)
            else:
                assert typed(getattr(made, setting.name), setting), (setting.name, value)


@pytest.mark.parametrize("owner", CLASSES, ids=lambda each: each.__name__)
def test_no_whole_number_is_without_end(owner: type) -> None:
    for setting in settings_of(owner):
        if setting.kind is int:
            with pytest.raises(MeritNASError, match=setting.called):
                owner(**{setting.name: 10**400})


FLAGS = (
    *("0", "-1", "1000000000", "1" + "0" * 30, "1" + "0" * 5000, "nan", "inf", "1e999", ""),
    *(" ", "x", "1,2", "1;2;;", "8,", "a=b", "a=", "=", ":", "0.5", "2.5", "\0", "٣", "true"),
)
OF_DATA = {"table": "x.csv", "images": "x.npz", "text": "x.txt", "modalities": "x.npz"}


def flags_of(chosen: Chosen, kind: str) -> dict[str, Setting]:
    """All flags of a search with a space and a strategy."""
    reading = next(each.reading for each in KINDS if each.name == kind)
    owners = (Limits, Training, Retraining, RunOptions, reading)
    own = [space_specs()[str(chosen.space)], strategy_specs()[str(chosen.strategy)]]
    found = [s for owner in (*owners, *own) for s in settings_of(owner)]
    return {s.flag: s for s in (*found, *simple_settings()) if not s.hidden}


@pytest.mark.parametrize("space", space_specs())
def test_every_flag_is_refused_in_a_line_or_read(space: str) -> None:
    kind = space_specs()[space].data
    strategies = strategy_specs() if space == "tabular" else ["random"]
    for strategy in strategies:
        chosen = Chosen(space, strategy)
        for flag, setting in flags_of(chosen, kind).items():
            for text in FLAGS:
                given: Any = text
                if _typer_type([setting]) is float:  # Typer has read it
                    try:
                        given = float(text)
                    except ValueError:
                        continue
                elif _typer_type([setting]) == list[str]:
                    given = [text]
                try:
                    assemble(chosen, {flag: given}, OF_DATA[kind])
                except MeritNASError as error:
                    one_line(error)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"a": rng.normal(size=60), "b": rng.choice(list("xyz"), 60)})
    return found.assign(y=np.where(found.a > 0, "p", "q"))


TINY: dict[str, Any] = {
    "space": Tabular(2, (4, 8)),
    "epochs": 1,
    "reading": TableReading(scaling="standard"),
    "training": Training(batch_size=8),
    "retraining": Retraining(epochs=1, seeds=1, finalists=1, dropout=0.0),
    "run": RunOptions(threads=1),
}


def farthest(owner: type, values: tuple[Any, ...]) -> list[dict[str, Any]]:
    """For each value all settings that take it, at that value."""
    found = []
    for value in values:
        taken = {}
        for setting in settings_of(owner):
            try:
                owner(**{setting.name: value})
            except MeritNASError:
                continue
            taken[setting.name] = value
        if taken:
            found.append(taken)
    return found


EXTREMES = (0, -1, 1, 10**9, 1e-300, 1e300, -1e300)


@pytest.mark.parametrize("name", [name for name in strategy_specs() if name != "sm-shapley"])
def test_a_search_with_the_farthest_options_there_are_ends_or_says_why(
    name: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    owner = strategy_specs()[name]
    for number, options in enumerate(farthest(owner, EXTREMES)):
        try:
            spec = owner(**options)
            limit = {} if name != "mnasnet" else {"max_params": 200}
            search(frame, "y", strategy=spec, out=tmp_path / str(number), **TINY, **limit)
        except MeritNASError as error:
            one_line(error)


@pytest.mark.parametrize("part", ["training", "retraining"])
def test_trainings_with_the_farthest_values_there_are_end_or_say_why(
    part: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    owner = type(TINY[part])
    usual = {s.name: getattr(TINY[part], s.name) for s in settings_of(owner)}
    for number, options in enumerate(farthest(owner, (0, 1, 0.999999, 1e-300, 1e300))):
        for name, value in options.items():
            try:
                changed = {**TINY, part: owner(**{**usual, name: value})}
                search(frame, "y", strategy="random", out=tmp_path / f"{number}{name}", **changed)
            except MeritNASError as error:
                one_line(error)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Tabular(widths=8), "widths must be a list of whole numbers"),  # type: ignore[arg-type]
        (lambda: Tabular(widths="8,16"), "widths must be a list"),  # type: ignore[arg-type]
        (lambda: Tabular(widths=(8, 10**9)), "widths must be at most 1,000,000, got 1000000000"),
        (lambda: Tabular(layers=100_000), "layers must be at most 1,000, got 100000"),
        (lambda: Tabular(layers=True), "layers must be a whole number, got True"),
        (lambda: Training(learning_rate="0.1"), "learning_rate must be a number, got '0.1'"),  # type: ignore[arg-type]
        (lambda: Training(learning_rate=True), "learning_rate must be a number, got True"),
        (lambda: Training(learning_rate=10**400), "learning_rate must be a number, got a value of"),
        (lambda: RunOptions(threads=100_000), "threads must be at most .* on this machine, got 1"),
        (lambda: RunOptions(device=3), "device must be a text, got 3"),  # type: ignore[arg-type]
        (lambda: Retraining(epochs=2.5), "retrain_epochs must be a whole number, got 2.5"),  # type: ignore[arg-type]
        (lambda: Request(epochs=10**9), "epochs must be at most 1,000,000, got 1000000000"),
        (lambda: Request(limits=3), "limits must be a Limits, got 3"),  # type: ignore[arg-type]
        (lambda: TableReading(scaling=None), "scaling must be one of auto, standard, quantile"),  # type: ignore[arg-type]
    ],
)
def test_a_wrong_value_is_told_by_its_rule(make: Callable[[], Any], words: str) -> None:
    with pytest.raises((UsageError, MeritNASError), match=words):
        make()


def test_numbers_of_other_libraries_become_pythons() -> None:
    made = Tabular(np.int64(2), np.array([8, 16]))  # type: ignore[arg-type]
    assert (made.layers, made.widths) == (2, (8, 16))
    assert {type(each) for each in (made.layers, *made.widths)} == {int}
    training = Training(learning_rate=np.float32(0.5), batch_size=np.int16(4))  # type: ignore[arg-type]
    assert dataclasses.asdict(training)["learning_rate"] == 0.5
    assert [type(training.learning_rate), type(training.batch_size)] == [float, int]
