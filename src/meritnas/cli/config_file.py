"""A request as a config file: TOML that `--config` reads."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from meritnas.cli.request import Asked, simple_settings
from meritnas.errors import UsageError
from meritnas.settings.fields import Setting, settings_of
from meritnas.settings.limits import Limits


def config_text(asked: Asked) -> str:
    """All settings: what is as by default stands there as a comment, with its line of help."""
    request = asked.request
    top = {"data": asked.data, "target": asked.target, "out": asked.out}
    lines = [
        "# A search: meritnas search --config FILE",
        "# What is behind a # is as by default.",
        "",
        *(f"{name} = {_toml(value)}" for name, value in top.items() if value is not None),
    ]
    limits = {field.name: getattr(request.limits, field.name) for field in fields(Limits)}
    lines += _lines(settings_of(Limits), limits)
    simple = [s for s in simple_settings() if s.name not in ("space", "strategy")]
    lines += _lines(simple, {s.name: getattr(request, s.name) for s in simple})
    for role in ("space", "strategy", "reading", "training", "retraining", "run"):
        part: Any = getattr(request, role)
        lines += ["", f"[{role}]"]
        if role in ("space", "strategy"):
            lines.append(f"name = {_toml(part.name)}")
        lines += _lines(settings_of(type(part)), vars(part))
    return "\n".join(lines) + "\n"


def _lines(settings: Iterable[Setting], values: Mapping[str, Any]) -> list[str]:
    found = []
    for setting in settings:
        if setting.hidden:
            continue
        value = values[setting.name]
        same = value == setting.default
        usual = f"[default: {setting.usual}]" if same and value is None and setting.usual else ""
        about = " ".join(filter(None, ["  #", setting.help, usual]))
        written = "..." if value is None else _toml(value)
        comment = "" if about == "  #" else about
        found.append(f"{'# ' if same else ''}{setting.name} = {written}{comment}")
    return found


def _toml(value: Any) -> str:
    """A value as TOML writes it, which is JSON but for tables in a line and numbers that are none.

    Raises:
        UsageError: TOML has nothing for it.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(k)} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str | bool | int | float):
        return _text(json.dumps(value, ensure_ascii=False))
    raise UsageError(f"a config file has no way to write {value!r}")


def _text(written: str) -> str:
    """JSON as TOML has it, and as a terminal may be given it: control characters as escapes."""
    if any(0xD800 <= ord(letter) < 0xE000 for letter in written):
        raise UsageError(f"a config file has no way to write {written!r}: halves of characters")
    return "".join(letter if letter.isprintable() else _escape(letter) for letter in written)


def _escape(letter: str) -> str:
    number = ord(letter)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
