"""A network as an ONNX file."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import numpy as np
import torch

from meritnas.errors import UsageError
from meritnas.exporting.graph import Graph, free_shapes, make_graph, no_graph
from meritnas.exporting.preprocessing_export import describe
from meritnas.exporting.raw_onnx import FILE as RAW
from meritnas.exporting.raw_onnx import check_raw, raw_graph
from meritnas.exporting.trained import Trained

FILE = "model.onnx"
_TOLERANCE = 1e-4
_SIZES = (1, 7)
_TRACED = 11


def onnx_files(trained: Trained) -> dict[str, bytes]:
    """`model.onnx`, checked with onnxruntime: as in torch, to 1e-4, at two batch sizes.

    Of a table without dates also `raw.onnx`, which takes its columns as they are.

    Raises:
        UsageError: The extra is not installed, or what ONNX makes of the network differs.
    """
    runtime = load_runtime()
    graph = make_graph(trained)
    blob = converted(graph)
    _check(runtime, graph, blob)
    return {**_raw(runtime, graph, blob, describe(trained)), FILE: blob}


def _raw(
    runtime: ModuleType, graph: Graph, blob: bytes, described: Mapping[str, Any]
) -> dict[str, bytes]:
    """`raw.onnx`, which takes a table's columns as they are; nothing where ONNX has no words."""
    raw = raw_graph(blob, described)
    if raw is None:
        return {}
    inputs = graph.sample(_TRACED, 1)
    named = {name: one.numpy() for name, one in zip(graph.inputs, inputs, strict=True)}
    known = session_of(runtime, blob).run(None, named)
    check_raw(session_of(runtime, raw), named, known, described)
    return {RAW: raw}


def load_runtime() -> ModuleType:
    """The package onnxruntime.

    Raises:
        UsageError: The extra is not installed.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime
        import onnxscript  # noqa: F401
    except ImportError as missing:
        raise UsageError(
            f"the package {missing.name} is not installed; install it with "
            "pip install 'meritnas[onnx]'"
        ) from missing
    return onnxruntime


def converted(graph: Graph) -> bytes:
    """A graph as ONNX, not yet compared with anything."""
    with _quiet():
        try:
            program = torch.onnx.export(
                graph.module,
                graph.sample(_TRACED, 0),
                dynamo=True,
                dynamic_shapes=free_shapes(graph),
                input_names=graph.inputs,
                output_names=graph.outputs,
                external_data=False,
                verbose=False,
            )
        except Exception as error:
            raise no_graph(error, "--to torch-export or --to python") from error
    assert program is not None
    program.model.metadata_props.update(graph.about)
    model = program.model_proto
    _forget_origins(model.graph)
    blob: bytes = model.SerializeToString()
    return blob


def _forget_origins(graph: Any) -> None:
    """Leave out where in our code each operation comes from: most of a small file."""
    for part in (*graph.node, *graph.value_info, *graph.input, *graph.output, *graph.initializer):
        del part.metadata_props[:]
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _forget_origins(attribute.g)


def session_of(runtime: ModuleType, blob: bytes) -> Any:
    """A graph, ready to run in one thread."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(blob, options, providers=["CPUExecutionProvider"])


def _check(runtime: ModuleType, graph: Graph, blob: bytes) -> None:
    session = session_of(runtime, blob)
    for seed, size in enumerate(_SIZES):
        inputs = graph.sample(size, seed)
        with torch.no_grad():
            expected = graph.own(*inputs)
        given = {name: one.numpy() for name, one in zip(graph.inputs, inputs, strict=True)}
        for name, own, other in zip(
            graph.outputs, expected, session.run(list(graph.outputs), given), strict=True
        ):
            if not np.allclose(own.numpy(), other, rtol=_TOLERANCE, atol=_TOLERANCE):
                worst = float(np.abs(own.numpy() - other).max())
                raise UsageError(
                    f"the network as ONNX does not say what it says in torch: its {name} differ "
                    f"by up to {worst:.2g}, more than {_TOLERANCE:g}; nothing was written, use "
                    "--to torch-export or --to python"
                )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the converter's remarks about packages that nobody needs here."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
