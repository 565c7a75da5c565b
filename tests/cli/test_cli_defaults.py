from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from meritnas import api
from meritnas.cli.search_command import _STRATEGY_OPTIONS, search
from meritnas.strategy.recipes import RECIPES


def shown_default(name: str) -> Any:
    return get_type_hints(search, include_extras=True)[name].__metadata__[0].show_default


@pytest.mark.parametrize(
    "name",
    [
        "strategy",
        "space",
        "layers",
        "learning_rate",
        "optimizer",
        "schedule",
        "weight_decay",
        "scaling",
        "retrain_seeds",
        "finalists",
    ],
)
def test_help_repeats_the_defaults_of_the_library(name: str) -> None:
    assert shown_default(name) == str(inspect.signature(api.search).parameters[name].default)


def test_the_command_line_has_every_setting_of_the_library() -> None:
    library = set(inspect.signature(api.search).parameters) - {"strategy_options", "listen"}
    own = {"resume", "quiet", "as_json", *_STRATEGY_OPTIONS}
    assert set(inspect.signature(search).parameters) == library | own


def test_the_command_line_has_every_option_of_the_strategies() -> None:
    known = {name for recipe in RECIPES.values() for name in inspect.signature(recipe).parameters}
    assert set(_STRATEGY_OPTIONS) == known - {"problem"}
