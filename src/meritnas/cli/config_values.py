"""What a config file says, checked name by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from meritnas.cli.values import read_from_file
from meritnas.errors import UsageError
from meritnas.settings.fields import Setting
from meritnas.wording import did_you_mean

TOP = ("data", "target", "out")
"""What a config file has beside settings."""

_NAMED = ("space", "strategy")
"""What may be a name instead of a section, and has one in it."""
_WITHOUT_SECTION = ("request", "limits")


def values_of(
    config: Mapping[str, Any],
    known: Mapping[str, Iterable[Setting]],
    names: Mapping[str, str],
) -> dict[str, dict[str, Any]]:
    """The values of a config file by role; complains about names that are none.

    Args:
        config: what the file holds.
        known: role -> its settings; those of `request` and `limits` stand outside of sections.
        names: of the space and the strategy that are meant. Where a flag named another than the
            file does, the file's section is about something else, and left out.
    """
    found: dict[str, dict[str, Any]] = {role: {} for role in known}
    sections = [role for role in known if role not in _WITHOUT_SECTION]
    top = {s.name: (role, s) for role in _WITHOUT_SECTION for s in known[role] if not s.hidden}
    for name, value in config.items():
        if name in sections and isinstance(value, Mapping):
            if name not in _NAMED or value.get("name", names[name]) == names[name]:
                found[name] |= _section(name, value, known[name])
        elif name in top and name not in _NAMED:
            role, setting = top[name]
            found[role][name] = read_from_file(setting, value)
        elif name in sections and name not in _NAMED:
            raise UsageError(f"{name} is a section of a config file: write [{name}]")
        elif name not in (*TOP, *_NAMED):
            raise _unknown(name, "", (*TOP, *dict.fromkeys([*top, *sections])))
    return found


def _section(section: str, given: Mapping[str, Any], settings: Iterable[Setting]) -> dict[str, Any]:
    shown = [setting for setting in settings if not setting.hidden]
    by_name = {setting.name: setting for setting in shown}
    older = {setting.also.replace("-", "_"): setting for setting in shown if setting.also}
    found = {}
    for name, value in given.items():
        if name == "name" and section in _NAMED:
            continue
        setting = by_name.get(name) or older.get(name)
        if setting is None:
            raise _unknown(name, f" in [{section}]", by_name)
        found[setting.name] = read_from_file(setting, value)
    return found


def _unknown(name: str, where: str, known: Iterable[str]) -> UsageError:
    names = list(known)
    return UsageError(
        f"the config file has no setting '{name}'{where};{did_you_mean(name, names)} there are "
        f"{', '.join(names) or 'none'}"
    )
