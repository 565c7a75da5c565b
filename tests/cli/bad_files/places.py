"""What is no file, where a file is expected."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path


def pipe(path: Path) -> None:
    """A pipe that nobody writes to: whoever opens it waits forever."""
    os.mkfifo(path)


def link_to_pipe(path: Path) -> None:
    os.mkfifo(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def listener(path: Path) -> None:
    """A socket, by the short way to a path that may be too long for one."""
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind(os.path.relpath(path))


PLACES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a pipe": (pipe, "is a pipe, not a file"),
    "a link to a pipe": (link_to_pipe, "is a pipe, not a file"),
    "an endless device": (lambda path: path.symlink_to("/dev/zero"), "is a device, not a file"),
    "an empty device": (lambda path: path.symlink_to("/dev/null"), "is a device, not a file"),
    "a socket": (listener, "is a socket, not a file"),
    "a folder": (lambda path: path.mkdir(), ""),
    "a broken link": (lambda path: path.symlink_to("nowhere"), "no file"),
    "a link to itself": (lambda path: path.symlink_to(path), ""),
    "nothing": (Path.is_file, "no file"),
}
"""What makes something at a path, and what an error says about it."""

EXPECTED: dict[str, tuple[str, ...]] = {
    "a.csv": ("columns",),
    "a.csv.gz": ("search", "--target", "y"),
    "a.parquet": ("search", "--target", "y"),
    "a.npz": ("search",),
    "train-images-idx3-ubyte": ("search",),
    "data_batch_1.bin": ("search",),
    "data_batch_1": ("search",),
    "views.npz": ("search", "--space", "fusion", "--target", "y"),
    "views.parquet": ("search", "--space", "fusion", "--target", "y"),
    "book.txt": ("search", "--space", "recurrent"),
    "run.toml": ("search", "--config"),
}
"""Names of files, and the commands that expect them at their end."""
