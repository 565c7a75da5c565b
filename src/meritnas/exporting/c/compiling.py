"""The machine's C compiler: sizes of what it makes, and calls of it."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from meritnas.errors import UsageError
from meritnas.exporting.c.source import SOURCE

STANDARD = ("-std=c99",)
STRICT = (*STANDARD, "-pedantic", "-Wall", "-Wextra", "-Werror")
"""What the files are compiled with without a word by the compilers of our tests."""

_SIZED = ("-Os", "-fno-asynchronous-unwind-tables", "-fno-pic", "-fno-pie")


def compiler() -> list[str] | None:
    """The command of `CC`, or `cc`; None where there is none."""
    told = shlex.split(os.environ.get("CC", "") or "cc")
    return told if told and shutil.which(told[0]) else None


@dataclass(frozen=True)
class Compiled:
    """How large a compiler makes a network.

    Attributes:
        by: the compiler and its flags.
        code: bytes of instructions.
        constants: bytes of constants, the compiler's own included.
    """

    by: str
    code: int
    constants: int


def compiled_sizes(files: Mapping[str, str]) -> Compiled | None:
    """Bytes as compiled for size; None without a compiler and the program `size`."""
    command = compiler()
    if command is None or shutil.which("size") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        flags = (*STANDARD, *_SIZED, "-c")
        made = _compiled(command, files, Path(folder), "model.o", flags)
        told = subprocess.run(
            ["size", "-A", str(made)], capture_output=True, text=True, check=False
        ).stdout
    rows = [line.split() for line in told.splitlines()]
    sizes = {row[0]: int(row[1]) for row in rows if len(row) == 3 and row[1].isdigit()}
    code = sum(size for name, size in sizes.items() if name.startswith(".text"))
    constants = sum(size for name, size in sizes.items() if name.startswith(".rodata"))
    if not code:
        return None
    return Compiled(f"{' '.join(command)} -Os", code, constants)


def _compiled(
    command: Sequence[str], files: Mapping[str, str], folder: Path, name: str, flags: Sequence[str]
) -> Path:
    for file, text in files.items():
        (folder / file).write_text(text, encoding="ascii")
    made = folder / name
    told = [*command, *flags, str(folder / SOURCE), "-o", str(made), "-lm"]
    done = subprocess.run(told, capture_output=True, text=True, check=False)
    if done.returncode:
        said = next((line for line in done.stderr.splitlines() if "error" in line), done.stderr)
        raise UsageError(
            f"{command[0]} cannot compile the network ({said.strip()}); nothing was written, use "
            "--to onnx or --to python"
        )
    return made


def runner(
    files: Mapping[str, str], sizes: Sequence[int], flags: Sequence[str] = STANDARD
) -> Callable[[Sequence[np.ndarray]], tuple[np.ndarray, np.ndarray]]:
    """A compiled network: rows of each input -> scores, and answers.

    Args:
        files: `model.c` and `model.h`.
        sizes: how many numbers go out: scores, and probabilities or what is predicted.
        flags: of the compiler.

    Raises:
        UsageError: There is no compiler, or it complains.
    """
    command = compiler()
    if command is None:
        raise UsageError("there is no C compiler; set CC to one, or put cc on the path")
    with tempfile.TemporaryDirectory() as folder:
        whole = (*flags, "-O2", "-shared", "-fPIC")
        made = _compiled(command, files, Path(folder), "model.so", whole)
        try:
            run = ctypes.CDLL(str(made)).model_run
        except OSError as error:  # of another kind of machine, or a folder without programs
            raise UsageError(
                f"what {command[0]} makes does not run here ({error}); set CC to a compiler for "
                "this machine, or to nothing that exists, to leave the check out"
            ) from error
    run.restype = None
    answer = np.float64 if "double *predicted" in files[SOURCE] else np.float32

    def rows(inputs: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        count = len(inputs[0])
        found = np.empty((count, sizes[0]), np.float32), np.empty((count, sizes[1]), answer)
        whole = [np.ascontiguousarray(each) for each in (*inputs, *found)]
        for number in range(count):
            run(*(ctypes.c_void_p(_address(each, number)) for each in whole))
        return whole[-2], whole[-1]

    return rows


def _address(rows: np.ndarray, number: int) -> Any:
    return rows.ctypes.data + number * rows.strides[0]
