"""Who does the trainings of a command: `--jobs` and `--ray`, which also go with a run there is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from meritnas.cli.values import read_given
from meritnas.settings.fields import settings_of
from meritnas.settings.request import RunOptions

_FLAGS = ("jobs", "ray")
_RAY = "--ray"
_HERE = "local"
_ADDRESS = re.compile(r"auto|local|ray://.+|[^\s/]+:[0-9]{1,5}")


def taken_out(given: dict[str, Any]) -> RunOptions:
    """What flags say about it; they are no longer among those given."""
    known = {setting.flag: setting for setting in settings_of(RunOptions)}
    found = {flag: given.pop(flag) for flag in _FLAGS if flag in given}
    return RunOptions(
        **{known[flag].name: read_given(known[flag], value) for flag, value in found.items()}
    )


def with_address(words: Sequence[str]) -> list[str]:
    """The words of a command, where `--ray` without an address has that of this machine."""
    found: list[str] = []
    for number, word in enumerate(words):
        following = words[number + 1] if number + 1 < len(words) else ""
        alone = word == _RAY and _ADDRESS.fullmatch(following) is None
        found.append(f"{_RAY}={_HERE}" if alone else word)
    return found
