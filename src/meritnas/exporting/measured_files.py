"""What exported files cost, counted in the files themselves."""

from __future__ import annotations

import io
import json
import math
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._ops import HigherOrderOperator

from meritnas.data.files.plain_file import read_plain_file
from meritnas.errors import UsageError
from meritnas.exporting.measured_module import Found, measure_module, products
from meritnas.exporting.onnx_export import load_runtime, session_of
from meritnas.exporting.preprocessing_export import FILE as DESCRIBED
from meritnas.exporting.python_export import SOURCE
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import FILE as INT8_FILE
from meritnas.families.int8_weights import SCALES
from meritnas.families.latency import microseconds
from meritnas.families.source import WEIGHTS

_NETWORK = ("network.", "network/network.")
"""Names of a network's own numbers in graphs begin with it; others are of what comes before."""

_STATISTICS = ("running_mean", "running_var", "num_batches_tracked")
"""Of norms: they are stored beside weights and are none."""

_ROUNDS = 51

_FLOAT32_ONLY = Found(None, f"is of the file in int8: {INT8_FILE}, by --to python --quantize int8")
_INT8_ONLY = Found(None, f"is of the file in float32: {WEIGHTS}, by --to python")


def measure_onnx(path: Path) -> dict[str, Found]:
    """Parameters, multiply-adds, bytes and latency of an ONNX file."""
    runtime = load_runtime()
    import onnx

    blob = read_plain_file(path)
    try:
        model = onnx.load_from_string(blob)
        session = session_of(runtime, blob)
    except Exception as error:  # several kinds, of two packages
        raise UsageError(f"{path} is no ONNX file that can be run ({error})") from error
    given = {
        one.name: np.zeros([size if isinstance(size, int) else 1 for size in one.shape], _type(one))
        for one in session.get_inputs()
    }
    own = [one for one in model.graph.initializer if one.name.startswith(_NETWORK)]
    weights = [
        math.prod(one.dims)
        for one in own
        if one.data_type in (onnx.TensorProto.FLOAT, onnx.TensorProto.INT8, onnx.TensorProto.INT32)
        and not one.name.endswith((*_STATISTICS, "_scale", "_zero_point"))
    ]
    stored = sum(onnx.numpy_helper.to_array(one).nbytes for one in own)
    took = microseconds({"whole": (lambda _: session.run(None, given), torch.zeros(1))}, _ROUNDS)
    return {
        "params": Found(sum(weights), "weights in the file"),
        "flops": Found(_graph_products(onnx, model), "products of its operations, for one row"),
        **_weights_in(stored, len(blob)),
        "peak": Found(None, "is not counted in this form; verify the run"),
        "latency": Found(
            took["whole"],
            f"measured with onnxruntime, one row, one thread, median of {_ROUNDS} rounds",
        ),
    }


def _weights_in(stored: int, whole: int) -> dict[str, Found]:
    """The bytes of weights in a file that has more than them, and those of the file."""
    return {
        "size": Found(stored, "bytes of weights and what norms keep in the file"),
        INT8_SIZE: _FLOAT32_ONLY,
        "file": Found(whole, "with graph and preprocessing, which no limit is on"),
    }


def _type(given: Any) -> Any:
    names = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64}
    return names.get(given.type, np.uint8 if given.type == "tensor(uint8)" else np.object_)


