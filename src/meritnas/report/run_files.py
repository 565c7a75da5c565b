"""The files of a run's folder, read as far as they can be read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from meritnas.errors import StoreError
from meritnas.store.run_store import FORMAT, VERSION
from meritnas.version import __version__, is_newer

_NAMES = (
    *("plan", "preprocessing", "architecture", "retrain", "result", "timing", "modalities"),
    "credit",
)
_OBJECTS = ("data", "settings", "versions")
"""Of config.json."""

_RESULT = ("architecture", "feasible_share", "limits", "params", "seconds", "test")


@dataclass(frozen=True)
class RunFiles:
    """What a run's folder says, finished or not; what is missing or damaged is left out.

    Attributes:
        folder: the run's.
        config: config.json.
        content: the other JSON files, by name without ending.
        events: of the search, in order.
        problems: what could not be read, a sentence each.
    """

    folder: Path
    config: Mapping[str, Any]
    content: Mapping[str, Mapping[str, Any]]
    events: tuple[Mapping[str, Any], ...]
    problems: tuple[str, ...]

    def __getitem__(self, name: str) -> Mapping[str, Any]:
        """A file's content; empty where there is none."""
        return self.content.get(name, {})

    @property
    def finished(self) -> bool:
        """Whether the run has a result."""
        return "architecture" in self["result"]

    @property
    def said(self) -> tuple[str, ...]:
        """What whoever looks at the run should know about it first, a sentence each."""
        return self.problems if self.finished else ("this run is not finished", *self.problems)

    @property
    def settings(self) -> Mapping[str, Any]:
        """What the user decided."""
        found: Mapping[str, Any] = self.config["settings"]
        return found

    def named(self, setting: str) -> str:
        """The name of the run's `space` or `strategy`, which run format 1 had as a plain text."""
        found = self.settings.get(setting, "?")
        return str(found.get("name", "?") if isinstance(found, Mapping) else found)

    @property
    def network(self) -> str | None:
        """The text of the network: the result, the search's choice, or what leads so far."""
        if self.finished:
            return str(self["result"]["architecture"])
        chosen = self["architecture"].get("chosen")
        if isinstance(chosen, dict) and "text" in chosen:
            return str(chosen["text"])
        return str(self.events[-1]["leader"]) if self.events else None


def read_run(folder: Path) -> RunFiles:
    """Read a run of any version as far as possible; complain only where there is no run."""
    config, problem = _read(folder / "config.json")
    if config is None or config.get("format") != FORMAT:
        reason = problem or "it has no config.json of a run"
        raise StoreError(
            f"{folder} is not a run of MeritNAS ({reason}); give the folder that a search wrote"
        )
    problems = _from_elsewhere(config)
    for name in _OBJECTS:
        if not isinstance(config.get(name), dict):
            problems.append(f"config.json has no object '{name}', which was left out")
            config[name] = {}
    content = {}
    for name in _NAMES:
        found, problem = _read(folder / f"{name}.json")
        if found is not None:
            content[name] = found
        elif problem:
            problems.append(problem)
    if missing := [name for name in _RESULT if name not in content.get("result", _RESULT)]:
        problems.append(f"result.json lacks {', '.join(missing)}; what needs that was left out")
    events, damaged = _events(folder / "events.jsonl")
    if damaged:
        lines, were = ("line", "was") if damaged == 1 else ("lines", "were")
        problems.append(f"{damaged} {lines} of events.jsonl could not be read and {were} left out")
    return RunFiles(folder, config, content, tuple(events), tuple(problems))


def _read(path: Path) -> tuple[dict[str, Any] | None, str]:
    """The object in a JSON file, or None and what is wrong with it, if it exists at all."""
    if not path.is_file():
        return None, ""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError, RecursionError) as error:
        return None, f"{path.name} could not be read ({error}) and was left out"
    if not isinstance(content, dict):
        return None, f"{path.name} has no object in it and was left out"
    return content, ""


def _events(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The events of the search, and how many lines are none."""
    found, damaged = [], 0
    text = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    for line in text.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            damaged += 1
            continue
        if not isinstance(event, dict):
            damaged += 1
        elif event.get("kind") == "search":
            if _is_whole(event):
                found.append(event)
            else:
                damaged += 1
    return found, damaged


def _is_whole(event: Mapping[str, Any]) -> bool:
    rows = event.get("beliefs")
    return (
        isinstance(event.get("step"), int)
        and isinstance(event.get("leader"), str)
        and isinstance(rows, list)
        and all(isinstance(row, list) for row in rows)
    )


def _from_elsewhere(config: Mapping[str, Any]) -> list[str]:
    """A sentence where a newer version made the run."""
    versions = config.get("versions")
    made = str(versions.get("meritnas", "")) if isinstance(versions, dict) else ""
    written = config.get("version")
    newer_format = isinstance(written, int) and written > VERSION
    if not newer_format and not is_newer(made):
        return []
    return [
        f"this run was made by MeritNAS {made or 'of a newer version'} (run format {written}), "
        f"which is newer than {__version__}; what is shown may lack something"
    ]
