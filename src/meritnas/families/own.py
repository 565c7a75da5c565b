"""Spaces of a user's own: a function that makes a family, as a spec."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, make_dataclass
from functools import cache
from typing import Any, ClassVar, cast

from meritnas.errors import UsageError
from meritnas.families.presets.images import images_recipe
from meritnas.families.presets.modalities import fusion_recipe
from meritnas.families.presets.tables import tables_preset
from meritnas.families.presets.texts import texts_recipe
from meritnas.plugins import check_maker, load_own, own_code
from meritnas.settings.preset import Facts, Preset
from meritnas.settings.spec import SpaceSpec


@dataclass(frozen=True)
class OwnSpace(SpaceSpec):
    """Networks that a function of the user's makes.

    The function takes what the networks read and how many numbers they give, and returns a
    `Family`. Each such function has a class of its own (`own_space`), whose fields are the
    function's keyword-only parameters.
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
        with own_code(self.name):
            found = type(self).make(inputs, outputs, **self.options())
        if not isinstance(found, Family):
            raise UsageError(
                f"{self.name} must make a space, a meritnas Family, got a {type(found).__name__}"
            )
        return found


def own_space(name: str) -> type[SpaceSpec]:
    """The spec of `module:function`, or the user's own spec that is `module:Class`."""
    found: Any = load_own(name, "space")
    if isinstance(found, type) and issubclass(found, SpaceSpec):
        return found
    check_maker(found, name, "space", "inputs", "outputs")
    return _spec_of(name, found)


@cache
def _spec_of(name: str, function: Any) -> type[OwnSpace]:
    names = {p.name for p in inspect.signature(function).parameters.values() if _is_option(p)}
    # Types are looked at where there are options only: they may be names that exist for mypy only.
    with own_code(f"reading the types of options of {name}"):
        signature = inspect.signature(function, eval_str=bool(names))
    options = [
        (each.name, _kind(each), field(default=_default(each)))
        for each in signature.parameters.values()
        if each.name in names
    ]

    def reduce(self: Any) -> Any:  # pickle would look for this class in a module
        return _spec_with, (name, self.options())

    own = {
        "__doc__": inspect.getdoc(function) or "",
        "__reduce__": reduce,
        "__module__": function.__module__,
        "name": name,
        "make": staticmethod(function),
    }
    made = make_dataclass("OwnSpace", options, bases=(OwnSpace,), namespace=own, frozen=True)
    return cast("type[OwnSpace]", made)


def _spec_with(name: str, options: dict[str, Any]) -> SpaceSpec:
    return own_space(name)(**options)


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
