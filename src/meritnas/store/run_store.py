"""The folder of a run: every file is replaced as a whole, checked before use, never unpickled."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from meritnas.errors import StoreError
from meritnas.store.digests import Digest, Digests, Events, sha256
from meritnas.store.disk_errors import disk_errors
from meritnas.store.event_log import EventLog
from meritnas.store.file_lock import FolderLock
from meritnas.store.json_text import MOST_BYTES, json_bytes, parse_json, read_bytes
from meritnas.store.run_folder import (
    CONFIG,
    RESTORE,
    exists,
    files_in,
    folders_in,
    has_content,
    is_run_folder,
    no_run,
    remove_begun,
)
from meritnas.store.whole_files import (
    Content,
    check_folder,
    check_regular,
    remove_stale,
    write_whole,
)

if TYPE_CHECKING:
    from torch import Tensor

Value = TypeVar("Value")

FORMAT = "meritnas-run"
VERSION = 2
"""Of what new runs write; all from 1 on are read."""

_MADE_AGAIN = ("preprocessing.json", "architecture.json", "retrain.json", "result.json")
"""What a resumed run writes again, the same as before, where it is lost."""

_KEPT = (".json", ".safetensors", ".pt")
"""Suffixes of files that have digests."""

_CHECKPOINT = "checkpoint.pt"
_READINGS = 4
"""How often a file and its digest are read until they agree, while somebody writes them."""

_UNREADABLE = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RecursionError, TypeError, ValueError),
)
"""What comes of JSON that is whole but holds other things than a search writes."""


class RunStore:
    """A run's folder: JSON files, an append-only log of events, checkpoints, weights.

    Files are replaced as a whole: written beside, flushed to disk, renamed. What they were is kept
    as digests and checked before a file is used. Nothing is ever loaded by pickle, no link is
    followed, and only one process at a time writes: `create` and `take` lock the folder until the
    store is closed, `open` is for reading.
    """

    def __init__(
        self,
        folder: Path,
        config: dict[str, Any],
        digests: Digests | None = None,
        lock: FolderLock | None = None,
        within: str = "",
    ) -> None:
        self.folder = folder
        self.config = config
        self._digests = digests or Digests(folder)
        self._lock = lock
        self._within = within
        self._log = EventLog(folder, self._digests)

    @staticmethod
    def create(folder: Path, config: dict[str, Any]) -> RunStore:
        """A new folder with its configuration; it must not exist, or be empty.

        A folder in which a run was killed before it had its configuration is empty, too.
        """
        with disk_errors(folder):
            if folder.exists() and (not folder.is_dir() or has_content(folder)):
                raise exists(folder)
        config = {"format": FORMAT, "version": VERSION, **config}
        with disk_errors(folder):
            made = [one for one in (folder, *folder.parents) if not one.exists()]
            folder.mkdir(parents=True, exist_ok=True)
            lock = FolderLock.take(folder)
            try:
                if has_content(folder):  # of a process that was faster
                    raise exists(folder)
                remove_stale(folder)
                store = RunStore(folder, config, lock=lock)
                store.write_json(CONFIG, config)
            except BaseException:
                remove_begun(folder, made)
                lock.release()
                raise
        return store

    @staticmethod
    def open(folder: Path) -> RunStore:
        """A folder that `create` made, for reading; an error says what is wrong with any other."""
        if not folder.is_dir():
            raise StoreError(f"no run folder {folder}; check the path")
        path = folder / CONFIG
        digests = Digests.read(folder)
        if not path.is_file():
            raise no_run(folder, digests)
        config = RunStore(folder, {}, digests).read_json(CONFIG)
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise StoreError(
                f"{path} was not written by MeritNAS; give the folder that a search wrote"
            )
        if config.get("version") not in range(1, VERSION + 1):
            raise StoreError(
                f"{folder} was written in run format {config.get('version')}, this version reads "
                f"up to {VERSION}; use the version of MeritNAS that made it"
            )
        return RunStore(folder, config, digests)

    @staticmethod
    def take(folder: Path) -> RunStore:
        """The same for writing; complains where another process writes into it."""
        RunStore.open(folder)  # nothing is written into a folder that is no run
        with disk_errors(folder):
            lock = FolderLock.take(folder)
        try:
            found = RunStore.open(folder)  # as it is now that nobody else writes
            with disk_errors(folder):
                for each in (folder, *folders_in(folder)):
                    remove_stale(each)
                found._digests.decide()
                if not found._digests.files:
                    found._adopt()
        except BaseException:
            lock.release()
            raise
        return RunStore(folder, found.config, found._digests, lock)

    def _adopt(self) -> None:
        """Take the files of a run without digests as they are; from now on they are checked."""
        try:
            size = int((self.read_checkpoint() or {"events_size": 0})["events_size"])
            events = self._log.until(size) if size else None
        except StoreError:  # whoever needs the two will say so
            events = None
        kept = [name for name in files_in(self.folder) if Path(name).suffix in _KEPT]
        self._digests.adopt(kept, events)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop writing; once is enough."""
        if self._lock is None or not self._writes:
            return
        try:
            if self.folder.is_dir():
                self._digests.close()
        finally:
            self._lock.release()

    def inside(self, name: str) -> RunStore:
        """A folder within the run's, for files of the same names, made when it is written to."""
        if not is_run_folder(name):
            raise StoreError(
                f"run {self.folder} names the folder {name!r}, which no run has; it is damaged or "
                "not to be trusted"
            )
        folder = self.folder / name
        check_folder(folder)
        within = f"{self._within}{name}/"
        return RunStore(folder, self.config, self._digests, self._lock, within)

    def has(self, name: str) -> bool:
        """Whether the run has this file.

        Raises:
            StoreError: It is a link.
        """
        check_regular(self.folder / name)
        return (self.folder / name).is_file()

    @property
    def settled(self) -> bool:
        """Whether whoever wrote last has come to the end; a kill is in between."""
        return self._digests.settled

    def lost(self, name: str) -> bool:
        """Whether the run has written this file and does not have it any more."""
        return not self.has(name) and self._digests.expects(self._full(name))

    def read_json(self, name: str, *keys: str) -> Any:
        """The content of one of the run's JSON files, an object that has at least these keys."""
        if not self.has(name):
            raise self._missing(name)
        path = self.folder / name
        try:
            content = parse_json(self.checked(name, MOST_BYTES))
        except (OSError, ValueError) as error:
            raise _damaged(path, error, RESTORE) from error
        missing = set(keys) - set(content if isinstance(content, dict) else ())
        if missing:
            raise _damaged(path, f"it lacks {', '.join(sorted(missing))}", RESTORE)
        return content

    def decode(self, name: str, read: Callable[[Any], Value]) -> Value:
        """What `read` makes of a JSON file; a file it can make nothing of is damaged."""
        content = self.config if name == CONFIG else self.read_json(name)
        try:
            return read(content)
        except _UNREADABLE as error:
            why = f"{type(error).__name__}: {error}"
            raise _damaged(self.folder / name, why, RESTORE) from error

    def remove(self, name: str) -> None:
        """Delete one of the run's files, if it is there."""
        self._may_write()
        with disk_errors(self.folder):
            self._digests.announce({self._full(name): None})
            (self.folder / name).unlink(missing_ok=True)
        self._digests.settle({self._full(name): None})

    def write_json(self, name: str, data: Any) -> None:
        """Replace a JSON file."""
        self._write(name, json_bytes(data))

    def write_text(self, name: str, text: str) -> None:
        """Replace a text file that nobody reads again."""
        self._may_write()
        write_whole(self.folder / name, text.encode())

    def write_weights(
        self, name: str, weights: dict[str, Tensor], metadata: dict[str, str]
    ) -> None:
        """Replace a safetensors file."""
        # In methods: JSON files are read without torch.
        from meritnas.store.weights_file import weights_bytes

        self._write(name, weights_bytes(weights, metadata))

    def read_weights(self, name: str) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors and the metadata of a safetensors file."""
        path, again = self.folder / name, f"train it anew with: meritnas retrain {self.folder}"
        if self.lost(name):
            raise StoreError(f"{path} is missing, though this run has written it; {again}")
        if not self.has(name):
            raise StoreError(
                f"run {self.folder} has no trained network; continue it with: "
                f"meritnas search --resume {self.folder}"
            )
        from safetensors import safe_open

        try:
            self.checked(name)
            with safe_open(path, framework="pt") as file:
                weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                return weights, dict(file.metadata() or {})
        except Exception as error:
            raise _damaged(path, error, again) from error

    def check_weights(self, name: str) -> None:
        """Complain where a safetensors file is not as it was written."""
        try:
            self.checked(name)
        except (OSError, ValueError) as error:
            again = f"train it anew with: meritnas retrain {self.folder}"
            raise _damaged(self.folder / name, error, again) from error

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint; the position in the event log goes with it."""
        import torch

        size, digest = self._log.flushed()  # the checkpoint must not outlive the events it counts
        blob = io.BytesIO()
        torch.save({**state, "events_size": size}, blob)
        self._write(_CHECKPOINT, blob.getbuffer(), (size, digest))

    def read_checkpoint(self) -> dict[str, Any] | None:
        """The last checkpoint, or None where there is none; it says how long the log was."""
        if not self.has(_CHECKPOINT):
            return None
        import torch

        try:
            state: dict[str, Any] = torch.load(
                io.BytesIO(self.checked(_CHECKPOINT)), weights_only=True
            )
            int(state["events_size"])
        except Exception as error:
            why = str(error) if isinstance(error, OSError | ValueError) else type(error).__name__
            raise _damaged(
                self.folder / _CHECKPOINT,
                why,
                "delete this file to start the run over from its configuration",
            ) from error
        return state

    def continue_events(self, size: int) -> None:
        """Cut the log back to where it was at a checkpoint, from which the search goes on."""
        self._may_write()
        self._log.cut(size)

    def append(self, event: dict[str, Any]) -> None:
        """Add one line to the event log."""
        self._may_write()
        self._log.append(event)

    def events(self) -> list[dict[str, Any]]:
        """All events that were written whole."""
        return self._log.read()

    def rename(self, name: str, other: str) -> None:
        """Put one file, whole, in another's place; nothing happens if it has been done already."""
        self._may_write()
        if not self.has(name):
            return
        path, place = self.folder / name, self.folder / other
        try:
            content = self.checked(name)
        except (OSError, ValueError) as error:
            raise _damaged(
                path, error, "delete this file to train it again, with the command just given"
            ) from error
        check_regular(place)
        changes: dict[str, Digest] = {
            self._full(name): None,
            self._full(other): sha256(content),
        }
        with disk_errors(self.folder):
            self._digests.announce(changes)
            path.replace(place)
        self._digests.settle(changes)

    def _write(self, name: str, content: Content, events: Events = None) -> None:
        self._may_write()
        with disk_errors(self.folder):
            self.folder.mkdir(exist_ok=True)
        changes: dict[str, Digest] = {self._full(name): sha256(content)}
        self._digests.announce(changes, events)
        write_whole(self.folder / name, content)
        self._digests.settle(changes)

    def checked(self, name: str, most: int | None = None) -> bytes:
        """The content of one of the run's files, if it is as it was written.

        Raises:
            OSError: There is none, or it cannot be read; links are not followed.
            ValueError: It is not as it was written, or larger than `most` bytes.
        """
        for left in reversed(range(_READINGS)):
            content = read_bytes(self.folder / name, most)
            try:
                self._digests.check(self._full(name), content)
                break
            except ValueError:
                if self._writes or not left:
                    raise
                self._digests.reload()  # somebody may have replaced the file in between
        return content

    def _full(self, name: str) -> str:
        return self._within + name

    def _may_write(self) -> None:
        assert self._writes, "this store was opened for reading, or is closed"

    @property
    def _writes(self) -> bool:
        return self._lock is not None and self._lock.held

    def _missing(self, name: str) -> StoreError:
        again = f"meritnas search --resume {self.folder}"
        if not self.lost(name):
            return StoreError(
                f"run {self.folder} has no {name}: the search has not come that far; "
                f"continue it with: {again}"
            )
        advice = f"have it made again with: {again}" if name in _MADE_AGAIN else RESTORE
        return StoreError(
            f"{self.folder / name} is missing, though this run has written it; {advice}"
        )


def _damaged(path: Path, why: object, advice: str) -> StoreError:
    return StoreError(f"{path} is damaged ({why}); {advice}")
