from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from meritnas.data.bundle import outline_table
from meritnas.data.source import load_source
from meritnas.errors import UsageError, whole_number
from meritnas.families.family import fine_limits
from meritnas.families.tabular import PAPER_WIDTHS, TabularSpace
from meritnas.job import Job, Listener, favourites_of, make_config, make_settings, start
from meritnas.result import SearchResult
from meritnas.search.store import RunStore


def nobody(event: dict[str, Any]) -> None:
    """The listener that does not listen."""
    del event


def search(
    data: str | Path | pd.DataFrame,
    target: str | None = None,
    *,
    space: str | TabularSpace = "tabular",
    strategy: str = "tabnas",
    max_params: int | None = None,
    max_flops: int | None = None,
    max_size_kb: float | None = None,
    max_latency_ms: float | None = None,
    pareto: bool = False,
    layers: int = 3,
    widths: Sequence[int] | Sequence[Sequence[int]] = PAPER_WIDTHS,
    embedding: int | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    batch_size: int | None = None,
    learning_rate: float = 0.01,
    optimizer: Literal["adam", "sgd"] = "adam",
    schedule: Literal["cosine", "constant"] = "cosine",
    weight_decay: float = 0.3,
    dropout: float | None = None,
    averaging: float = 0.99,
    scaling: Literal["auto", "standard", "quantile"] = "auto",
    class_weight: Literal["balanced"] | None = None,
    retrain_epochs: int | None = None,
    retrain_seeds: int = 3,
    finalists: int = 3,
    strategy_options: Mapping[str, Any] | None = None,
    task: Literal["classification", "regression"] | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    skip_bad_rows: bool = False,
    out: str | Path | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Find a network for a table that keeps the limits, and train it.

    Args:
        data: a bundled name, a file (CSV, TSV, Parquet, gz), or a data frame.
        target: the column to predict.
        space: "tabular", or a `tabular_space(...)` whose inputs and outputs fit the data.
        strategy: one of `meritnas list strategies`.
        max_params: the most parameters the network may have, embeddings included.
        max_flops: the most multiply-adds a row may take.
        max_size_kb: the most kilobytes (of 1,000 bytes) its file of weights may have.
        max_latency_ms: the most milliseconds a row may take here, as the sum over layers that
            are timed before the search.
        pareto: also find and train networks for a ladder of smaller limits on parameters.
        layers: hidden layers, where `space` is a name.
        widths: what each layer chooses from, where `space` is a name.
        embedding: the width of every category's embedding; None for a rule by cardinality.
        epochs: passes of the supernet over the training part (default 60, more on small tables).
        minutes: time for everything instead; the number of steps is fixed once measured.
        batch_size: None for a size that suits the number of rows.
        learning_rate: of the weights.
        optimizer: of the weights.
        schedule: of the learning rate.
        weight_decay: how fast matrices shrink, apart from the gradient.
        dropout: of a network trained alone; None to try 0 and 0.1.
        averaging: decay of the moving average of weights that such a network keeps; 0 for none.
        scaling: of numbers; "auto" tries both and takes what the validation rows favour.
        class_weight: "balanced" for classes that count alike however many rows they have.
        retrain_epochs: passes of a network trained alone (default 40, more on small tables).
        retrain_seeds: how often the winner is trained from scratch, for the spread.
        finalists: how many of the search's favourites are trained from scratch.
        strategy_options: by the strategy's own names, `{"final": "mode"}`.
        task: to settle whether the target is a class or a number.
        seed: same seed, same machine, same threads: same result.
        device: "cpu", "cuda", ...
        threads: CPU threads; None for one, or torch's default where batches are large.
        skip_bad_rows: leave out rows of a text file that have too many fields.
        out: the run's folder; None for a new one under `runs`.
        listen: called with every event.
    """
    source = load_source(data, target, skip_bad_rows)
    outline = outline_table(source, whole_number("seed", seed, 0), task, class_weight)
    given = space if isinstance(space, TabularSpace) else None
    settings = make_settings(
        len(outline.split.train),
        source.frame.shape[1] - 1,
        space=space if isinstance(space, str) else "tabular",
        strategy=strategy,
        strategy_options=dict(strategy_options or {}),
        limits={
            "params": max_params,
            "flops": max_flops,
            **fine_limits(max_size_kb, max_latency_ms),
        },
        layers=len(given.widths) if given else layers,
        widths=given.widths if given else widths,
        embedding=given.inputs.embedding if given else embedding,
        widest_embedding=given.inputs.widest if given else None,
        epochs=epochs,
        minutes=minutes,
        recipe={
            "optimizer": optimizer,
            "learning_rate": learning_rate,
            "schedule": schedule,
            "batch_size": batch_size,
            "weight_decay": weight_decay,
            "dropout": dropout,
            "averaging": averaging,
        },
        retrain_epochs=retrain_epochs,
        retrain_seeds=retrain_seeds,
        finalists=finalists,
        seed=seed,
        device=device,
        threads=threads,
        task=task,
        scaling=scaling,
        class_weight=class_weight,
        pareto=pareto,
    )
    job = Job.make(settings, source, outline)
    if given and given != job.ground.family:
        raise UsageError(
            f"the space takes {given.inputs} and gives {given.outputs} outputs, but the data need "
            f"{job.ground.family}; build it with tabular_space({job.ground.family.inputs}, ...)"
        )
    job.new_search(None, 40)  # complains about what does not fit together before anything exists
    folder = Path(out) if out is not None else _free_folder(source.name, strategy)
    config = make_config(settings, source, skip_bad_rows=skip_bad_rows)
    del source  # the encoded rows are all that is needed from here on
    return start(job, RunStore.create(folder, config), listen)


def resume(
    run: str | Path,
    data: pd.DataFrame | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Continue an interrupted search to the result it would have had without the interruption.

    Args:
        run: its folder.
        data: the data frame, if the search was started with one.
        listen: called with every new event.
    """
    store = RunStore.open(Path(run))
    job = Job.reopen(store, data)
    return job.finish(store, listen)


def retrain(
    run: str | Path,
    *,
    architecture: str | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    data: pd.DataFrame | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Train a run's favourites anew, for longer, with other seeds, or another architecture.

    Args:
        run: its folder; the new network and scores replace the old ones.
        architecture: the text of an architecture of the same space, to train that one instead; it
            must keep the limits.
        epochs: None for as many as the search trained it for.
        seeds: None for as many as the search used.
        data: the data frame, if the search was started with one.
        listen: called with every epoch.
    """
    store = RunStore.open(Path(run))
    job = Job.reopen(store, data)
    family = job.ground.family
    chosen = family.parse(architecture or favourites_of(store)[0])
    if not job.ground.feasible.admits(chosen):
        costs = ", ".join(f"{n} {family.cost(chosen, n):,}" for n in job.settings.limits)
        raise UsageError(
            f"{chosen} breaks the run's limits ({costs}; limits "
            f"{dict(job.settings.limits)}); choose a smaller architecture"
        )
    count = job.settings.retrain_seeds if seeds is None else seeds
    length = epochs if epochs is not None else job.settings.retrain_epochs
    if length is None:
        length = int(store.read_json("plan.json").get("race", {}).get("epochs", 0))
    if min(count, length) < 1:
        raise UsageError(f"seeds and epochs must be at least 1, got {count} and {length}")
    job.announce(store, listen)
    store.remove("retrain.json")  # what it remembers would be taken for done
    finalists = favourites_of(store)[: job.settings.finalists]
    if architecture is not None:
        finalists = (chosen.text,)
    return job.train_chosen(store, job.race(finalists, count, length), listen)


def _free_folder(name: str, strategy: str) -> Path:
    number = 1
    while (folder := Path("runs") / f"{name}-{strategy}-{number}").exists():
        number += 1
    return folder
