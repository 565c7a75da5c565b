from __future__ import annotations

import inspect
from typing import Any

import pytest
from rich.text import Text
from typer.main import get_command

from meritnas import api
from meritnas.cli.chosen import Chosen
from meritnas.cli.flags import shown_default
from meritnas.cli.main import make_app
from meritnas.data.kinds import KINDS
from meritnas.families.catalogue import space_specs
from meritnas.families.recurrent.spec import Recurrent
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits, MoreLimits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_specs

PARTS: tuple[type[Any], ...] = (Limits, Training, Retraining, RunOptions)
OWN = {
    *("data", "target", "out", "resume", "config", "print_config"),
    *("live", "live_port", "tensorboard", "trust", "quiet", "as_json"),
}
"""What `search` takes beside settings."""


def options(space: str | None = None, strategy: str | None = None) -> dict[str, Any]:
    """What help shows of `search`, by the name of its parameter."""
    commands: Any = get_command(make_app(Chosen(space, strategy)))
    params = commands.commands["search"].params
    return {param.name: param for param in params if not getattr(param, "hidden", False)}


def own_settings(owner: type) -> list[Setting]:
    return [setting for setting in settings_of(owner) if not setting.hidden]


def simple_settings() -> list[Setting]:
    """What of a request is no settings class."""
    parts = ("limits", "reading", "training", "retraining", "run")
    return [setting for setting in settings_of(Request) if setting.name not in parts]


def variable(setting: Setting) -> str:
    return setting.flag.replace("-", "_")


def check_shown(shown: dict[str, Any], settings: list[Setting]) -> None:
    """Each is a flag, with its line of help and its default."""
    for setting in settings:
        option = shown[variable(setting)]
        assert f"--{setting.flag}" in option.opts
        assert setting.help
        usual = shown_default(setting)
        text = setting.help + (f" [default: {usual}]" if usual else "")
        assert Text.from_markup(option.help).plain == text


@pytest.mark.parametrize("owner", PARTS)
def test_settings_that_all_data_have_are_flags(owner: type) -> None:
    check_shown(options(), own_settings(owner))


def test_a_request_s_own_settings_are_flags() -> None:
    check_shown(options(), simple_settings())


@pytest.mark.parametrize("name", space_specs())
def test_a_space_s_settings_and_those_of_its_data_are_flags(name: str) -> None:
    spec = space_specs()[name]
    reading = next(kind.reading for kind in KINDS if kind.name == spec.data)
    check_shown(options(space=name), [*own_settings(spec), *own_settings(reading)])


@pytest.mark.parametrize("name", strategy_specs())
def test_a_strategy_s_settings_are_flags(name: str) -> None:
    check_shown(options(strategy=name), own_settings(strategy_specs()[name]))


@pytest.mark.parametrize(
    ("space", "strategy"),
    [
        *((name, "tabnas") for name in space_specs()),
        *(("darts", name) for name in strategy_specs()),
    ],
)
def test_help_shows_no_flag_that_is_no_setting(space: str, strategy: str) -> None:
    reading = next(kind.reading for kind in KINDS if kind.name == space_specs()[space].data)
    owners = (*PARTS, space_specs()[space], strategy_specs()[strategy], reading)
    settings = [*simple_settings(), *(s for owner in owners for s in own_settings(owner))]
    assert set(options(space, strategy)) == OWN | {variable(s) for s in settings}


def test_every_flag_that_is_not_shown_is_a_setting_of_another_space_or_strategy() -> None:
    commands: Any = get_command(make_app(Chosen()))
    params = {p.name for p in commands.commands["search"].params if getattr(p, "hidden", False)}
    readings = [kind.reading for kind in KINDS]
    owners = (*space_specs().values(), *strategy_specs().values(), *readings)
    assert params <= {variable(s) for owner in owners for s in own_settings(owner)}


@pytest.mark.parametrize("space", [None, *space_specs()])
def test_no_flag_is_there_twice_and_all_have_help(space: str | None) -> None:
    commands: Any = get_command(make_app(Chosen(space, "shapley")))
    for command in commands.commands.values():
        params = command.params
        flags = [flag for param in params for flag in (*param.opts, *param.secondary_opts)]
        assert len(flags) == len(set(flags))
        assert all(param.help for param in params)
        assert not any(isinstance(param.show_default, str) for param in params)  # "(...)" in help


def test_defaults_are_those_of_the_settings() -> None:
    nodes = Text.from_markup(options("recurrent")["nodes"].help).plain
    assert nodes.endswith(f"[default: {Recurrent().nodes}]")
    shown = Text.from_markup(options(strategy="sm-shapley")["gradient_share"].help).plain
    assert shown.endswith("[default: 0.3333]")
    assert Text.from_markup(options("nasbench201")["zero"].help).plain.endswith("[default: zero]")


def test_the_command_line_has_every_setting_of_the_library() -> None:
    library = set(inspect.signature(api.search).parameters) - {"listen"}
    library |= set(MoreLimits.__optional_keys__)
    classes = {"reading", "training", "retraining", "run", "more"}
    assert library - classes <= set(options())
