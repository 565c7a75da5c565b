"""The spaces there are: found in the packages beside this file, so that a new one is a package."""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from meritnas.errors import UsageError
from meritnas.families.own import own_space
from meritnas.plugins import NOBODY, Trust, is_own, shown_name
from meritnas.settings.fields import Setting, first_line, settings_of
from meritnas.settings.kept_spec import spec_from_json
from meritnas.settings.spec import SpaceSpec
from meritnas.wording import did_you_mean

_FIRST = (
    "tabular",
    "rich_tabular",
    "residual",
    "convnet",
    "nasbench201",
    "darts",
    "recurrent",
    "fusion",
)
"""Packages in the order in which spaces are listed; others follow by name."""


@cache
def _found() -> dict[str, type[SpaceSpec]]:
    here = str(Path(__file__).parent)
    packages = [found.name for found in pkgutil.iter_modules([here]) if found.ispkg]
    known = {name: place for place, name in enumerate(_FIRST)}
    packages.sort(key=lambda name: (known.get(name, len(known)), name))
    specs: dict[str, type[SpaceSpec]] = {}
    for package in packages:
        name = f"{__package__}.{package}.spec"
        if importlib.util.find_spec(name) is None:
            continue
        for one in vars(importlib.import_module(name)).values():
            if isinstance(one, type) and issubclass(one, SpaceSpec) and one.__module__ == name:
                specs[one.name] = one
    return specs


def space_specs() -> dict[str, type[SpaceSpec]]:
    """The spaces that a search can be asked for by name."""
    return dict(_found())


def space_spec(
    given: str | SpaceSpec | Callable[..., Any], options: Mapping[str, Any] | None = None
) -> SpaceSpec:
    """The space that was meant, with these options.

    Args:
        given: a name of `space_specs`, `module:function` or `module:Class` of a user's own, such a
            function or class itself, a module with choices, or a spec.
        options: by name; those of a spec that is given are changed.
    """
    asked = dict(options or {})
    known = [setting.name for setting in options_of(given)]
    name = given.name if isinstance(given, SpaceSpec) else shown_name(given)
    for option in asked:
        if option not in known:
            takers = [n for n, one in _found().items() if option in _names(one)]
            raise UsageError(
                f"space '{name}' has no option '{option}' (it has {', '.join(known) or 'none'});"
                f"{did_you_mean(option, known)} spaces that have it: {', '.join(takers) or 'none'}"
            )
    if isinstance(given, SpaceSpec):
        return given.with_options(**asked) if asked else given
    return _class_of(given)(**asked)


def options_of(given: str | SpaceSpec | Callable[..., Any]) -> tuple[Setting, ...]:
    """The options of a space, in order."""
    return settings_of(_class_of(given))


def about(given: str | SpaceSpec) -> str:
    """What a space decides, in a line."""
    line = first_line(_class_of(given)).removesuffix(".")
    return line[:1].lower() + line[1:]


def data_of(given: str | SpaceSpec) -> str:
    """The kind of data that a space is for; empty for one of a user's own that does not say."""
    return _class_of(given).data


def space_from_json(data: Mapping[str, Any], trust: Trust = NOBODY) -> SpaceSpec:
    """The inverse of a spec's `to_json`; one of a user's own is imported where that is trusted."""
    return spec_from_json(SpaceSpec, data, trust, space_spec)


def _class_of(given: str | SpaceSpec | Callable[..., Any]) -> type[SpaceSpec]:
    if isinstance(given, SpaceSpec):
        return type(given)
    if not isinstance(given, str) or is_own(given):
        return own_space(given)
    specs = _found()
    if given not in specs:
        raise UsageError(
            f"no space '{given}';{did_you_mean(given, specs)} there are {', '.join(specs)}, and "
            "module:function for one of your own"
        )
    return specs[given]


def _names(spec: type[SpaceSpec]) -> list[str]:
    return [setting.name for setting in settings_of(spec)]
