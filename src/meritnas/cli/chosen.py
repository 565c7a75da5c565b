"""Which space and strategy a command line names, before its other flags can be known."""

from __future__ import annotations

import os
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meritnas.data.files.plain_file import given_path, read_plain_file
from meritnas.errors import UsageError

COMPLETE = "_MERITNAS_COMPLETE"
"""What shells set, in the environment, to ask for completions."""


@dataclass(frozen=True)
class Chosen:
    """What decides which flags there are.

    Attributes:
        space: its name, or module:name; None for the usual one of the data.
        strategy: the same.
        strategies: of a comparison, as they were written.
        config: what the file after `--config` holds.
    """

    space: str | None = None
    strategy: str | None = None
    strategies: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)


def find_chosen(arguments: Sequence[str]) -> Chosen:
    """Look for `--space`, `--strategy`, `--strategies` and `--config` among arguments."""
    path = _value(arguments, "--config")
    config = read_config(Path(path)) if path is not None else {}
    space, strategy = (
        _name(config.get(role)) if (given := _value(arguments, f"--{role}")) is None else given
        for role in ("space", "strategy")
    )
    listed = _value(arguments, "--strategies") or ""
    return Chosen(space, strategy, split_strategies(listed), config)


def words_to_complete() -> list[str] | None:
    """The words before the one that a shell wants to be completed; None where none does."""
    if COMPLETE not in os.environ:
        return None
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS") or ""
    try:
        words = shlex.split(line)
    except ValueError:  # a quotation mark that is not closed yet
        words = line.split()
    if "COMP_CWORD" in os.environ:
        return words[1 : int(os.environ["COMP_CWORD"])]
    return words[1:] if line.endswith(" ") else words[1:-1]


def read_config(path: Path) -> dict[str, Any]:
    """A config file: TOML with the settings of a search."""
    content = read_plain_file(given_path(path))
    try:
        return tomllib.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no TOML file ({error}); see --print-config for one") from error


def split_strategies(text: str) -> tuple[str, ...]:
    """Names with their options, at commas outside parentheses: `tabnas(samples=4),random`."""
    found, depth, start = [], 0, 0
    for place, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth == 0:
            found.append(text[start:place])
            start = place + 1
    found.append(text[start:])
    return tuple(part.strip() for part in found if part.strip())


def name_of(text: str) -> str:
    """The name of a strategy that may have options: `tabnas` of `tabnas(samples=4)`."""
    return text.partition("(")[0].strip()


def _value(arguments: Sequence[str], flag: str) -> str | None:
    """What follows a flag, the last time that it is given."""
    found = None
    for number, argument in enumerate(arguments):
        if argument.startswith(flag + "="):
            found = argument.removeprefix(flag + "=")
        elif argument == flag and number + 1 < len(arguments):
            found = arguments[number + 1]
    return found


def _name(section: Any) -> str | None:
    """The name in a section of a config file, or the section where it is a name."""
    if isinstance(section, Mapping):
        section = section.get("name")
    return None if section is None else str(section)
