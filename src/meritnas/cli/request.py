"""From flags and a config file to what is asked of a search."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meritnas.cli.chosen import Chosen, name_of
from meritnas.cli.config_values import values_of
from meritnas.cli.flags import Owner
from meritnas.cli.values import read_given
from meritnas.data.kind import DataKind
from meritnas.data.kinds import KINDS, kind_named, recognise, refuse_foreign
from meritnas.errors import UsageError
from meritnas.families import catalogue as spaces
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy import catalogue as strategies

_PARTS: Mapping[str, type[Any]] = {
    "limits": Limits,
    "training": Training,
    "retraining": Retraining,
    "run": RunOptions,
}
"""Sections of a config file, and parts of a request, that are the same for all data."""

_PANELS = {"training": "Training", "retraining": "Training", "run": "Run"}


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
    """All settings classes whose flags a command line may have.

    Help shows those of the space and the strategy that were named; the others are there so that
    the library can say what they are for.
    """
    return [
        Owner("limits", "", "", settings_of(Limits)),
        Owner("request", "", "", simple_settings()),
        *_space_owners(chosen),
        *_strategy_owners(chosen),
        *_reading_owners(chosen),
        *(Owner(role, "", panel, settings_of(_PARTS[role])) for role, panel in _PANELS.items()),
    ]


def _space_owners(chosen: Chosen) -> list[Owner]:
    """Of the space that was named, or of those that suit data by its looks."""
    usual = [kind.space for kind in KINDS if kind.by_looks]
    shown = usual if chosen.space is None else [chosen.space]
    return _shown_first("space", shown, spaces.space_specs(), spaces.options_of)


def _strategy_owners(chosen: Chosen) -> list[Owner]:
    """Of the strategy that was named, or what all strategies of a comparison have."""
    alone = None if chosen.strategies else chosen.strategy
    shown = [] if alone is None else [alone]
    found = _shown_first("strategy", shown, strategies.strategy_specs(), strategies.options_of)
    return [*([_common(chosen.strategies)] if chosen.strategies else []), *found]


def _shown_first(
    role: str,
    shown: Sequence[str],
    known: Iterable[str],
    options_of: Callable[[str], tuple[Setting, ...]],
) -> list[Owner]:
    own = [Owner(role, name, f"{role.capitalize()} {name}", options_of(name)) for name in shown]
    others = [Owner(role, n, "", options_of(n), hidden=True) for n in known if n not in shown]
    return own + others


def _common(listed: Iterable[str]) -> Owner:
    """The options that all strategies of a comparison have."""
    own = [strategies.options_of(name_of(text)) for text in listed]
    shared = set.intersection(*({s.name for s in each} for each in own))
    return Owner("strategy", "", "All strategies", tuple(s for s in own[0] if s.name in shared))


def _reading_owners(chosen: Chosen) -> list[Owner]:
    wanted = wanted_kind(chosen)
    shown = [k for k in KINDS if (k.by_looks if wanted is None else k.name == wanted)]
    others = [kind for kind in KINDS if kind not in shown]
    return [
        Owner("reading", k.name, f"Reading {k.many}", settings_of(k.reading), k in others)
        for k in (*shown, *others)
    ]


def wanted_kind(chosen: Chosen) -> str | None:
    """The kind of data that the space is for; None where that is open."""
    return None if chosen.space is None else spaces.data_of(chosen.space) or None


def assemble(chosen: Chosen, given: Mapping[str, Any], data: str) -> Request:
    """The request that flags and the config file make together; a flag wins over the file.

    Args:
        chosen: the space and the strategy that were named.
        given: flag -> value.
        data: what it is about; what is not given for a kind of data depends on it.
    """
    kind = recognise(data, wanted_kind(chosen))
    space = kind.space if chosen.space is None else chosen.space
    strategy = kind.strategy if chosen.strategy is None else chosen.strategy
    known = {
        "request": simple_settings(),
        **{role: settings_of(part) for role, part in _PARTS.items()},
        "space": spaces.options_of(space),
        "strategy": strategies.options_of(strategy),
        "reading": settings_of(kind.reading),
    }
    found = values_of(chosen.config, known, {"space": space, "strategy": strategy})
    for flag, value in given.items():
        if flag in ("space", "strategy"):
            continue
        place = _place(flag, known)
        if place is None:
            raise _refused(flag, kind, space, strategy)
        role, setting = place
        found[role][setting.name] = read_given(setting, value)
    parts = {role: part(**found[role]) for role, part in _PARTS.items()}
    return Request(
        **found["request"],
        space=spaces.space_spec(space, found["space"]),
        strategy=strategies.strategy_spec(strategy, found["strategy"]),
        reading=kind.reading(**found["reading"]),
        **parts,
    )


def _place(flag: str, known: Mapping[str, Iterable[Setting]]) -> tuple[str, Setting] | None:
    for role, settings in known.items():
        for setting in settings:
            if setting.flag == flag and not setting.hidden:
                return role, setting
    return None


def _refused(flag: str, kind: DataKind, space: str, strategy: str) -> UsageError:
    """What to say about a flag that belongs to other data, to another space or strategy."""
    having = [
        spec for spec in spaces.space_specs().values() if _place(flag, {"": settings_of(spec)})
    ]
    if any(spec.data == kind.name for spec in having):
        return _complaint(spaces.space_spec, space, {flag.replace("-", "_"): None})
    if having:
        other, name = kind_named(having[0].data), flag.replace("-", "_")
        return UsageError(f"{name} is for {other.elsewhere}, and {kind.this}; leave it out")
    for other_kind in KINDS:
        place = _place(flag, {"": settings_of(other_kind.reading)})
        if place is not None:
            return _complaint(refuse_foreign, kind, {place[1].name: True})
    return _complaint(strategies.strategy_spec, strategy, {flag.replace("-", "_"): None})


def _complaint(check: Callable[..., Any], *given: Any) -> UsageError:
    try:
        check(*given)
    except UsageError as error:
        return error
    raise AssertionError(f"nothing is wrong with {given}")
