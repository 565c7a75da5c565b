"""A network as Python source whose weights are whole numbers of 8 bits."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor, nn

from meritnas.errors import UsageError
from meritnas.exporting.docker_export import FILE as DOCKER
from meritnas.exporting.graph import network_inputs
from meritnas.exporting.python_export import SOURCE
from meritnas.exporting.trained import Trained
from meritnas.families.int8_weights import FILE, packed
from meritnas.families.source import WEIGHTS, with_int8_weights
from meritnas.plugins import Trusted
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import scores_on

SCORES = "weights-int8.json"

_ROWS = 7


def int8_weights(module: nn.Module) -> bytes:
    """The file of a network's weights in int8."""
    return save(packed(module.state_dict()))


def with_int8_python(
    files: Mapping[str, bytes], trained: Trained, run: Path, data: Any = None, trust: Trusted = ()
) -> dict[str, bytes]:
    """The files of a network as Python, with weights in int8 instead of float32.

    `model.py` makes float32 of them where it loads them, so that the network computes as before.
    `weights-int8.json` has the scores on the test rows before and after.

    Args:
        files: as they are with weights in float32.
        trained: the network.
        run: the run's folder.
        data: the data, if the search was started with data in memory.
        trust: what of a user's own may be imported.

    Raises:
        UsageError: The space writes its weights itself, or the network says nothing in int8.
    """
    blob = int8_weights(trained.predictor.module)
    source = with_int8_weights(files[SOURCE].decode())
    network = _loaded(source, blob, trained)
    test = Job.reopen(RunStore.open(run), data, trust).bundle.test.to("cpu")
    task = trained.predictor.task
    scores = {
        name: scores_on(module, task, test)
        for name, module in (("float32", trained.predictor.module), ("int8", network))
    }
    told = {
        "scores": scores,
        "test_rows": len(test),
        "bytes": {"float32": len(files[WEIGHTS]), "int8": len(blob)},
    }
    changed = {SOURCE: source.encode(), SCORES: (json.dumps(told, indent=1) + "\n").encode()}
    if DOCKER in files:
        changed[DOCKER] = files[DOCKER].replace(WEIGHTS.encode(), FILE.encode())
    kept = {name: content for name, content in files.items() if name != WEIGHTS}
    return {**kept, **changed, FILE: blob}


@torch.no_grad()
def _loaded(source: str, blob: bytes, trained: Trained) -> nn.Module:
    """The network with the weights of the file, read by its own program."""
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(source, SOURCE, "exec"), names)  # our own text, made just now
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / FILE
        path.write_bytes(blob)
        network: nn.Module = names["load"](path)
    found = network(network_inputs(trained, _ROWS, seed=0))
    scores: Tensor = found[0] if isinstance(found, tuple) else found
    if not scores.isfinite().all():
        raise UsageError("the network in int8 has no finite answers; leave out --quantize")
    return network
