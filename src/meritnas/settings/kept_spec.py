"""Specs as runs keep them; a user's own code is imported only where it is trusted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, make_dataclass
from functools import cache
from typing import Any, TypeVar, cast

from meritnas.plugins import Trust, is_own
from meritnas.settings.spec import SpaceSpec, StrategySpec

Spec = TypeVar("Spec", SpaceSpec, StrategySpec)


def spec_from_json(
    kind: type[Spec],
    data: Mapping[str, Any],
    trust: Trust,
    made: Callable[[Any, Mapping[str, Any]], Spec],
) -> Spec:
    """The inverse of a spec's `to_json`.

    Args:
        kind: `SpaceSpec` or `StrategySpec`.
        data: its name and its options.
        trust: whose code is imported; of others' comes a spec that knows its options and makes
            nothing.
        made: the spec of a name, or of what was given itself, and of options.
    """
    options = dict(data)
    name = str(options.pop("name"))
    if is_own(name) and name not in trust.names:
        return cast("Spec", _unloaded(cast("Any", kind), name, tuple(options))(**options))
    return made(trust.given.get(name, name), options)


@cache
def _unloaded(kind: Any, name: str, options: tuple[str, ...]) -> type[Any]:
    about = [(option, Any, field(default=None, hash=False)) for option in options]
    return make_dataclass(
        f"Unloaded{kind.__name__}", about, bases=(kind,), namespace={"name": name}, frozen=True
    )
