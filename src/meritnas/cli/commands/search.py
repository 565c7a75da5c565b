from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from meritnas.cli import options as opt
from meritnas.cli.exit_codes import plain_outcome
from meritnas.cli.live import LivePage
from meritnas.cli.messages import resume_command, say
from meritnas.cli.modalities import modality_arguments
from meritnas.cli.print_result import print_result
from meritnas.cli.progress.listener import Listener
from meritnas.cli.widths import parse_widths
from meritnas.errors import UsageError

_FLAGS = {
    "data": "DATA",
    "modalities": "--modality",
    "backbones": "--backbone",
    "frozen_backbones": "--frozen-backbone",
}
"""What users wrote where it is not the name."""

_STRATEGY_OPTIONS = (
    "sampling",
    "mc_samples",
    "final",
    "policy_rate",
    "samples",
    "form",
    "edge_normalisation",
    "beta",
    "weight_draws",
    "baseline",
    "population",
    "tournament",
    "initial",
    "estimator",
    "permutations",
    "truncation",
    "momentum",
    "step",
    "normalisation",
    "variant",
    "antithetic",
    "judged_rows",
    "confidence",
    "exploration",
    "judged_by",
    "memory",
    "normal_samples",
    "sparse_samples",
    "gradient_share",
    "grouped",
    "proportional",
    "both",
)


def search(
    data: opt.Data = None,
    target: opt.Target = None,
    max_params: opt.MaxParams = None,
    max_flops: opt.MaxFlops = None,
    max_size_kb: opt.MaxSizeKb = None,
    max_latency_ms: opt.MaxLatencyMs = None,
    pareto: opt.Pareto = None,
    strategy: opt.StrategyName = None,
    task: opt.Task = None,
    space: opt.SpaceName = None,
    preset: opt.Preset = None,
    layers: opt.Layers = None,
    widths: opt.Widths = None,
    embedding: opt.Embedding = None,
    channels: opt.Channels = None,
    cells: opt.Cells = None,
    zero: opt.Zero = None,
    stem: opt.Stem = None,
    supernet_channels: opt.SupernetChannels = None,
    supernet_cells: opt.SupernetCells = None,
    partial_channels: opt.PartialChannels = None,
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
    new_inputs: opt.NewInputs = None,
    sparsity: opt.Sparsity = None,
    text_form: opt.TextForm = None,
    text_columns: opt.TextColumns = None,
    modalities: opt.Modalities = None,
    backbones: opt.Backbones = None,
    frozen_backbones: opt.FrozenBackbones = None,
    image_size: opt.ImageSize = None,
    crop: opt.Crop = None,
    flip: opt.Flip = None,
    cutout: opt.Cutout = None,
    auxiliary: opt.Auxiliary = None,
    epochs: opt.Epochs = None,
    minutes: opt.Minutes = None,
    warmup: opt.Warmup = None,
    batch_size: opt.BatchSize = None,
    learning_rate: opt.LearningRate = None,
    optimizer: opt.Optimizer = None,
    schedule: opt.Schedule = None,
    weight_decay: opt.WeightDecay = None,
    clip: opt.Clip = None,
    dropout: opt.Dropout = None,
    averaging: opt.Averaging = None,
    scaling: opt.Scaling = None,
    class_weight: opt.ClassWeight = None,
    retrain_epochs: opt.RetrainEpochs = None,
    retrain_seeds: opt.RetrainSeeds = None,
    finalists: opt.Finalists = None,
    sampling: opt.Sampling = None,
    mc_samples: opt.McSamples = None,
    final: opt.Final = None,
    policy_rate: opt.PolicyRate = None,
    samples: opt.Samples = None,
    form: opt.Form = None,
    edge_normalisation: opt.EdgeNormalisation = None,
    beta: opt.Beta = None,
    weight_draws: opt.WeightDraws = None,
    baseline: opt.Baseline = None,
    population: opt.Population = None,
    tournament: opt.Tournament = None,
    initial: opt.Initial = None,
    estimator: opt.Estimator = None,
    permutations: opt.Permutations = None,
    truncation: opt.Truncation = None,
    momentum: opt.Momentum = None,
    step: opt.Step = None,
    normalisation: opt.Normalisation = None,
    variant: opt.Variant = None,
    antithetic: opt.Antithetic = None,
    judged_rows: opt.JudgedRows = None,
    confidence: opt.Confidence = None,
    exploration: opt.Exploration = None,
    judged_by: opt.JudgedBy = None,
    memory: opt.Memory = None,
    normal_samples: opt.NormalSamples = None,
    sparse_samples: opt.SparseSamples = None,
    gradient_share: opt.GradientShare = None,
    grouped: opt.Grouped = None,
    proportional: opt.Proportional = None,
    both: opt.Both = None,
    seed: opt.Seed = None,
    device: opt.Device = None,
    threads: opt.Threads = None,
    skip_bad_rows: opt.SkipBadRows = None,
    out: opt.Out = None,
    resume: opt.Resume = None,
    live: opt.Live = False,
    live_port: opt.LivePort = None,
    tensorboard: opt.TensorBoard = False,
    quiet: opt.Quiet = False,
    as_json: opt.AsJson = False,
) -> None:
    """Find the best network for your data within your limits, and train it.

    For example: meritnas search sales.csv --target churn --max-params 20000

    Or: meritnas search photos/ --space darts --max-params 400000

    Or: meritnas search book.txt --space recurrent

    Or: meritnas search views.npz --target label --space fusion
    """
    asked = {name: value for name, value in locals().items() if value is not None}
    for name in ("resume", "live", "live_port", "tensorboard", "quiet", "as_json"):
        asked.pop(name, None)
    listener = Listener(quiet=quiet, run=resume)
    with plain_outcome(lambda: _way_on(listener.run)):
        if tensorboard:
            from meritnas.report.tensorboard import TensorBoardEvents  # here: it takes torch

            listener.also(TensorBoardEvents())
        with _page(listener, live_port) if live or live_port else nullcontext(), listener:
            summary = _start(asked, listener) if resume is None else _go_on(resume, asked, listener)
        print_result(summary, as_json=as_json)


