from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from meritnas.data.suggest import did_you_mean
from meritnas.errors import UsageError
from meritnas.export.onnx_export import FILE as ONNX
from meritnas.export.onnx_export import onnx_files
from meritnas.export.preprocessing_export import preprocessing_files
from meritnas.export.python_export import SOURCE, WEIGHTS, python_files
from meritnas.export.torch_export import FILE as PT2
from meritnas.export.torch_export import torch_files
from meritnas.export.trained import Trained, load_trained
from meritnas.export.writing import refuse_existing, write_together

_FORMS: Mapping[str, tuple[tuple[str, ...], Callable[[Trained], dict[str, bytes]]]] = {
    "onnx": ((ONNX,), onnx_files),
    "torch-export": ((PT2,), torch_files),
    "python": ((SOURCE, WEIGHTS), python_files),
}
FORMS = tuple(_FORMS)
"""What a network can be written as."""


def export(
    run: str | Path, to: str, out: str | Path | None = None, force: bool = False
) -> tuple[Path, ...]:
    """Write a run's network in a form that needs no MeritNAS, checked against the run's own.

    Args:
        run: its folder; the search has ended.
        to: "onnx" (`model.onnx`), "torch-export" (`model.pt2`) or "python" (`model.py` with
            `model.safetensors`). All come with `preprocessing.json`, which says how data becomes
            inputs and scores become answers.
        out: a folder; None for `export` in the run's own.
        force: whether files that are there already may be replaced.

    Returns:
        The files.

    Raises:
        UsageError: There is no such form, or the network cannot be written in it.
        StoreError: The run has no trained network, or a file is there already.
    """
    if to not in _FORMS:
        raise UsageError(f"no form '{to}';{did_you_mean(to, FORMS)} there are {', '.join(FORMS)}")
    trained = load_trained(run)
    folder = Path(run) / "export" if out is None else Path(out)
    names, make = _FORMS[to]
    description = preprocessing_files(trained)
    if not force:
        refuse_existing(folder, {**dict.fromkeys(names), **description})
    return write_together(folder, {**make(trained), **description})
