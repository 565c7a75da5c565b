"""A network whose weights and activations are whole numbers of 8 bits, as ONNX has them."""

from __future__ import annotations

import json
import logging
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import nn

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu
from meritnas.errors import UsageError
from meritnas.exporting.calibration import AT_ONCE, ROWS, pieces
from meritnas.exporting.graph import GoesOn, Graph, Whole, make_graph
from meritnas.exporting.onnx_export import converted, load_runtime, session_of
from meritnas.exporting.trained import Trained
from meritnas.plugins import Trusted
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import score

FILE = "model-int8.onnx"
SCORES = "int8.json"

_QUANTISED = ["Conv", "Gemm", "MatMul"]


def with_int8_onnx(
    files: Mapping[str, bytes], trained: Trained, run: Path, data: Any = None, trust: Trusted = ()
) -> dict[str, bytes]:
    """The files of a network as ONNX, and before them those in int8, see `int8_files`."""
    return {**int8_files(trained, run, data, trust), **files}


def int8_files(
    trained: Trained, run: Path, data: Any = None, trust: Trusted = ()
) -> dict[str, bytes]:
    """`model-int8.onnx`, and `int8.json` with scores on the test rows before and after.

    Weights of convolutions and linear layers are quantised channel by channel, activations by the
    range that they have on training rows (static, QDQ). What comes before the network, embeddings
    and norms stay as they are.

    Args:
        trained: The network.
        run: The run's folder.
        data: The data, if the search was started with data in memory.
        trust: What of a user's own may be imported.

    Raises:
        UsageError: It is a language model, or the extra is not installed.
    """
    if isinstance(trained.predictor.module, GoesOn):
        raise UsageError(
            "a network that reads words in order has no int8 form; leave out --quantize"
        )
    runtime = load_runtime()
    graph = make_graph(trained)
    assert isinstance(graph.module, Whole)
    bundle = Job.reopen(RunStore.open(run), data, trust).bundle
    plain = converted(_network(graph, graph.module, trained.predictor.task))
    train = bundle.train.sample
    quantised = _quantised(plain, train)
    whole = _joined(converted(_before(graph, graph.module)), quantised, graph.about)
    _check(runtime, graph, whole)
    scores = {
        name: _scores(runtime, blob, trained.predictor.task, bundle.test)
        for name, blob in (("float32", plain), ("int8", quantised))
    }
    told = {
        "scores": scores,
        "test_rows": len(bundle.test),
        "calibration_rows": min(ROWS, len(train)),
        "network_bytes": {"float32": len(plain), "int8": len(quantised)},
    }
    return {FILE: whole, SCORES: (json.dumps(told, indent=1) + "\n").encode()}


def _network(graph: Graph, whole: Whole, task: Task) -> Graph:
    """Encoded rows -> scores and answers."""
    module = Whole(nn.Identity(), whole.network, task).eval()

    def sample(n: int, seed: int) -> tuple[torch.Tensor, ...]:
        return (whole.before(*graph.sample(n, seed)),)

    return Graph(module, ("rows",), graph.outputs, ({0: "n"},), sample, module, {})


def _before(graph: Graph, whole: Whole) -> Graph:
    """Raw inputs -> encoded rows."""
    module = _Before(whole.before).eval()
    return Graph(module, graph.inputs, ("encoded",), graph.free, graph.sample, module, {})


class _Before(nn.Module):
    """What comes before a network, with inputs as all graphs have them."""

    def __init__(self, before: nn.Module) -> None:
        super().__init__()
        self.before = before

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        """Raw inputs -> encoded rows."""
        found: torch.Tensor = self.before(*inputs)
        return found


def _quantised(plain: bytes, train: Part) -> bytes:
    """The network in int8, by the ranges of its activations on training rows."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Rows(quantization.CalibrationDataReader):
        def __init__(self) -> None:
            self._left = ({"rows": rows} for rows in pieces(train, ROWS))

        def get_next(self) -> Mapping[str, np.ndarray] | None:
            return next(self._left, None)

    with tempfile.TemporaryDirectory() as folder, _quiet():
        given, ready, made = (Path(folder) / f"{name}.onnx" for name in ("a", "b", "c"))
        given.write_bytes(plain)
        quant_pre_process(str(given), str(ready), skip_symbolic_shape=True)
        quantization.quantize_static(
            str(ready),
            str(made),
            Rows(),
            quant_format=quantization.QuantFormat.QDQ,
            op_types_to_quantize=_QUANTISED,
            per_channel=True,
            activation_type=quantization.QuantType.QInt8,
            weight_type=quantization.QuantType.QInt8,
        )
        return made.read_bytes()


def _joined(before: bytes, network: bytes, about: Mapping[str, str]) -> bytes:
    """One graph of what comes before the network, and the network."""
    import onnx

    first, second = onnx.load_from_string(before), onnx.load_from_string(network)
    first.ir_version = second.ir_version = max(first.ir_version, second.ir_version)
    first = onnx.compose.add_prefix(first, "first/", rename_inputs=False)
    model = onnx.compose.merge_models(first, second, io_map=[("first/encoded", "rows")])
    onnx.helper.set_model_props(model, dict(about))
    found: bytes = model.SerializeToString()
    return found


def _check(runtime: ModuleType, graph: Graph, blob: bytes) -> None:
    """Run it once: a graph of two parts may be no graph."""
    inputs = graph.sample(AT_ONCE, 0)
    given = {name: one.numpy() for name, one in zip(graph.inputs, inputs, strict=True)}
    found = session_of(runtime, blob).run(list(graph.outputs), given)
    if not all(np.isfinite(each).all() for each in found):
        raise UsageError("the network in int8 has no finite answers; leave out --quantize")


def _scores(runtime: ModuleType, blob: bytes, task: Task, part: Part) -> dict[str, float]:
    session = session_of(runtime, blob)
    found = [session.run(["scores"], {"rows": rows})[0] for rows in pieces(part, len(part))]
    return score(task, torch.from_numpy(np.concatenate(found)), on_cpu(part.target))


@contextmanager
def _quiet() -> Iterator[None]:
    """Without remarks of a tool that nobody here can follow."""
    logger, before = logging.getLogger(), logging.getLogger().level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
