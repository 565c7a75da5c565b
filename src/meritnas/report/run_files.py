"""The files of a run's folder, read as far as they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from meritnas.errors import StoreError
from meritnas.store.digests import Digests, sha256
from meritnas.store.event_log import NAME as EVENTS
from meritnas.store.file_lock import is_taken
from meritnas.store.json_text import MOST_BYTES, parse_json, read_bytes
from meritnas.store.run_store import FORMAT, VERSION, RunStore
from meritnas.version import __version__, is_newer

_NAMES = (
    *("plan", "preprocessing", "architecture", "retrain", "result", "timing", "modalities"),
    *("credit", "features", "failures"),
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

    @cached_property
    def weights_digest(self) -> str:
        """SHA-256 of the network's weights; nothing where they cannot be read."""
        try:
            return sha256(read_bytes(self.folder / "model.safetensors"))
        except (OSError, ValueError):
            return ""

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
    digests, problems = _digests(folder)
    store = RunStore(folder, {}, digests)
    working = is_taken(folder)  # asked first: what is written meanwhile comes afterwards
    config, problem = _read(store, "config.json")
    if config is None or config.get("format") != FORMAT:
        reason = problem or "it has no config.json of a run"
        raise StoreError(
            f"{folder} is not a run of MeritNAS ({reason}); give the folder that a search wrote"
        )
    problems += _from_elsewhere(config)
    for name in _OBJECTS:
        if not isinstance(config.get(name), dict):
            problems.append(f"config.json has no object '{name}', which was left out")
            config[name] = {}
    content = {}
    for name in _NAMES:
        found, problem = _read(store, f"{name}.json")
        if found is not None:
            content[name] = found
        elif problem:
            problems.append(problem)
    if missing := [name for name in _RESULT if name not in content.get("result", _RESULT)]:
        problems.append(f"result.json lacks {', '.join(missing)}; what needs that was left out")
    log, problem = _log(digests, working=working)
    problems += [problem] if problem else []
    events, damaged = _events(log)
    if damaged:
        lines, were = ("line", "was") if damaged == 1 else ("lines", "were")
        problems.append(f"{damaged} {lines} of events.jsonl could not be read and {were} left out")
    return RunFiles(folder, config, content, tuple(events), tuple(problems))


def _digests(folder: Path) -> tuple[Digests, list[str]]:
    """What the run's files were when they were written; none where that cannot be read."""
    try:
        return Digests.read(folder), []
    except StoreError as error:
        return Digests(folder), [f"the run's files are not checked: {error}"]


def _read(store: RunStore, name: str) -> tuple[dict[str, Any] | None, str]:
    """The object in a JSON file, or None and what is wrong with it, if it exists at all."""
    try:
        if store.lost(name):
            return None, f"{name} is missing, though this run has written it"
        if not store.has(name):
            return None, ""
        content = parse_json(store.checked(name, MOST_BYTES))
    except StoreError as error:
        return None, f"{name} was left out: {error}"
    except (ValueError, OSError) as error:
        return None, f"{name} could not be read ({error}) and was left out"
    if not isinstance(content, dict):
        return None, f"{name} has no object in it and was left out"
    return content, ""


def _log(digests: Digests, *, working: bool) -> tuple[bytes, str]:
    """The log of events, and what is wrong with it.

    Of a run that was killed, what came after its last checkpoint is left out, as a resumed search
    leaves it out: nobody has written down how that was.
    """
    try:
        content = read_bytes(digests.folder / EVENTS)
    except FileNotFoundError:
        content = b""
    except (OSError, ValueError) as error:
        return b"", f"{EVENTS} could not be read ({error}) and was left out"
    try:
        digests.check_events(content)
    except ValueError as error:
        return content, f"{EVENTS} is damaged ({error}); what it shows may be wrong"
    if working or not digests.files:
        return content, ""
    return content[: digests.events[0] if digests.events else 0], ""


def _events(log: bytes) -> tuple[list[dict[str, Any]], int]:
    """The events of the search, and how many lines are none."""
    found, damaged = [], 0
    for line in log.splitlines():
        try:
            event = parse_json(line)
        except ValueError:
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
