from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from meritnas.cli import options as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.messages import resume_command
from meritnas.cli.modalities import modality_arguments
from meritnas.cli.newer_version import tell_newer_version
from meritnas.cli.print_result import print_result
from meritnas.cli.progress.listener import Listener
from meritnas.cli.widths import parse_widths
from meritnas.errors import UsageError


def retrain(
    run: Annotated[
        str,
        typer.Argument(
            metavar="RUN|DATA",
            help="The folder that a search wrote; or data, to train a given network on it.",
            callback=tell_newer_version,
        ),
    ],
    architecture: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Another network of the same space, such as 32-144-24, a cell of NAS-Bench-201 "
            "or a genotype of DARTS; it must keep a run's limits.",
        ),
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the data.", show_default="as before")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(help="How often it is trained.", show_default="as before")
    ] = None,
    target: opt.Target = None,
    task: opt.Task = None,
    space: opt.SpaceName = None,
    preset: opt.Preset = None,
    layers: opt.Layers = None,
    widths: opt.Widths = None,
    channels: opt.Channels = None,
    cells: opt.Cells = None,
    stem: opt.Stem = None,
    level: opt.Level = None,
    vocabulary: opt.Vocabulary = None,
    window: opt.Window = None,
    width: opt.Width = None,
    nodes: opt.Nodes = None,
    predecessors: opt.Predecessors = None,
    length: opt.Length = None,
    steps: opt.Steps = None,
    operations: opt.Operations = None,
    shared: opt.Shared = None,
    unimodal_only: opt.UnimodalOnly = None,
    sparsity: opt.Sparsity = None,
    text_form: opt.TextForm = None,
    text_columns: opt.TextColumns = None,
    modalities: opt.Modalities = None,
    backbones: opt.Backbones = None,
    frozen_backbones: opt.FrozenBackbones = None,
    image_size: opt.ImageSize = None,
    batch_size: opt.BatchSize = None,
    learning_rate: opt.LearningRate = None,
    weight_decay: opt.WeightDecay = None,
    dropout: opt.Dropout = None,
    auxiliary: opt.Auxiliary = None,
    cutout: opt.Cutout = None,
    seed: opt.Seed = None,
    device: opt.Device = None,
    threads: opt.Threads = None,
    out: opt.Out = None,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Train a run's network anew: for longer, more often, or another architecture.

    The new network and its scores replace the old ones. With data instead of a run, train the
    architecture that is given on that data, into a new run.
    """
    asked = {name: value for name, value in locals().items() if value is not None}
    for name in ("run", "quiet", "as_json"):
        asked.pop(name, None)
    is_run = (Path(run).expanduser() / "config.json").is_file()
    listener = Listener(quiet=quiet, run=Path(run) if is_run else None)
    with plain_outcome(lambda: _way_on(listener.run, is_run=is_run)):
        with listener:
            summary = _again(run, asked, listener) if is_run else _given(run, asked, listener)
        print_result(summary, as_json=as_json)


def _again(run: str, asked: dict[str, Any], listener: Listener) -> dict[str, Any]:
    others = sorted(set(asked) - {"architecture", "epochs", "seeds"})
    if others:
        flags = ", ".join("--" + name.replace("_", "-") for name in others)
        raise UsageError(f"a run is retrained with its own settings; leave out {flags}")

    from meritnas import api  # here, so that --help does not wait for torch

    return api.retrain(run, **asked, listen=listener).summary


def _given(data: str, asked: dict[str, Any], listener: Listener) -> dict[str, Any]:
    if "architecture" not in asked:
        raise UsageError(
            f"{data} is no run; to train a network on data, name it with --architecture (and its "
            "--space), or find one with: meritnas search"
        )
    if "widths" in asked:
        asked["widths"] = parse_widths(asked["widths"])
    asked |= modality_arguments(asked)

    from meritnas import api

    return api.train(data, **asked, listen=listener).summary


def _way_on(run: Path | None, *, is_run: bool) -> str:
    if is_run:
        return "the same command goes on where it was"
    return f"continue with: {resume_command(run)}" if run else "nothing was saved yet"
