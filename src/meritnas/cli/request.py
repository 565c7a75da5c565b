"""From flags and a config file to what is asked of a search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from meritnas.cli.chosen import Chosen
from meritnas.cli.flags import Owner
from meritnas.cli.values import read_from_file
from meritnas.data.kind import DataKind
from meritnas.data.kinds import KINDS, kind_named, recognise, refuse_foreign
from meritnas.errors import UsageError
from meritnas.families import catalogue as spaces
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy import catalogue as strategies
from meritnas.wording import did_you_mean

_PARTS: Mapping[str, type[Any]] = {
    "limits": Limits,
    "training": Training,
    "retraining": Retraining,
    "run": RunOptions,
}
"""Sections of a config file, and parts of a request, that are the same for all data."""

_PANELS = {
    "limits": None,
    "training": "Training",
    "retraining": "Training",
    "run": "Run",
}
TOP = ("data", "target", "out")
"""What a config file has beside the settings."""


@dataclass(frozen=True)
class Asked:
    """What a command line and its config file come to.

    Attributes:
        data: as it was written.
        target: the column to predict.
        out: the run's folder.
        request: all settings.
    """

    data: str
    target: str | None
    out: str | None
    request: Request


def simple_settings() -> tuple[Setting, ...]:
    """The settings of a request that are no class of their own."""
    return tuple(s for s in settings_of(Request) if s.name not in (*_PARTS, "reading"))


def owners(chosen: Chosen) -> list[Owner]:
    """All settings classes whose flags a command line may have."""
    found = [Owner("limits", "", _PANELS["limits"] or "", settings_of(Limits))]
    found += [Owner("request", "", "", simple_settings())]
    found += _space_owners(chosen)
    found += _strategy_owners(chosen)
    found += _reading_owners(chosen)
    found += [
        Owner(role, "", _PANELS[role] or "", settings_of(part))
        for role, part in _PARTS.items()
        if role != "limits"
    ]
    return found


def _space_owners(chosen: Chosen) -> list[Owner]:
    names = [chosen.space] if chosen.space else [kind.space for kind in KINDS if kind.by_looks]
    return [Owner("space", name, f"Space {name}", spaces.options_of(name)) for name in names]


def _strategy_owners(chosen: Chosen) -> list[Owner]:
    """Of the strategy that was named; else of the usual ones, which help does not show."""
    if chosen.strategies:
        return [_common(chosen.strategies)]
    if chosen.strategy:
        own = strategies.options_of(chosen.strategy)
        return [Owner("strategy", chosen.strategy, f"Strategy {chosen.strategy}", own)]
    names = dict.fromkeys(kind.strategy for kind in KINDS)
    return [Owner("strategy", n, "Strategy", strategies.options_of(n), hidden=True) for n in names]


def _common(listed: Iterable[str]) -> Owner:
    """The options that all strategies of a comparison have."""
    own = [strategies.options_of(text.partition("(")[0]) for text in listed]
    shared = set.intersection(*({s.name for s in each} for each in own))
    return Owner("strategy", "", "All strategies", tuple(s for s in own[0] if s.name in shared))


def _reading_owners(chosen: Chosen) -> list[Owner]:
    kinds = [kind for kind in KINDS if _may_be(kind, chosen)]
    return [
        Owner("reading", kind.name, f"Reading {kind.many}", settings_of(kind.reading))
        for kind in kinds
    ]


def _may_be(kind: DataKind, chosen: Chosen) -> bool:
    wanted = wanted_kind(chosen)
    return kind.by_looks if wanted is None else kind.name == wanted


def wanted_kind(chosen: Chosen) -> str | None:
    """The kind of data that the space is for; None where that is open."""
    return spaces.data_of(chosen.space) or None if chosen.space else None


def assemble(chosen: Chosen, given: Mapping[str, Any], data: str) -> Request:
    """The request that flags and the config file make together; a flag wins over the file.

    Args:
        chosen: the space and the strategy that were named.
        given: flag -> value.
        data: what it is about; what is not given for a kind of data depends on it.
    """
    kind = recognise(data, wanted_kind(chosen))
    space, strategy = chosen.space or kind.space, chosen.strategy or kind.strategy
    known = {
        "request": simple_settings(),
        **{role: settings_of(part) for role, part in _PARTS.items()},
        "space": spaces.options_of(space),
        "strategy": strategies.options_of(strategy),
        "reading": settings_of(kind.reading),
    }
    found = _from_file(chosen.config, known)
    for flag, value in given.items():
        if flag in ("space", "strategy"):
            continue
        place = _place(flag, known)
        if place is None:
            raise _refused(flag, value, chosen, kind, strategy)
        found[place[0]][place[1]] = value
    parts = {role: part(**found[role]) for role, part in _PARTS.items()}
    return Request(
        **{**found["request"], "space": spaces.space_spec(space, found["space"])},
        strategy=strategies.strategy_spec(strategy, found["strategy"]),
        reading=kind.reading(**found["reading"]),
        **parts,
    )


def _place(flag: str, known: Mapping[str, Iterable[Setting]]) -> tuple[str, str] | None:
    for role, settings in known.items():
        for setting in settings:
            if setting.flag == flag and not setting.hidden:
                return role, setting.name
    return None


def _refused(flag: str, value: Any, chosen: Chosen, kind: DataKind, strategy: str) -> UsageError:
    """What to say about a flag that belongs to other data, or to another strategy."""
    name = flag.replace("-", "_")
    for owner in owners(chosen):
        if owner.role == "space" and _place(flag, {"": owner.settings}):
            other = kind_named(spaces.data_of(owner.name))
            return UsageError(f"{name} is for {other.elsewhere}, and {kind.this}; leave it out")
    try:
        refuse_foreign(kind, {name: value})
        strategies.strategy_spec(strategy, {name: value})
    except UsageError as error:
        return error
    return UsageError(f"no flag --{flag} here; see --help")


def _from_file(
    config: Mapping[str, Any], known: Mapping[str, Iterable[Setting]]
) -> dict[str, dict[str, Any]]:
    """The values of a config file by role; complains about names that are none."""
    found: dict[str, dict[str, Any]] = {role: {} for role in known}
    limits = {field.name for field in fields(Limits)}
    for name, value in config.items():
        if name in TOP:
            continue
        if isinstance(value, Mapping) and name in known and name != "request":
            for option, own in value.items():
                if not (option == "name" and name in ("space", "strategy")):
                    found[name][option] = _read(name, option, own, known[name])
        elif name not in ("space", "strategy"):
            role = "limits" if name in limits else "request"
            found[role][name] = _read("", name, value, known[role])
    return found


def _read(section: str, name: str, value: Any, settings: Iterable[Setting]) -> Any:
    by_name = {setting.name: setting for setting in settings if not setting.hidden}
    if name not in by_name:
        where = f" in [{section}]" if section else ""
        names = (*by_name, *(() if section else (*TOP, *_PARTS, "space", "strategy", "reading")))
        raise UsageError(
            f"the config file has no setting '{name}'{where};{did_you_mean(name, names)} there "
            f"are {', '.join(names) or 'none'}"
        )
    return read_from_file(by_name[name], value)


def check_flags(arguments: Iterable[str], chosen: Chosen) -> None:
    """Complain, before Typer does, about a flag of another strategy or space than the one named."""
    known = {setting.flag for owner in owners(chosen) for setting in owner.settings}
    for argument in arguments:
        flag = argument.removeprefix("--").partition("=")[0].removeprefix("no-")
        if not argument.startswith("--") or flag in known:
            continue
        if chosen.strategy and _has(strategies.strategy_specs(), flag):
            strategies.strategy_spec(chosen.strategy, {flag.replace("-", "_"): None})
        if chosen.space and _has(spaces.space_specs(), flag):
            spaces.space_spec(chosen.space, {flag.replace("-", "_"): None})


def _has(specs: Mapping[str, type[Any]], flag: str) -> bool:
    return any(s.flag == flag for spec in specs.values() for s in settings_of(spec))
