"""The folder of a run: every file is replaced as a whole, nothing is loaded by pickle."""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from meritnas.errors import StoreError

if TYPE_CHECKING:
    from torch import Tensor

Value = TypeVar("Value")

FORMAT = "meritnas-run"
VERSION = 2
"""Of what new runs write; all from 1 on are read."""


class RunStore:
    """A run's folder: JSON files, an append-only log of events, checkpoints, weights.

    Files are replaced as a whole: written beside, flushed to disk, renamed. Nothing is ever
    loaded by pickle.
    """

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self.folder = folder
        self.config = config

    @staticmethod
    def create(folder: Path, config: dict[str, Any]) -> RunStore:
        """A new folder with its configuration; it must not exist, or be empty."""
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise StoreError(
                f"the output folder {folder} exists already; give another --out, or continue it "
                f"with --resume {folder}"
            )
        config = {"format": FORMAT, "version": VERSION, **config}
        store = RunStore(folder, config)
        with _disk_errors(folder):
            made = not folder.exists()
            folder.mkdir(parents=True, exist_ok=True)
            try:
                store.write_json("config.json", config)
            except BaseException:
                if made:
                    folder.rmdir()
                raise
        return store

    @staticmethod
    def open(folder: Path) -> RunStore:
        """A folder that `create` made; an error says what is wrong with any other."""
        path = folder / "config.json"
        if not folder.is_dir():
            raise StoreError(f"no run folder {folder}; check the path")
        if not path.is_file():
            raise StoreError(
                f"{folder} is not a run of MeritNAS: it has no config.json; "
                "give the folder that a search wrote"
            )
        config = _read_json(path)
        if not isinstance(config, dict) or config.get("format") != FORMAT:
            raise StoreError(
                f"{path} was not written by MeritNAS; give the folder that a search wrote"
            )
        if config.get("version") not in range(1, VERSION + 1):
            raise StoreError(
                f"{folder} was written in run format {config.get('version')}, this version reads "
                f"up to {VERSION}; use the version of MeritNAS that made it"
            )
        return RunStore(folder, config)

    def inside(self, name: str) -> RunStore:
        """A folder within the run's, for files of the same names; made if need be."""
        folder = self.folder / name
        with _disk_errors(folder):
            folder.mkdir(exist_ok=True)
        return RunStore(folder, self.config)

    def has(self, name: str) -> bool:
        """Whether the run has this file."""
        return (self.folder / name).is_file()

    def read_json(self, name: str, *keys: str) -> Any:
        """The content of one of the run's JSON files, an object that has at least these keys."""
        path = self.folder / name
        if not path.is_file():
            raise StoreError(
                f"run {self.folder} has no {name}: the search has not come that far; "
                f"continue it with: meritnas search --resume {self.folder}"
            )
        content = _read_json(path)
        missing = set(keys) - set(content if isinstance(content, dict) else ())
        if missing:
            raise StoreError(
                f"{path} is damaged (it lacks {', '.join(sorted(missing))}); restore it or start "
                "a new run"
            )
        return content

    def decode(self, name: str, read: Callable[[Any], Value]) -> Value:
        """What `read` makes of a JSON file; a file it can make nothing of is damaged."""
        content = self.config if name == "config.json" else self.read_json(name)
        try:
            return read(content)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise StoreError(
                f"{self.folder / name} is damaged ({type(error).__name__}: {error}); restore it or "
                "start a new run"
            ) from error

    def remove(self, name: str) -> None:
        """Delete one of the run's files, if it is there."""
        with _disk_errors(self.folder):
            (self.folder / name).unlink(missing_ok=True)

    def write_json(self, name: str, data: Any) -> None:
        """Replace a JSON file."""
        self.write_text(name, json.dumps(data, indent=1, allow_nan=False) + "\n")

    def write_text(self, name: str, text: str) -> None:
        """Replace a text file."""
        self._replace(name, lambda path: path.write_bytes(text.encode(errors="backslashreplace")))

    def write_weights(
        self, name: str, weights: dict[str, Tensor], metadata: dict[str, str]
    ) -> None:
        """Replace a safetensors file."""
        from safetensors.torch import save  # in methods: JSON files are read without torch

        tensors = {key: value.contiguous().cpu() for key, value in weights.items()}
        blob = save(tensors, metadata)
        self._replace(name, lambda path: path.write_bytes(blob))

    def read_weights(self, name: str) -> tuple[dict[str, Tensor], dict[str, str]]:
        """The tensors and the metadata of a safetensors file."""
        path = self.folder / name
        if not path.is_file():
            raise StoreError(
                f"run {self.folder} has no trained network; continue it with: "
                f"meritnas search --resume {self.folder}"
            )
        from safetensors import safe_open

        try:
            with safe_open(path, framework="pt") as file:
                weights = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
                return weights, dict(file.metadata() or {})
        except Exception as error:
            raise StoreError(
                f"{path} is damaged ({error}); train it anew with: meritnas retrain {self.folder}"
            ) from error

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        """Replace the checkpoint; the position in the event log goes with it."""
        import torch

        log = self.folder / "events.jsonl"
        size = log.stat().st_size if log.exists() else 0
        if size:
            with _disk_errors(self.folder), log.open("rb+") as file:
                os.fsync(file.fileno())  # the checkpoint must not outlive the events it counts
        blob = io.BytesIO()
        torch.save({**state, "events_size": size}, blob)
        self._replace("checkpoint.pt", lambda path: path.write_bytes(blob.getbuffer()))

    def read_checkpoint(self) -> dict[str, Any] | None:
        """The last checkpoint, or None before the first; events after it are cut off."""
        path = self.folder / "checkpoint.pt"
        if not path.is_file():
            self._cut_events(0)
            return None
        import torch

        try:
            state: dict[str, Any] = torch.load(path, weights_only=True)
            size = int(state.pop("events_size"))
        except Exception as error:
            raise StoreError(
                f"{path} is damaged ({type(error).__name__}); delete this file to start the run "
                "over from its configuration"
            ) from error
        self._cut_events(size)
        return state

    def append(self, event: dict[str, Any]) -> None:
        """Add one line to the event log."""
        with _disk_errors(self.folder), (self.folder / "events.jsonl").open("a") as log:
            log.write(json.dumps(event, allow_nan=False) + "\n")

    def events(self) -> list[dict[str, Any]]:
        """All events that were written whole."""
        path = self.folder / "events.jsonl"
        found = []
        for line in path.read_text().splitlines() if path.is_file() else []:
            try:
                found.append(json.loads(line))
            except json.JSONDecodeError:
                continue  # the last line of a killed run
        return found

    def _cut_events(self, size: int) -> None:
        path = self.folder / "events.jsonl"
        if path.is_file() and path.stat().st_size > size:
            os.truncate(path, size)

    def rename(self, name: str, other: str) -> None:
        """Put one file in another's place; nothing happens if it has been done already."""
        if self.has(name):
            with _disk_errors(self.folder):
                (self.folder / name).replace(self.folder / other)

    def _replace(self, name: str, write: Callable[[Path], Any]) -> None:
        write_whole(self.folder / name, write)


def write_whole(path: Path, write: Callable[[Path], Any]) -> None:
    """Write a file beside, flush it and put it in its place: it is never there half-written."""
    beside = path.with_name(f".partial.{path.name}")
    with _disk_errors(path.parent):
        try:
            write(beside)
            with beside.open("rb") as file:
                os.fsync(file.fileno())
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
        if os.name == "posix":  # elsewhere a folder cannot be flushed
            directory = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} is damaged ({error}); restore it or start a new run") from error


@contextmanager
def _disk_errors(folder: Path) -> Iterator[None]:
    """Turn what the disk says into a message with a way out."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"cannot write to {folder}: {error.strerror or error}; free some space or give another "
            "--out (what was saved before is kept and can be resumed)"
        ) from error
