"""Strategies of a user's own: what `module:name` names, as a spec."""

from __future__ import annotations

import inspect
from dataclasses import field, fields, make_dataclass
from functools import cache
from typing import Any, get_type_hints

from meritnas.errors import UsageError
from meritnas.plugins import check_maker, load_own, own_code
from meritnas.settings.spec import StrategySpec


def own_class(given: str) -> type[StrategySpec]:
    """The class of specs that `module:name` stands for.

    It names a class of specs, or a function (or class) that makes a strategy of a problem and of
    options; these become the fields of a class of specs made here.
    """
    found: Any = load_own(given, "strategy")
    if isinstance(found, type) and issubclass(found, StrategySpec):
        return found
    check_maker(found, given, "strategy", "problem")
    return _class_of(given, found)


@cache
def _class_of(given: str, maker: Any) -> type[StrategySpec]:
    """Specs with a field for each parameter of a function after its first, the problem."""

    def make(self: Any, problem: Any) -> Any:
        with own_code(given):
            return maker(problem, **{each.name: getattr(self, each.name) for each in fields(self)})

    def reduce(self: Any) -> Any:  # pickle would look for this class in a module
        return _spec_of, (given, {each.name: getattr(self, each.name) for each in fields(self)})

    module, _, name = given.partition(":")
    members = {"name": given, "__module__": module, "__doc__": inspect.getdoc(maker)}
    return make_dataclass(
        name,
        [_field(given, each, _hints(maker)) for each in _options(maker)],
        bases=(StrategySpec,),
        namespace={**members, "make": make, "__reduce__": reduce},
        frozen=True,
        kw_only=True,
    )


def _spec_of(given: str, options: dict[str, Any]) -> StrategySpec:
    return own_class(given)(**options)


def _options(maker: Any) -> list[inspect.Parameter]:
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = list(inspect.signature(maker).parameters.values())[1:]
    return [each for each in found if each.kind not in several]


def _field(given: str, option: inspect.Parameter, hints: dict[str, Any]) -> Any:
    """(name, type, default) of an option; one without a type has that of its default."""
    if hasattr(StrategySpec, option.name):
        raise UsageError(f"option '{option.name}' of strategy '{given}' needs another name")
    default = option.default
    if default is inspect.Parameter.empty:
        return option.name, hints.get(option.name, str), field()
    usual = str if default is None else type(default)
    return option.name, hints.get(option.name, usual), field(default_factory=lambda: default)


def _hints(maker: Any) -> dict[str, Any]:
    """Types by parameter; none where names in them are known to type checkers only."""
    called: Any = inspect.getattr_static(maker, "__init__") if isinstance(maker, type) else maker
    try:
        return get_type_hints(called)
    except (NameError, TypeError):
        return {}
