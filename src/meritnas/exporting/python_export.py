"""A network as Python source, with its weights and a program that reads raw data beside it."""

from __future__ import annotations

from typing import Any

import torch
from safetensors.torch import save
from torch import Tensor

from meritnas.errors import UsageError
from meritnas.exporting.graph import network_inputs
from meritnas.exporting.program_export import program_files
from meritnas.exporting.trained import Trained
from meritnas.families.family import seeded
from meritnas.families.source import WEIGHTS

SOURCE = "model.py"

_TOLERANCE = 1e-5
_ROWS = 7


def python_files(trained: Trained) -> dict[str, bytes]:
    """`model.py` and `weights.safetensors`, run and compared: the same scores to 1e-5.

    Beside them, where raw data can be read without MeritNAS, `predict.py` and `encoder.json`.

    Raises:
        UsageError: Networks of this space have no such form, or what the file says differs.
    """
    source = trained.family.source(trained.architecture)
    weights = trained.predictor.module.state_dict()
    _check(source, weights, trained)
    about = {"architecture": trained.architecture.text}
    blob = save({name: value.contiguous() for name, value in weights.items()}, about)
    return {**program_files(trained), SOURCE: source.encode(), WEIGHTS: blob}


@torch.no_grad()
def _check(source: str, weights: dict[str, Tensor], trained: Trained) -> None:
    names: dict[str, Any] = {"__name__": "model"}
    exec(compile(source, SOURCE, "exec"), names)  # our own text, made just now
    network = names["Network"]()
    network.load_state_dict(weights)
    network.eval()
    inputs = network_inputs(trained, _ROWS, seed=0)
    with seeded(0):
        expected = trained.predictor.module(inputs)
    with seeded(0):
        found = network(inputs)
    scores = found[0] if isinstance(found, tuple) else found
    if not torch.allclose(scores, expected, rtol=_TOLERANCE, atol=_TOLERANCE):
        worst = float((scores - expected).abs().max())
        raise UsageError(
            f"the network as Python does not say what the run's own says: scores differ by up to "
            f"{worst:.2g}, more than {_TOLERANCE:g}; nothing was written, use --to onnx or --to "
            "torch-export"
        )
