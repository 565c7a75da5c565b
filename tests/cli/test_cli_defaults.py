from __future__ import annotations

import inspect
from typing import Any, get_type_hints

import pytest

from meritnas import api
from meritnas.cli.commands.search import _STRATEGY_OPTIONS, search
from meritnas.prepare.defaults import IMAGE_DEFAULTS, TABLE_DEFAULTS
from meritnas.strategy.catalogue import options_of, strategy_specs


def shown_default(name: str) -> Any:
    return get_type_hints(search, include_extras=True)[name].__metadata__[0].show_default


@pytest.mark.parametrize("name", sorted(TABLE_DEFAULTS.keys() - {"widths"}))
def test_help_repeats_the_defaults_for_tables(name: str) -> None:
    assert shown_default(name).split(";")[0] == str(TABLE_DEFAULTS[name])


@pytest.mark.parametrize("name", sorted(IMAGE_DEFAULTS.keys() - {"zero"}))
def test_help_repeats_the_defaults_for_images(name: str) -> None:
    assert shown_default(name).split("images: ")[-1] == str(IMAGE_DEFAULTS[name])


def test_the_command_line_has_every_setting_of_the_library() -> None:
    library = set(inspect.signature(api.search).parameters) - {"strategy_options", "listen"}
    own = {"resume", "live", "live_port", "tensorboard", "quiet", "as_json", *_STRATEGY_OPTIONS}
    assert set(inspect.signature(search).parameters) == library | own


def test_the_command_line_has_every_option_of_the_strategies() -> None:
    known = {setting.name for name in strategy_specs() for setting in options_of(name)}
    assert set(_STRATEGY_OPTIONS) == known
