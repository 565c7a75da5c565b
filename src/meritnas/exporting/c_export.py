"""A network as C: `model.c` and `model.h`, and what they cost in `c.json`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.errors import UsageError
from meritnas.exporting.c.arena import planned
from meritnas.exporting.c.compiling import compiled_sizes, compiler, runner
from meritnas.exporting.c.computed import computed
from meritnas.exporting.c.encoders import encoder_of
from meritnas.exporting.c.lowering import lowered
from meritnas.exporting.c.operations import Lowered, View
from meritnas.exporting.c.real_source import real_body
from meritnas.exporting.c.source import HEADER, SOURCE, Written, real_arena, written
from meritnas.exporting.c_costs import FILE as COSTS
from meritnas.exporting.graph import Graph, make_graph, network_inputs
from meritnas.exporting.preprocessing_export import describe
from meritnas.exporting.trained import Trained

FILES = (HEADER, SOURCE)
_TOLERANCE = 1e-4
_ROWS = 32


def c_files(trained: Trained) -> dict[str, bytes]:
    """`model.c` and `model.h`, compared with the run's own network: the same to 1e-4.

    Where there is a C compiler they are compiled and run. `c.json` says how large the arena is, and
    how large constants and instructions are.

    Raises:
        UsageError: The network does something that C is not written for, or what C says differs.
    """
    described = describe(trained)
    encoder_of(described)  # complains about data that is not for C
    graph = make_graph(trained)
    program = lowered(trained.predictor.module, network_inputs(trained, 1, 0))
    offsets, size = planned(program.buffers)
    arena = real_arena(size, first_of(program.given, offsets), first_of(program.scores, offsets))
    made = written(described, real_body(program, offsets), arena)
    check_lowered(trained, program)
    _check_compiled(graph, made)
    costs = costs_of(made, "float32", trained)
    return {COSTS: as_json(costs), **encoded(made)}


def first_of(view: View, offsets: Mapping[int, int]) -> int:
    """Where a view begins in the arena."""
    return offsets[view.buffer] + view.first


def encoded(made: Written) -> dict[str, bytes]:
    """Both files as bytes."""
    return {name: made.files[name].encode("ascii") for name in FILES}


def as_json(told: Mapping[str, Any]) -> bytes:
    """Plain data as a file."""
    return (json.dumps(told, indent=1) + "\n").encode()


def costs_of(made: Written, numbers: str, trained: Trained) -> dict[str, Any]:
    """What the network takes of a device, in bytes; of code None without a compiler."""
    sizes = compiled_sizes(made.files)
    return {
        "numbers": numbers,
        "arena_bytes": made.arena_bytes,
        "counted_peak_bytes": trained.family.cost(trained.architecture, "peak"),
        "constant_bytes": made.constant_bytes,
        "encoder_bytes": made.encoder_bytes,
        "code_bytes": None if sizes is None else sizes.code,
        "compiled_constant_bytes": None if sizes is None else sizes.constants,
        "compiled_by": None if sizes is None else sizes.by,
    }


def raw_inputs(graph: Graph, rows: int, seed: int) -> tuple[list[np.ndarray], Sequence[Tensor]]:
    """Random raw inputs as C takes them, and as the graph does."""
    given = graph.sample(rows, seed)
    return [
        each.to(torch.int32).numpy() if each.dtype == torch.int64 else each.numpy()
        for each in given
    ], given


@torch.no_grad()
def check_lowered(trained: Trained, program: Lowered) -> None:
    """Compare what operations make of random rows with what the network does."""
    rows = network_inputs(trained, _ROWS, 1)
    _compare(trained.predictor.module(rows), computed(program, rows), "scores")


@torch.no_grad()
def _check_compiled(graph: Graph, made: Written) -> None:
    """Compile and run, where there is a compiler."""
    if compiler() is None:
        return
    inputs, given = raw_inputs(graph, _ROWS, 2)
    known = graph.own(*given)
    answers = [each.reshape(len(each), -1) for each in known]
    found = runner(made.files, [each.shape[1] for each in answers])(inputs)
    for name, own, other in zip(graph.outputs, answers, found, strict=True):
        _compare(own, torch.from_numpy(other), name)


def _compare(own: Tensor, other: Tensor, name: str) -> None:
    if not torch.allclose(own, other.to(own.dtype), rtol=_TOLERANCE, atol=_TOLERANCE):
        worst = float((own - other).abs().max())
        raise UsageError(
            f"the network as C does not say what the run's own says: its {name} differ by up to "
            f"{worst:.2g}, more than {_TOLERANCE:g}; nothing was written, use --to onnx or --to "
            "python"
        )
