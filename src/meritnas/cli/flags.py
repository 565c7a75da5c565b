"""Command-line flags made of settings: their names, types, panels and help texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from meritnas.cli.help_text import help_text
from meritnas.cli.names import completions
from meritnas.cli.values import is_named, kinds_of, reader
from meritnas.settings.fields import Setting


@dataclass(frozen=True)
class Owner:
    """A settings class on the command line.

    Attributes:
        role: what of a request it makes up: `limits`, `space`, `strategy`, ...
        name: by which it is asked for; empty where there is only one of this role.
        panel: the heading of its flags in help.
        settings: its fields.
        hidden: whether help leaves them out.
    """

    role: str
    name: str
    panel: str
    settings: tuple[Setting, ...]
    hidden: bool = False


def with_parameters(
    command: Callable[..., None],
    first: Sequence[inspect.Parameter],
    owners: Iterable[Owner],
    last: Sequence[inspect.Parameter],
) -> Callable[..., None]:
    """The command with a signature of its own; Typer reads flags from there.

    Args:
        command: what takes all values as keywords.
        first: parameters before the flags.
        owners: what there are flags for; those that have the same flag share it.
        last: parameters after the flags.
    """
    own = {one.name for one in (*first, *last)}
    flags = [one for one in flag_parameters(owners) if one.name not in own]
    parameters = [*first, *flags, *last]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def flag_parameters(owners: Iterable[Owner]) -> list[inspect.Parameter]:
    """A parameter for each flag; owners that have the same flag share it."""
    shared: dict[str, list[tuple[Owner, Setting]]] = {}
    for owner in owners:
        for setting in owner.settings:
            if not setting.hidden:
                shared.setdefault(setting.flag, []).append((owner, setting))
    return [_parameter(flag, found) for flag, found in shared.items()]


def _parameter(flag: str, found: list[tuple[Owner, Setting]]) -> inspect.Parameter:
    shown = [(owner, setting) for owner, setting in found if not owner.hidden] or found
    owner, setting = shown[0]
    names = dict.fromkeys([flag, *(each.also for _, each in found if each.also)])
    option = typer.Option(
        *(f"--{name}/--no-{name}" if _is_switch(setting) else f"--{name}" for name in names),
        help=help_text(setting.help, shown_default(setting)),
        show_default=False,
        metavar=_metavar(setting),
        rich_help_panel=owner.panel or None,
        hidden=owner.hidden,
        autocompletion=completions(flag),
    )
    kind = _typer_type([each for _, each in shown])
    return inspect.Parameter(
        flag.replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind | None, option],
    )


def _typer_type(settings: Sequence[Setting]) -> Any:
    """What Typer reads; all else is a text that `read_given` reads once its owner is known."""
    if is_named(settings[0]):
        return list[str]
    if all(setting.choices for setting in settings):
        choices = [value for setting in settings for value in setting.choices]
        return Literal[tuple(dict.fromkeys(choices))]
    if _is_switch(settings[0]):
        return bool
    return float if kinds_of(settings[0].kind) == (float,) else str


def _is_switch(setting: Setting) -> bool:
    return kinds_of(setting.kind) == (bool,)


def _metavar(setting: Setting) -> str | None:
    """What a value is called in help; None for choices that only Typer would list there."""
    if setting.choices:
        told = all(str(choice) in setting.help for choice in setting.choices)
        return setting.metavar if told and setting.metavar else None
    if setting.metavar:
        return setting.metavar
    if _is_switch(setting):
        return ""
    if is_named(setting):
        return "NAME=VALUE"
    kinds = kinds_of(setting.kind)
    if int in kinds:
        return "N"
    if float in kinds:
        return "NUMBER"
    return "TEXT" if reader(setting) is None else "LIST"


def shown_default(setting: Setting) -> str:
    """What help says about the value that nobody gave; empty for nothing."""
    value = setting.default
    if setting.usual:
        return setting.usual
    if value is None or value is False or value in ({}, ()):
        return ""
    if value is True:
        return setting.flag
    if isinstance(value, tuple | list):
        return ",".join(map(str, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def option_lines(settings: Iterable[Setting]) -> list[str]:
    """An option a line: its flag, what it takes, its default."""
    return [_option_line(setting) for setting in settings if not setting.hidden]


def _option_line(setting: Setting) -> str:
    if _is_switch(setting):
        states = {True: "on", False: "off"}
        usual = setting.usual or states.get(setting.default, "found by itself")
        return f"--{setting.flag}|--no-{setting.flag}  (default: {usual})"
    takes = "|".join(map(str, setting.choices)) or _metavar(setting)
    return f"--{setting.flag} {takes}  (default: {shown_default(setting) or 'found by itself'})"


def given_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a user wrote, by flag; lists that are empty were not."""
    return {
        name.replace("_", "-"): value for name, value in values.items() if value not in (None, [])
    }
