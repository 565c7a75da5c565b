"""All strategies: by name, by `module:name` of a user's own, or from plain data."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import MISSING, fields
from functools import cache
from importlib import import_module
from typing import Any

import meritnas.strategy as package
from meritnas.errors import UsageError
from meritnas.plugins import NOBODY, Trust, importable_name, is_own
from meritnas.settings.fields import Setting, first_line, settings_of
from meritnas.settings.kept_spec import spec_from_json
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.own import own_class
from meritnas.wording import did_you_mean


def strategy_specs() -> dict[str, type[StrategySpec]]:
    """The classes of specs in the modules of this package, by name, in alphabetical order."""
    return dict(_built_in())


@cache
def _built_in() -> Mapping[str, type[StrategySpec]]:
    found = {}
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg:
            continue
        for each in vars(import_module(f"{package.__name__}.{module.name}")).values():
            if isinstance(each, type) and issubclass(each, StrategySpec) and _named(each):
                found[each.name] = each
    return {name: found[name] for name in sorted(found)}


def _named(each: type[StrategySpec]) -> bool:
    """Whether it is a strategy, and not what several have in common."""
    return bool(each.name) and not is_own(each.name)


def strategy_class(given: str) -> type[StrategySpec]:
    """The class of specs of a name, or of `module:name`."""
    if is_own(given):
        return own_class(given)
    known = _built_in()
    if given not in known:
        raise UsageError(
            f"no strategy '{given}';{did_you_mean(given, known)} there are {', '.join(known)}, "
            "and module:function for one of your own"
        )
    return known[given]


def options_of(given: str) -> tuple[Setting, ...]:
    """The options of a strategy, by name or `module:name`."""
    return settings_of(strategy_class(given))


def about(given: str) -> str:
    """What a strategy, by name or `module:name`, says about itself in one line."""
    return first_line(strategy_class(given))


def strategy_spec(
    given: str | StrategySpec, options: Mapping[str, Any] | None = None
) -> StrategySpec:
    """A spec as it is, or that of a name or `module:name`, with these options changed."""
    changed = dict(options or {})
    if isinstance(given, StrategySpec):
        _check_options(given.name, type(given), changed)
        found = given.with_options(**changed) if changed else given
    elif isinstance(given, str):
        chosen = strategy_class(given)
        _check_options(given, chosen, changed)
        _check_needed(given, chosen, changed)
        found = chosen(**changed)
    else:
        raise UsageError(f"a strategy must be a name or a spec such as Tabnas(), got {given!r}")
    _check_findable(found)
    return found


def strategy_from_json(data: Mapping[str, Any], trust: Trust = NOBODY) -> StrategySpec:
    """The inverse of a spec's `to_json`; one of a user's own is imported where that is trusted."""
    return spec_from_json(StrategySpec, data, trust, strategy_spec)


def _check_options(name: str, chosen: type[StrategySpec], options: Mapping[str, Any]) -> None:
    """Complain about an option that a strategy does not have."""
    known = _names(chosen)
    for option in options:
        if option not in known:
            takers = [other for other, one in _built_in().items() if option in _names(one)]
            raise UsageError(
                f"strategy '{name}' has no option '{option}' "
                f"(it has {', '.join(known) or 'none'}); "
                f"strategies that have it: {', '.join(takers) or 'none'}"
            )


def _names(chosen: type[StrategySpec]) -> list[str]:
    return [setting.name for setting in settings_of(chosen)]


def _check_needed(name: str, chosen: type[StrategySpec], options: Mapping[str, Any]) -> None:
    """Complain about an option that has no default and was not given."""
    for each in fields(chosen):
        if each.default is each.default_factory is MISSING and each.name not in options:
            raise UsageError(f"strategy '{name}' needs a value for its option '{each.name}'")


def _check_findable(spec: StrategySpec) -> None:
    """Complain about a class of a user's own that another process would not find again."""
    own = type(spec)
    if _built_in().get(spec.name) is own:
        return
    found = importable_name(own, "strategy")
    if spec.name != found:
        raise UsageError(
            f"a class of your own is found again as '{found}', got the name '{spec.name}'; "
            f"leave the name of {own.__name__} out"
        )
