"""Command-line flags made of settings: their names, types, panels and help texts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

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


def flag_parameters(owners: Iterable[Owner]) -> list[inspect.Parameter]:
    """A parameter for each flag; owners that have the same flag share it."""
    shared: dict[str, list[tuple[Owner, Setting]]] = {}
    for owner in owners:
        for setting in owner.settings:
            if not setting.hidden:
                shared.setdefault(setting.flag, []).append((owner, setting))
    return [_parameter(flag, found) for flag, found in shared.items()]


def variable(flag: str) -> str:
    """The name of the parameter that holds a flag's value."""
    return flag.replace("-", "_")


def parameter(name: str, kind: Any, default: Any, option: Any) -> inspect.Parameter:
    """A parameter of a command."""
    annotation = Annotated[kind, option]
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def with_parameters(
    command: Callable[..., None], parameters: list[inspect.Parameter]
) -> Callable[..., None]:
    """The command, with these for its signature; Typer reads flags from there."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _parameter(flag: str, found: list[tuple[Owner, Setting]]) -> inspect.Parameter:
    owner, setting = next(((o, s) for o, s in found if not o.hidden), found[0])
    kind, names = _typer_type(setting, found), _names(flag, setting)
    read = reader(setting)
    takes_text = kind is str and read is not None
    option = typer.Option(
        *names,
        help=setting.help,
        show_default=shown_default(setting),
        metavar=setting.metavar or _metavar(setting),
        rich_help_panel=owner.panel,
        hidden=owner.hidden,
        parser=_checked(read) if takes_text and read is not None else None,
    )
    return parameter(variable(flag), kind | None, None, option)


def _checked(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A reader whose complaints Typer shows as they are."""

    def parse(text: Any) -> Any:
        try:
            return read(text) if isinstance(text, str) else text
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error

    return parse


def _typer_type(setting: Setting, found: list[tuple[Owner, Setting]]) -> Any:
    if is_named(setting):
        return list[str]
    if setting.choices:
        choices = [value for _, each in found for value in each.choices]
        return Literal[tuple(dict.fromkeys(choices))]
    kinds = kinds_of(setting.kind)
    if bool in kinds:
        return bool
    return float if kinds == (float,) else str


def _names(flag: str, setting: Setting) -> list[str]:
    if bool in kinds_of(setting.kind) and setting.default is not False:
        return [f"--{flag}/--no-{flag}"]
    return [f"--{flag}"]


def _metavar(setting: Setting) -> str | None:
    if is_named(setting):
        return "NAME=VALUE"
    if int in kinds_of(setting.kind):
        return "N"
    return "LIST" if reader(setting) is not None else None


def shown_default(setting: Setting) -> str | bool:
    """What help says about the value that nobody gave."""
    if setting.usual:
        return setting.usual
    if setting.default is None or setting.default in ({}, ()):
        return False
    if setting.default is True:
        return setting.flag
    if isinstance(setting.default, tuple):
        return f"{len(setting.default)} sizes from {setting.default[0]} to {setting.default[-1]}"
    return False if setting.default is False else str(setting.default)


def option_lines(settings: Iterable[Setting]) -> list[str]:
    """An option a line: its flag, what it takes, its default."""
    return [_option_line(setting) for setting in settings if not setting.hidden]


def _option_line(setting: Setting) -> str:
    usual = setting.usual or shown_default(setting) or "found by itself"
    if setting.kind is bool:
        usual = setting.usual or ("found by itself" if setting.default is None else usual)
        state = {True: "on", False: "off"}.get(setting.default, usual)
        return f"--{setting.flag}|--no-{setting.flag}  (default: {state})"
    takes = (
        "|".join(map(str, setting.choices))
        or setting.metavar
        or _metavar(setting)
        or _kind(setting)
    )
    return f"--{setting.flag} {takes}  (default: {usual})"


def _kind(setting: Setting) -> str:
    return "R" if float in kinds_of(setting.kind) else "TEXT"


def given_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """What a user wrote, by flag; lists that are empty were not."""
    return {
        name.replace("_", "-"): value for name, value in values.items() if value not in (None, [])
    }