def _graph_products(onnx: ModuleType, model: Any) -> int:
    """Multiply-adds of matrix products and convolutions, by the shapes for one row or word."""
    for one in (*model.graph.input, *model.graph.output):
        for dim in one.type.tensor_type.shape.dim:
            if not dim.HasField("dim_value"):
                dim.dim_value = 1
    del model.graph.value_info[:]  # of any number of rows
    inferred = onnx.shape_inference.infer_shapes(model, data_prop=True)
    return sum(_products_of(graph) for graph in _graphs(inferred.graph))


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph, and those of its loops, each counted for one turn."""
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _graphs(attribute.g)


def _products_of(graph: Any) -> int:
    shapes = {one.name: list(one.dims) for one in graph.initializer}
    for one in (*graph.input, *graph.value_info, *graph.output):
        dims = one.type.tensor_type.shape.dim
        shapes[one.name] = [max(1, dim.dim_value) for dim in dims]
    total = 0
    for node in graph.node:
        if node.op_type in ("Gemm", "MatMul"):
            inner = shapes[node.input[0]]
            turned = any(a.name == "transA" and a.i for a in node.attribute)
            total += math.prod(shapes[node.output[0]]) * inner[0 if turned else -1]
        elif node.op_type == "Conv":
            total += math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    return total


def measure_torch(path: Path) -> dict[str, Found]:
    """Parameters, multiply-adds, bytes and latency of a file of torch.export."""
    blob = read_plain_file(path)
    try:
        with zipfile.ZipFile(io.BytesIO(blob)):  # else torch writes pages of warnings
            program = torch.export.load(io.BytesIO(blob))
    except Exception as error:  # torch has many kinds
        raise UsageError(f"{path} is no file of torch.export ({error})") from error
    own = dict(program.named_parameters())
    weights = sum(weight.numel() for weight in own.values())
    stored = sum(_bytes_of(one) for one in (*own.values(), *_statistics_of(program)))
    inputs = program.example_inputs[0] if program.example_inputs else None
    found = {
        "params": Found(weights, "weights in the file"),
        **_weights_in(stored, len(blob)),
        "peak": Found(None, "is not counted in this form; verify the run"),
    }
    if inputs is None:
        return found
    rows = tuple(each[:1] for each in inputs)
    module: Any = program.module()
    took = microseconds({"whole": (module, rows)}, _ROUNDS)["whole"]
    how = f"measured with torch, one row, one thread, median of {_ROUNDS} rounds"
    return {
        **found,
        "flops": _products_in(module, rows),
        "latency": Found(took, how),
    }


def _products_in(module: Any, rows: tuple[Tensor, ...]) -> Found:
    if any(isinstance(node.target, HigherOrderOperator) for node in module.graph.nodes):
        return Found(None, "are not counted inside a loop over words; verify the run")
    return Found(products(lambda _: module(*rows), rows[0]), "products of one pass")


def _bytes_of(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def _statistics_of(program: Any) -> list[Tensor]:
    """What the network's norms keep beside their weights."""
    return [one for name, one in program.named_buffers() if name.endswith(_STATISTICS)]


def measure_folder(folder: Path, *, run_code: bool) -> dict[str, Found]:
    """Parameters and bytes of stored weights; the rest only if `model.py` may be run."""
    file = weights_file(folder)
    stored = read_plain_file(folder / file)
    size = {"size": Found(len(stored), f"bytes of {file}"), INT8_SIZE: _FLOAT32_ONLY}
    if file == INT8_FILE:
        size = {INT8_SIZE: size["size"], "size": _INT8_ONLY}
    if run_code:
        names: dict[str, Any] = {"__name__": "model", "__file__": str(folder / SOURCE)}
        exec(compile(read_plain_file(folder / SOURCE), SOURCE, "exec"), names)
        shape, kind = _network_input(folder)
        return {**measure_module(names["load"](), shape, kind), **size}
    why = Found(None, f"needs {SOURCE} to be run: --run-code, if you trust it")
    counted = Found(_stored_numbers(stored, folder / file), f"weights in {file}")
    return {"params": counted, "flops": why, **size, "peak": why, "latency": why}


def weights_file(folder: Path) -> str:
    """The file that `model.py` reads."""
    in_int8 = INT8_FILE in read_plain_file(folder / SOURCE).decode(errors="replace")
    return INT8_FILE if in_int8 else WEIGHTS


def _network_input(folder: Path) -> tuple[list[int], str]:
    try:
        told = json.loads(read_plain_file(folder / DESCRIBED))["network_input"]
        shape, kind = [int(size) for size in told["shape"]], str(told["type"])
    except (ValueError, LookupError, TypeError) as error:
        raise UsageError(
            f"{folder / DESCRIBED} does not say what the network reads ({error!r}); export again"
        ) from error
    return shape, "int64" if kind == "int64" else "float32"


def _stored_numbers(stored: bytes, path: Path) -> int:
    """The numbers in a safetensors file that are weights, by its header."""
    try:
        length = int.from_bytes(stored[:8], "little")
        header: Mapping[str, Any] = json.loads(stored[8 : 8 + length])
        weights: Iterable[Any] = (
            about
            for name, about in header.items()
            if name not in ("__metadata__", SCALES)
            and not name.endswith(_STATISTICS)
            and about["dtype"].startswith(("F", "BF", "I8"))
        )
        return sum(math.prod(about["shape"]) for about in weights)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is no file of weights ({error!r}); export again") from error
