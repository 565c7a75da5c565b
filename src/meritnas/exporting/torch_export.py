"""A network as a file of torch.export."""

from __future__ import annotations

import io
import json
import warnings

import torch

from meritnas.errors import UsageError
from meritnas.exporting.graph import Graph, free_shapes, make_graph, no_graph
from meritnas.exporting.trained import Trained

FILE = "model.pt2"
ABOUT = "about.json"
"""The file inside `model.pt2` with what is known about the network."""

_TOLERANCE = 1e-5
_SIZES = (1, 7)
_TRACED = 11


def torch_files(trained: Trained) -> dict[str, bytes]:
    """`model.pt2`, loaded again and compared: the same to 1e-5, at two batch sizes.

    Raises:
        UsageError: torch cannot trace the network, or what it loads again differs.
    """
    graph = make_graph(trained)
    blob = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = torch.export.export(
                graph.module, graph.sample(_TRACED, 0), dynamic_shapes=free_shapes(graph)
            )
        except Exception as error:
            raise no_graph(error, "--to python") from error
        torch.export.save(program, blob, extra_files={ABOUT: json.dumps(graph.about)})
        _check(graph, blob.getvalue())
    return {FILE: blob.getvalue()}


def _check(graph: Graph, blob: bytes) -> None:
    loaded = torch.export.load(io.BytesIO(blob)).module()
    for seed, size in enumerate(_SIZES):
        inputs = graph.sample(size, seed)
        with torch.no_grad():
            pairs = zip(graph.outputs, graph.own(*inputs), loaded(*inputs), strict=True)
        for name, own, other in pairs:
            if not torch.allclose(own, other, rtol=_TOLERANCE, atol=_TOLERANCE):
                worst = float((own - other).abs().max())
                raise UsageError(
                    f"the exported network does not say what the run's own says: its {name} differ "
                    f"by up to {worst:.2g}, more than {_TOLERANCE:g}; nothing was written, use "
                    "--to python"
                )
