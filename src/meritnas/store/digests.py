"""What the files of a run were when they were written: SHA-256 of each, in digests.json."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from meritnas.errors import StoreError
from meritnas.store.json_text import MOST_BYTES, parse_json, read_bytes
from meritnas.store.whole_files import Content, write_whole

NAME = "digests.json"

Digest = str | None
"""SHA-256 in hex; None where there is no file."""


Events = tuple[int, str] | None
"""How long a log was, and its digest up to there."""


@dataclass
class Digests:
    """The digests that a run's files may have.

    A file and its digest cannot be replaced in one moment. So a change is announced first: from
    then on the file may be as it was or as it will be, and after a kill it is one of the two.

    Attributes:
        folder: the run's.
        files: name, from the run's folder on -> the digests that it may have.
        events: how long the log was at the last checkpoint, and its digest up to there.
    """

    folder: Path
    files: dict[str, list[Digest]] = field(default_factory=dict)
    events: Events = None
    _unwritten: bool = field(default=False, repr=False)

    @classmethod
    def read(cls, folder: Path) -> Digests:
        """Those of a run; none at all for one that was written before there were digests.

        Raises:
            StoreError: They are damaged.
        """
        path = folder / NAME
        try:
            content = read_bytes(path, MOST_BYTES)
            kept = parse_json(content)
            found = cls(folder, {str(k): list(v) for k, v in kept["files"].items()})
            found.events = _pair(kept["events"])
            if content != found._content():
                raise ValueError("its digest is another, or it is otherwise than it was written")
        except FileNotFoundError:
            return cls(folder)
        except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise StoreError(
                f"{path} is damaged ({error}), so nobody can tell whether the run's other files "
                "are whole; restore it, or delete it to use them unchecked"
            ) from error
        return found

    def adopt(self, names: Iterable[str], events: Events) -> None:
        """Take files as they are, of a run whose digests are lost or were never written."""
        self.settle({name: _digest_of(self.folder / name) for name in names})
        self.events = events

    def announce(self, changes: Mapping[str, Digest], events: Events = None) -> None:
        """Write down that files are about to change.

        Args:
            changes: name -> the digest that the file will have.
            events: of the log, if it has got longer or is about to be cut.
        """
        for name, digest in changes.items():
            before = self.files.get(name, [None])
            self.files[name] = [*before, *([] if digest in before else [digest])]
        self.events = events or self.events
        self._write()

    def settle(self, changes: Mapping[str, Digest]) -> None:
        """What was announced has happened; that is written with the next announcement."""
        self._unwritten = True
        for name, digest in changes.items():
            if digest is None:
                self.files.pop(name, None)
            else:
                self.files[name] = [digest]

    def reload(self) -> None:
        """Take what the folder has now, where another process writes into it."""
        found = Digests.read(self.folder)
        self.files, self.events = found.files, found.events

    def close(self) -> None:
        """Write down what has been settled."""
        if self._unwritten:
            self._write()

    @property
    def settled(self) -> bool:
        """Whether all that was announced is known to have happened, or not."""
        return all(len(known) == 1 for known in self.files.values())

    def decide(self) -> None:
        """Of files that a kill left as they were or as they were to be, find out which it is."""
        undecided = {name: known for name, known in self.files.items() if len(known) > 1}
        for name, known in undecided.items():
            found = _digest_of(self.folder / name)
            if found in known:
                self.settle({name: found})

    def check(self, name: str, content: Content) -> None:
        """Complain where a file is not as it was written.

        Raises:
            ValueError: It is not.
        """
        known = self.files.get(name)
        if known is not None and sha256(content) not in known:
            raise ValueError("it is not as it was written: its SHA-256 is another")

    def expects(self, name: str) -> bool:
        """Whether there must be a file of this name."""
        return name in self.files and None not in self.files[name]

    def check_events(self, content: bytes) -> None:
        """Complain where the log is not as it was at the last checkpoint.

        Raises:
            ValueError: It is not.
        """
        if self.events is None:
            return
        size, digest = self.events
        if len(content) < size:
            raise ValueError(f"it has {len(content):,} bytes and had {size:,}")
        if sha256(content[:size]) != digest:
            raise ValueError("it is not as it was written: its SHA-256 is another")

    def _write(self) -> None:
        write_whole(self.folder / NAME, self._content())
        self._unwritten = False

    def _content(self) -> bytes:
        plain = {**self._plain(), "sha256": self._own()}
        return (json.dumps(plain, indent=1, sort_keys=True) + "\n").encode()

    def _plain(self) -> dict[str, Any]:
        return {"files": self.files, "events": self.events and list(self.events)}

    def _own(self) -> str:
        return sha256(json.dumps(self._plain(), sort_keys=True).encode())


def sha256(content: Content) -> str:
    """SHA-256 in hex."""
    return hashlib.sha256(content).hexdigest()


def _digest_of(path: Path) -> Digest:
    try:
        return sha256(read_bytes(path))
    except (OSError, ValueError):
        return None


def _pair(kept: Any) -> Events:
    return None if kept is None else (int(kept[0]), str(kept[1]))
