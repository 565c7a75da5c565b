"""Spaces of a user's own: a function that makes a family, as a spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Any, ClassVar, cast

from meritnas.errors import UsageError
from meritnas.families.presets.images import images_recipe
from meritnas.families.presets.modalities import fusion_recipe
from meritnas.families.presets.tables import tables_preset
from meritnas.families.presets.texts import texts_recipe
from meritnas.plugins import check_maker, importable, load_own, own_code, shown_name
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec


@dataclass(frozen=True)
class OwnSpace(SpaceSpec):
    """Networks that a function of the user's makes, or a module of theirs.

    A function `(inputs, outputs)` takes what the networks read and how many numbers they give, and
    returns a `Family`; one that takes `(pick, inputs, outputs)` builds a network and asks `pick`
    what is to be decided. A module has choices inside. Each has a class of its own (`own_space`),
    whose fields are the function's keyword-only parameters. An attribute `data` of the function or
    module says which kind of data its networks read, where that is not plain: `text`, `modalities`.
    """

    make: ClassVar[Callable[..., Any]]
    networks: ClassVar[str] = "networks of your own"
    channels_in_parts: ClassVar[bool] = True

    def preset(self, name: str | None, facts: Facts, partial_channels: int) -> Preset:
        """What built-in spaces get on such data."""
        if facts.kind == "images":
            return images_recipe(name, "darts", facts, partial_channels).preset(
                self, finalists=2, threads=None
            )
        if facts.kind == "text":
            return texts_recipe(name, facts).preset(self, finalists=2, threads=None)
        if facts.kind == "modalities":
            return fusion_recipe(name or "quick", facts.rows).preset(self, finalists=3, threads=1)
        return tables_preset(self, name, facts)

    def build(self, inputs: Any, outputs: int, limits: Mapping[str, int]) -> Any:
        """What the function makes of these inputs and outputs."""
        from meritnas.families.family import Family

        del limits
        make = type(self).make
        if _builds_networks(make):
            from meritnas.families.built.family import searched_space

            return searched_space(make, inputs, outputs, self)
        with own_code(self.name):
            found = make(inputs, outputs, **self.options())
        if not isinstance(found, Family):
            raise UsageError(
                f"{self.name} must make a space, a meritnas Family, got a {type(found).__name__}"
            )
        return found

    @property
    def own_code(self) -> frozenset[Any]:
        """The function or module itself where it cannot be imported by its name."""
        make = type(self).make
        return self.own_names if importable(make) else frozenset([make])


def own_space(given: str | Callable[..., Any]) -> type[SpaceSpec]:
    """The spec of `module:function`, or the user's own spec that is `module:Class`.

    Args:
        given: such a name; or the function, the class or the module itself.
    """
    name = shown_name(given)
    found: Any = load_own(given, "space", _is_module) if isinstance(given, str) else given
    if isinstance(found, type) and issubclass(found, SpaceSpec):
        return found
    if _is_module(found):
        return _spec_of(name, found)
    takes = ("pick", "inputs", "outputs") if _builds_networks(found) else ("inputs", "outputs")
    check_maker(found, name, "space", *takes)
    return _spec_of(name, found)


def asked_space(given: Any) -> Any:
    """The name or spec of a space that is given in any way: built, as a function, as a module."""
    if given is None or isinstance(given, str | SpaceSpec):
        return given
    if isinstance(given, type) and issubclass(given, SpaceSpec):
        return given()
    if hasattr(given, "asked") and hasattr(given, "spec"):  # a Family; asking needs no torch
        return given.spec
    return own_space(given)() if callable(given) else given


def _is_module(found: object) -> bool:
    """Whether something is a torch module, asked without torch."""
    return any(each.__module__ == "torch.nn.modules.module" for each in type(found).__mro__)


def _builds_networks(make: Callable[..., Any]) -> bool:
    """Whether it makes networks and not a space: a module, or a function that takes `pick`."""
    if _is_module(make):
        return True
    with suppress(TypeError, ValueError):
        parameters = inspect.signature(make).parameters.values()
        return len([each for each in parameters if each.kind in _BY_PLACE]) >= _TAKEN_BY_BUILD
    return False


@cache
def _spec_of(name: str, function: Any) -> type[OwnSpace]:
    if _is_module(function):
        return _spec_class(name, function, [])
    names = {p.name for p in inspect.signature(function).parameters.values() if _is_option(p)}
    # Types are looked at where there are options only: they may be names that exist for mypy only.
    with own_code(f"reading the types of options of {name}"):
        signature = inspect.signature(function, eval_str=bool(names))
    options = [
        (each.name, _kind(each), field(default=_default(each)))
        for each in signature.parameters.values()
        if each.name in names
    ]

    return _spec_class(name, function, options)


def _spec_class(name: str, function: Any, options: list[tuple[str, Any, Any]]) -> type[OwnSpace]:
    def reduce(self: Any) -> Any:  # pickle would look for this class in a module
        if not importable(function):
            raise TypeError(f"{name} is in no module that can be imported")
        return _spec_with, (name, self.options())

    own = {
        "__doc__": inspect.getdoc(function) or "",
        "__reduce__": reduce,
        "__module__": getattr(function, "__module__", __name__),
        "name": name,
        "data": getattr(function, "data", ""),
        "make": staticmethod(function),
    }
    made = make_dataclass("OwnSpace", options, bases=(OwnSpace,), namespace=own, frozen=True)
    return cast("type[OwnSpace]", made)


def _spec_with(name: str, options: dict[str, Any]) -> SpaceSpec:
    return own_space(name)(**options)


_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_TAKEN_BY_BUILD = 3
"""pick, inputs, outputs; a function that makes a space takes the last two."""


def _is_option(parameter: inspect.Parameter) -> bool:
    return parameter.kind is inspect.Parameter.KEYWORD_ONLY


def _kind(parameter: inspect.Parameter) -> Any:
    """The type of an option; one without has that of its default."""
    if parameter.annotation is not parameter.empty:
        return parameter.annotation
    default = _default(parameter)
    return Any if default is None else type(default)


def _default(parameter: inspect.Parameter) -> Any:
    return None if parameter.default is parameter.empty else parameter.default
