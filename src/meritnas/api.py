from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from meritnas.data.bundle import make_bundle
from meritnas.data.source import load_source
from meritnas.errors import UsageError, whole_number
from meritnas.families.tabular import PAPER_WIDTHS, TabularSpace, tabular_space
from meritnas.job import (
    Job,
    Listener,
    check_device,
    chosen_by_search,
    make_config,
    write_preprocessing,
)
from meritnas.result import SearchResult
from meritnas.search.recipe import (
    SEARCH_STEPS,
    TRAIN_STEPS,
    TrainRecipe,
    default_batch_size,
    default_epochs,
    default_threads,
)
from meritnas.search.settings import SearchSettings
from meritnas.search.store import RunStore
from meritnas.strategy.recipes import check_strategy


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
    layers: int = 3,
    widths: Sequence[int] | Sequence[Sequence[int]] = PAPER_WIDTHS,
    embedding: int | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    batch_size: int | None = None,
    learning_rate: float = 0.002,
    optimizer: Literal["adam", "sgd"] = "adam",
    schedule: Literal["cosine", "constant"] = "cosine",
    retrain_epochs: int | None = None,
    retrain_seeds: int = 3,
    strategy_options: Mapping[str, Any] | None = None,
    task: Literal["classification", "regression"] | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
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
        layers: hidden layers, where `space` is a name.
        widths: what each layer chooses from, where `space` is a name.
        embedding: the width of every category's embedding; None for a rule by cardinality.
        epochs: passes of the supernet over the training part (default 60, more on small tables).
        minutes: time for everything instead; the number of steps is fixed once measured.
        batch_size: None for a size that suits the number of rows.
        learning_rate: of the weights.
        optimizer: of the weights.
        schedule: of the learning rate.
        retrain_epochs: passes of the found network over the training part (default likewise).
        retrain_seeds: how often it is trained from scratch, for the spread.
        strategy_options: by the strategy's own names, `{"final": "mode"}`.
        task: to settle whether the target is a class or a number.
        seed: same seed, same machine, same threads: same result.
        device: "cpu", "cuda", ...
        threads: CPU threads; None for one, or torch's default where batches are large.
        out: the run's folder; None for a new one under `runs`.
        listen: called with every event.
    """
    if epochs is not None and minutes is not None:
        raise UsageError("give either epochs or minutes, not both")
    source = load_source(data, target)
    options = dict(strategy_options or {})
    check_strategy(strategy, options)
    check_device(device)
    bundle = make_bundle(source, whole_number("seed", seed, 0), task)
    rows = len(bundle.train)
    batch = whole_number("batch_size", _default(batch_size, default_batch_size(rows)), 2)
    timed = minutes is not None
    asked = {"params": max_params, "flops": max_flops}
    given = space if isinstance(space, TabularSpace) else None
    settings = SearchSettings(
        space=space if isinstance(space, str) else "tabular",
        strategy=strategy,
        strategy_options=options,
        limits={name: most for name, most in asked.items() if most is not None},
        layers=len(given.widths) if given else layers,
        widths=given.widths if given else tabular_space(1, 1, layers, widths).widths,
        embedding=given.inputs.embedding if given else embedding,
        epochs=None if timed else _default(epochs, default_epochs(rows, batch, SEARCH_STEPS)),
        minutes=minutes,
        recipe=TrainRecipe(optimizer, learning_rate, schedule, batch),
        retrain_epochs=retrain_epochs
        if timed
        else _default(retrain_epochs, default_epochs(rows, batch, TRAIN_STEPS)),
        retrain_seeds=retrain_seeds,
        seed=seed,
        device=device,
        threads=_default(threads, default_threads(batch * bundle.train.inputs.shape[1])),
        task=task,
    )
    job = Job.make(settings, source, bundle.to(device))
    if given and given != job.ground.family:
        raise UsageError(
            f"the space takes {given.inputs} and gives {given.outputs} outputs, but the data need "
            f"{job.ground.family}; build it with tabular_space({job.ground.family.inputs}, ...)"  # type: ignore[attr-defined]
        )
    job.new_search(None, 40)  # complains about what does not fit together before anything exists
    folder = Path(out) if out is not None else _free_folder(source.name, strategy)
    store = RunStore.create(folder, make_config(settings, source))
    write_preprocessing(store, bundle)
    return job.finish(store, listen)


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
    """Train a run's network anew, for longer, with other seeds, or another architecture.

    Args:
        run: its folder; the new network and scores replace the old ones.
        architecture: the text of another architecture of the same space; it must keep the limits.
        epochs: None for as many as the search trained it for.
        seeds: None for as many as the search used.
        data: the data frame, if the search was started with one.
        listen: called with every epoch.
    """
    store = RunStore.open(Path(run))
    job = Job.reopen(store, data)
    family = job.ground.family
    chosen = family.parse(architecture) if architecture else chosen_by_search(store)
    if not job.ground.feasible.admits(chosen):
        costs = ", ".join(f"{n} {family.cost(chosen, n):,}" for n in job.settings.limits)
        raise UsageError(
            f"{chosen} breaks the run's limits ({costs}; limits "
            f"{dict(job.settings.limits)}); choose a smaller architecture"
        )
    count = _default(seeds, job.settings.retrain_seeds)
    length = epochs if epochs is not None else job.settings.retrain_epochs
    if length is None:
        length = int(store.read_json("plan.json").get("retrain_epochs", 0))
    if min(count, length) < 1:
        raise UsageError(f"seeds and epochs must be at least 1, got {count} and {length}")
    job.announce(store, listen)
    store.remove("retrain.json")  # what it remembers would be taken for done
    return job.train_chosen(store, chosen, length, count, listen)


def _default(value: int | None, default: int) -> int:
    # Not `value or default`: a 0 must reach the checks that complain about it.
    return default if value is None else value


def _free_folder(name: str, strategy: str) -> Path:
    number = 1
    while (folder := Path("runs") / f"{name}-{strategy}-{number}").exists():
        number += 1
    return folder
