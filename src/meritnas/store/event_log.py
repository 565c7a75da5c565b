"""The log of a run's events: lines of JSON, only ever added or cut back to a checkpoint."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

from meritnas.errors import StoreError
from meritnas.store.digests import Digests
from meritnas.store.disk_errors import disk_errors
from meritnas.store.json_text import parse_json, read_bytes
from meritnas.store.whole_files import check_regular

NAME = "events.jsonl"
_ADVICE = "restore it, or delete checkpoint.pt to start an unfinished run over"


class EventLog:
    """The log in a run's folder.

    Args:
        folder: the run's.
        digests: which know how the log was at the last checkpoint.
    """

    def __init__(self, folder: Path, digests: Digests) -> None:
        self.path = folder / NAME
        self._digests = digests
        self._digest: Any = None

    def append(self, event: dict[str, Any]) -> None:
        """Add one line."""
        line = (json.dumps(event, allow_nan=False) + "\n").encode()
        digest = self._running_digest()
        with disk_errors(self.path.parent):
            check_regular(self.path)
            with self.path.open("ab") as log:
                log.write(line)
        digest.update(line)

    def flushed(self) -> tuple[int, str]:
        """How long it is and its digest, once it would outlive a power cut."""
        digest = self._running_digest().hexdigest()
        if not self._is_there():
            return 0, digest
        with disk_errors(self.path.parent), self.path.open("rb+") as file:
            os.fsync(file.fileno())
            return os.fstat(file.fileno()).st_size, digest

    def until(self, size: int) -> tuple[int, str]:
        """A length that it has had, and its digest up to there.

        Raises:
            StoreError: It is shorter.
        """
        return size, hashlib.sha256(self._first(size)).hexdigest()

    def cut(self, size: int) -> None:
        """Cut it back to where it was at a checkpoint, from which the search goes on.

        Raises:
            StoreError: It is shorter already, or not as it was.
        """
        self._digest = hashlib.sha256(self._first(size) if size else b"")
        with disk_errors(self.path.parent):
            self._digests.announce({}, (size, self._digest.hexdigest()))
            if self._is_there() and self.path.stat().st_size > size:
                os.truncate(self.path, size)

    def read(self) -> list[dict[str, Any]]:
        """All events that were written whole."""
        *lines, last = self._content().split(b"\n")
        try:
            found = [parse_json(line) for line in lines]
        except ValueError as error:
            raise self._damaged(error) from error
        try:
            return [*found, parse_json(last)]
        except ValueError:  # the last line of a killed run
            return found

    def _is_there(self) -> bool:
        check_regular(self.path)
        return self.path.is_file()

    def _content(self) -> bytes:
        try:
            content = read_bytes(self.path) if self._is_there() else b""
            self._digests.check_events(content)
        except (OSError, ValueError) as error:
            raise self._damaged(error) from error
        return content

    def _first(self, size: int) -> bytes:
        content = self._content()
        if len(content) < size:
            raise self._damaged(f"it has {len(content):,} bytes and had {size:,}")
        return content[:size]

    def _running_digest(self) -> Any:
        """SHA-256 of what this process has written, after what was there before."""
        if self._digest is None:
            self._digest = hashlib.sha256(self._content())
        return self._digest

    def _damaged(self, why: object) -> StoreError:
        return StoreError(f"{self.path} is damaged ({why}); {_ADVICE}")
