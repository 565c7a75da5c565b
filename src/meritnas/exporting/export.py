"""A run's network in a form that needs no MeritNAS."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from meritnas.errors import UsageError
from meritnas.exporting.c_costs import FILE as COSTS
from meritnas.exporting.c_costs import c_lines
from meritnas.exporting.c_export import FILES as IN_C
from meritnas.exporting.c_export import c_files
from meritnas.exporting.c_int8_export import with_int8_c
from meritnas.exporting.docker_export import FILE as DOCKER
from meritnas.exporting.docker_export import docker_files
from meritnas.exporting.int8_export import with_int8_onnx
from meritnas.exporting.int8_python import with_int8_python
from meritnas.exporting.model_card import card_files
from meritnas.exporting.onnx_export import FILE as ONNX
from meritnas.exporting.onnx_export import onnx_files
from meritnas.exporting.preprocessing_export import preprocessing_files
from meritnas.exporting.python_export import SOURCE, python_files
from meritnas.exporting.torch_export import FILE as PT2
from meritnas.exporting.torch_export import torch_files
from meritnas.exporting.trained import Trained, load_trained
from meritnas.families.int8_weights import FILE as INT8_WEIGHTS
from meritnas.families.source import WEIGHTS
from meritnas.plugins import Trusted
from meritnas.settings.checks import check_arguments
from meritnas.store.checked_path import checked_path, out_path
from meritnas.store.run_store import RunStore
from meritnas.store.whole_files import check_folder, exists_already, write_together
from meritnas.wording import did_you_mean

# The last of a form's files is the last to be written: where it is, an export is complete.
_FORMS: Mapping[str, tuple[tuple[str, ...], Callable[[Trained], dict[str, bytes]]]] = {
    "onnx": ((ONNX,), onnx_files),
    "torch-export": ((PT2,), torch_files),
    "python": ((SOURCE, WEIGHTS), python_files),
    "docker": ((DOCKER, SOURCE, WEIGHTS), docker_files),
    "c": (IN_C, c_files),
}
FORMS = tuple(_FORMS)
"""What a network can be written as."""

_QUANTISED = {
    "onnx": with_int8_onnx,
    "python": with_int8_python,
    "docker": with_int8_python,
    "c": with_int8_c,
}
"""Those that there are in int8, and what makes the files of each from those in float32."""


def export(
    run: str | Path,
    to: str,
    out: str | Path | None = None,
    force: bool = False,
    network: str | None = None,
    trust: Trusted = (),
    quantize: str | None = None,
    data: Any = None,
) -> tuple[Path, ...]:
    """Write a run's network in a form that needs no MeritNAS, checked against the run's own.

    Args:
        run: its folder; the search has ended.
        to: "onnx" (`model.onnx`), "torch-export" (`model.pt2`), "python" (`model.py` with
            `weights.safetensors`, and `predict.py`, which reads raw data), "docker" (the same
            with `service.py`, an HTTP service, and a `Dockerfile`) or "c" (`model.c` and `model.h`,
            C99 without a heap, and `c.json`, the bytes that it takes). All come with
            `preprocessing.json`, which says how data becomes inputs and scores become answers,
            and `README.md`, a page about the network.
        out: a folder; None for `export` in the folder with the network's weights, which is the
            run's own or, of another network, one in it.
        force: whether files that are there already may be replaced.
        network: the architecture of one on the run's trade-off curve instead, such as "16-8-8".
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
        quantize: "int8" of "onnx" for `model-int8.onnx` besides, with `int8.json`, its scores on
            the test rows; of "python" and "docker" for `weights-int8.safetensors` instead of
            `weights.safetensors`, with `weights-int8.json`; of "c" for `model.c` in int8, with
            these scores in `c.json`. It reads the run's data again.
        data: for that, the data, if the search was started with data in memory.

    Returns:
        The files: first those of the network, then `preprocessing.json`, then what else there is.

    Raises:
        UsageError: There is no such form or network, or it cannot be written in this form.
        StoreError: The run has no trained network, or a file is there already.
    """
    check_arguments(export, to=to, force=force, network=network, quantize=quantize)
    if quantize not in (None, "int8") or (quantize and to not in _QUANTISED):
        forms = " or ".join(_QUANTISED)
        raise UsageError(f"quantize is int8, and of the form {forms}; got {quantize!r} of {to!r}")
    if to not in _FORMS:
        raise UsageError(f"no form '{to}';{did_you_mean(to, FORMS)} there are {', '.join(FORMS)}")
    trained = load_trained(run, network, trust)
    folder = trained.folder / "export" if out is None else out_path(out)
    if out is None:
        check_folder(folder)
    named, make = _FORMS[to]
    if quantize:
        named = tuple(INT8_WEIGHTS if name == WEIGHTS else name for name in named)
    if not force and (folder / named[-1]).exists():
        raise exists_already(folder / named[-1])
    store = RunStore.open(checked_path("run", run))
    made = make(trained)
    if quantize:
        made = _QUANTISED[to](made, trained, store.folder, data, trust)
    card = card_files(trained, store, _in_c(made, folder))
    files = {**preprocessing_files(trained), **card, **made}
    if not force:
        _refuse_others(folder, files, card_files(trained, store))
    write_together(folder, files)
    return tuple(folder / name for name in (*named, *(n for n in files if n not in named)))


def _in_c(made: Mapping[str, bytes], folder: Path) -> Mapping[str, Any] | None:
    """What the network takes in C, if that is written now or lies in the folder."""
    path = folder / COSTS
    if COSTS not in made and not path.is_file():
        return None
    try:
        found: Mapping[str, Any] = json.loads(made.get(COSTS) or path.read_bytes())
        c_lines(found)
    except (ValueError, LookupError, TypeError, AttributeError):
        return None  # something else of this name
    return found


def _refuse_others(folder: Path, files: Mapping[str, bytes], others: Mapping[str, bytes]) -> None:
    """Complain about a file that is there already, unless an export has left it.

    Args:
        folder: where files are to be.
        files: these, as an export that was killed may have left them.
        others: as an export in another form has left them.
    """
    for name, content in files.items():
        path = folder / name
        known = (content, others.get(name))
        if path.exists() and not (path.is_file() and path.read_bytes() in known):
            raise exists_already(path)