def _page(listener: Listener, port: int | None) -> LivePage:
    page = LivePage(lambda: listener.run, port or 0)
    say(f"the search as it goes: {page.address}")
    return page


def _start(asked: dict[str, Any], listener: Listener) -> dict[str, Any]:
    if "data" not in asked:
        raise UsageError(
            "name data to search on, for example: meritnas search sales.csv --target churn "
            "(or continue a run with --resume RUN)"
        )
    arguments = library_arguments(asked)

    from meritnas import api  # here, so that --help does not wait for torch

    return api.search(**arguments, listen=listener).summary


def _go_on(run: Path, asked: dict[str, Any], listener: Listener) -> dict[str, Any]:
    if asked:
        names = ", ".join(_flag(name) for name in asked)
        raise UsageError(
            f"--resume continues a run with the settings it was started with; leave out {names}"
        )

    from meritnas import api

    return api.resume(run, listen=listener).summary


def library_arguments(asked: dict[str, Any]) -> dict[str, Any]:
    """What users gave, by the names of `meritnas.search`; the library has the defaults."""
    own = {name: value for name, value in asked.items() if name in _STRATEGY_OPTIONS}
    arguments = {name: value for name, value in asked.items() if name not in own}
    if "widths" in asked:
        rows = arguments["widths"] = parse_widths(asked["widths"])
        if isinstance(rows[0], list):
            arguments.setdefault("layers", len(rows))
    arguments |= modality_arguments(asked)
    return {**arguments, "strategy_options": own}


def _flag(name: str) -> str:
    return _FLAGS.get(name, "--" + name.replace("_", "-"))


def _way_on(run: Path | None) -> str:
    return f"continue with: {resume_command(run)}" if run else "nothing was saved yet"
