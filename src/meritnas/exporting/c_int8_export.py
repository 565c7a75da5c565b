"""A network as C in whole numbers of 8 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from meritnas.data.bundle import Part
from meritnas.data.task import Task
from meritnas.devices.placement import on_cpu
from meritnas.errors import UsageError
from meritnas.exporting.c.arena import planned
from meritnas.exporting.c.compiling import compiler, runner
from meritnas.exporting.c.computed import computed
from meritnas.exporting.c.encoders import encoder_of
from meritnas.exporting.c.int8_computed import computed_in_int8
from meritnas.exporting.c.int8_lowering import in_int8
from meritnas.exporting.c.int8_operations import Whole
from meritnas.exporting.c.int8_source import int8_arena, int8_body
from meritnas.exporting.c.lowering import lowered
from meritnas.exporting.c.operations import Lowered
from meritnas.exporting.c.source import Written, written
from meritnas.exporting.c_costs import FILE as COSTS
from meritnas.exporting.c_export import as_json, check_lowered, costs_of, encoded, raw_inputs
from meritnas.exporting.calibration import ROWS, pieces
from meritnas.exporting.graph import Graph, make_graph, network_inputs
from meritnas.exporting.graph import Whole as Network
from meritnas.exporting.preprocessing_export import describe
from meritnas.exporting.trained import Trained
from meritnas.plugins import Trusted
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import score

_CHECKED = 32
_UNITS = 2.0
"""How much C may differ from the same arithmetic here, in the coarsest scores' units."""


def with_int8_c(
    files: Mapping[str, bytes], trained: Trained, run: Path, data: Any = None, trust: Trusted = ()
) -> dict[str, bytes]:
    """The files of a network in C, in int8 instead of float32, see `c_int8_files`."""
    return {**files, **c_int8_files(trained, run, data, trust)}


def c_int8_files(
    trained: Trained, run: Path, data: Any = None, trust: Trusted = ()
) -> dict[str, bytes]:
    """`model.c` and `model.h` in int8; in `c.json` also scores on the test rows before and after.

    Weights are quantised output by output, activations by the range that they have on training
    rows; sums are whole numbers of 32 bits.

    Args:
        trained: The network.
        run: The run's folder.
        data: The data, if the search was started with data in memory.
        trust: What of a user's own may be imported.

    Raises:
        UsageError: The network does something that C is not written for.
    """
    described = describe(trained)
    encoder_of(described)  # complains about data that is not for C
    graph = make_graph(trained)
    program = lowered(trained.predictor.module, network_inputs(trained, 1, 0))
    check_lowered(trained, program)
    bundle = Job.reopen(RunStore.open(run), data, trust).bundle
    train = bundle.train.sample
    whole = in_int8(program, (torch.from_numpy(rows) for rows in pieces(train, ROWS)))
    offsets, size = planned(whole.buffers)
    made = written(described, int8_body(whole, offsets), int8_arena(whole, offsets, size))
    _check(graph, whole, made)
    told = {
        **costs_of(made, "int8", trained),
        "scores": _scores(trained.predictor.task, program, whole, bundle.test),
        "test_rows": len(bundle.test),
        "calibration_rows": min(ROWS, len(train)),
    }
    return {COSTS: as_json(told), **encoded(made)}


def _scores(task: Task, program: Lowered, whole: Whole, part: Part) -> dict[str, dict[str, float]]:
    """Of the test rows, in both kinds of numbers."""
    ways: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "float32": lambda rows: computed(program, torch.from_numpy(rows)).numpy(),
        "int8": lambda rows: computed_in_int8(whole, rows),
    }
    found = {}
    for name, way in ways.items():
        scores = np.concatenate([way(rows) for rows in pieces(part, len(part))])
        found[name] = score(task, torch.from_numpy(scores), on_cpu(part.target))
    return found


@torch.no_grad()
def _check(graph: Graph, whole: Whole, made: Written) -> None:
    """Compile and run, where there is a compiler; what it says must be this arithmetic."""
    if compiler() is None:
        return
    inputs, given = raw_inputs(graph, _CHECKED, 2)
    assert isinstance(graph.module, Network)
    known = computed_in_int8(whole, graph.module.before(*given).numpy())
    sizes = [each[0].numel() for each in graph.own(*given)]
    scores, _ = runner(made.files, sizes)(inputs)
    worst = float(np.abs(scores - known).max())
    unit = whole.scores_grid.scale if whole.scores_grid is not None else float(known.std()) / 16
    if not worst <= _UNITS * unit + 1e-5:
        raise UsageError(
            f"the network in int8 says other things in C: its scores differ by up to {worst:.2g}; "
            "nothing was written, leave out --quantize"
        )
