"""The front door for Python: search, train, resume, retrain, explain."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, Unpack

import numpy as np
import pandas as pd

from meritnas.data.modalities.noise import Noise
from meritnas.explanation import features as by_feature
from meritnas.explanation import modalities as by_modality
from meritnas.explanation.features import FeatureExplanation
from meritnas.explanation.modalities import ModalityExplanation
from meritnas.explanation.network import NetworkExplanation, explain_run
from meritnas.families.family import Family
from meritnas.families.own import asked_space
from meritnas.plugins import Trusted
from meritnas.progress.heard import heard, nobody
from meritnas.report.charts.modality_figure import modality_file
from meritnas.report.page.page import report_at_end
from meritnas.result import SearchResult, ended, is_complete, result_of
from meritnas.run import stages
from meritnas.run.asked_race import asked_race
from meritnas.run.begin import begin, check_family, given_architecture, new_store
from meritnas.run.choice import Listener
from meritnas.run.job import Job
from meritnas.settings.checks import check_arguments
from meritnas.settings.limits import Limits, MoreLimits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.settings.training import Retraining, Training
from meritnas.store.checked_path import checked_path, out_path
from meritnas.store.run_store import RunStore
from meritnas.tasks.hire import hired

Images: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Images [n, h, w] or [n, h, w, channels], and their labels [n]."""

Given: TypeAlias = str | Path | pd.DataFrame | Images | Mapping[str, Any]
Space: TypeAlias = str | SpaceSpec | Family | Callable[..., Any]
"""A name, a spec, a space that was built, a build function, a module with choices."""


def search(
    data: Given,
    target: str | None = None,
    *,
    max_params: int | None = None,
    max_flops: int | None = None,
    max_size_kb: float | None = None,
    max_latency_ms: float | None = None,
    space: Space | None = None,
    strategy: str | StrategySpec | None = None,
    preset: Literal["quick", "paper"] | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    pareto: bool = False,
    reading: Any = None,
    training: Training | None = None,
    retraining: Retraining | None = None,
    seed: int = 0,
    workers: int = 1,
    out: str | Path | None = None,
    run: RunOptions | None = None,
    listen: Listener | None = None,
    **more: Unpack[MoreLimits],
) -> SearchResult:
    """Find a network for your data that keeps the limits, and train it.

    What is left at None has a default that suits the data.

    Args:
        data: a bundled name; a table (CSV, TSV, Parquet, gz, or a data frame); images (a folder
            with a folder for each class, npz, idx, CIFAR's files, or a pair of arrays); with the
            space "recurrent" a text (a file, or a folder with train, valid and test files); with
            the space "fusion" several modalities (an npz with an array for each, a dict with an
            array or a data frame for each, or a table with groups of columns).
        target: the column to predict; images have their classes.
        max_params: the most parameters the network may have, embeddings included.
        max_flops: the most multiply-adds a row or an image may take.
        max_size_kb: the most kilobytes (of 1,000 bytes) its file of weights may have.
        max_latency_ms: the most milliseconds a row may take here, as the sum over parts that
            are timed before the search.
        space: one of `meritnas list spaces`, a spec with its options such as `Darts(cells=8)`, a
            `tabular_space(...)` and the like whose inputs and outputs fit the data, or what makes
            networks of your own: a function `build(pick, inputs, outputs)`, or a torch module with
            `meritnas.nn.Choice` inside.
        strategy: one of `meritnas list strategies`, or a spec such as `Shapley(permutations=20)`.
        preset: "quick", minutes on two cores, or "paper", as published.
        epochs: passes of the supernet over the training part.
        minutes: time for everything from this call on instead; the number of steps is fixed once
            measured, and what is left after the planned trainings goes into more of them.
        pareto: also find and train networks for a ladder of smaller limits on parameters.
        reading: how the data is read: `TableReading`, `ImageReading`, `TextReading` or
            `ModalityReading`.
        training: how weights are trained.
        retraining: how networks are trained alone, after the search.
        seed: same seed, same machine, same threads: same result.
        workers: how many networks the search trains at a time, each on a batch of its own, in a
            process each where there are cores; another number, another result.
        out: the run's folder; None for a new one under `runs`.
        run: device and threads, and who does trainings that do not depend on each other.
        listen: called with every event; None for a progress bar in a notebook or on a terminal.
        more: `max_peak_kb`, the most kilobytes of activations that one row, image or word may
            take at any moment, executed in order. `size_of`, the file that `max_size_kb` is
            about: "float32", its weights as they are, or "int8", the file of 8-bit weights that
            `export` writes with `quantize="int8"`. `max_params_paper`, the most parameters as the
            space's paper counts: without embeddings (tables), with dead operations (the space
            "nasbench201"); and `max_flops_paper`, the most multiply-adds as it counts: with dead
            operations (the space "nasbench201").
    """
    begun = time.perf_counter()
    check_arguments(search, target=target, listen=listen)
    for name in more.keys() - MoreLimits.__optional_keys__:
        raise TypeError(f"search() got an unexpected keyword argument '{name}'")
    request = Request(
        space=asked_space(space),
        strategy=strategy,
        preset=preset,
        epochs=epochs,
        minutes=minutes,
        pareto=pareto,
        seed=seed,
        workers=workers,
        limits=Limits(max_params, max_flops, max_size_kb, max_latency_ms, **more),
        reading=reading,
        training=Training() if training is None else training,
        retraining=Retraining() if retraining is None else retraining,
        run=RunOptions() if run is None else run,
    )
    family = space if isinstance(space, Family) else None
    with heard(listen) as hears:
        return search_request(data, target, request, out, hears, family, begun)


def search_request(
    data: Given,
    target: str | None,
    request: Request,
    out: str | Path | None,
    listen: Listener = nobody,
    family: Family | None = None,
    begun: float | None = None,
) -> SearchResult:
    """A search by what a request asks for.

    Where a built space was given, the data must fit it. Minutes count from `begun`, an instant of
    `time.perf_counter`, or from now.
    """
    begun = time.perf_counter() if begun is None else begun
    folder = None if out is None else out_path(out)
    job, config = begin(data, target, request, begun=begun)
    if family is not None:
        check_family(family, job)
    running, planning = job.planned_search()
    with hired(request.run) as crew:
        job = replace(job, crew=crew)
        with new_store(job, config, folder, job.settings.strategy.name) as store:
            stages.start(job, store, listen, running, planning)
            return ended(job, store)


def resume(
    run: str | Path,
    data: Any = None,
    listen: Listener | None = None,
    trust: Trusted = (),
    executor: Executor | None = None,
) -> SearchResult:
    """Continue an interrupted search to the result it would have had without the interruption.

    Args:
        run: its folder.
        data: the data frame or the arrays, if the search was started with them.
        listen: called with every new event; None as for `search`.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
        executor: who does trainings that do not depend on each other; with none, this process.
    """
    check_arguments(resume, listen=listen, executor=executor)
    finished = RunStore.open(checked_path("run", run))
    if is_complete(finished):
        return result_of(Job.reopen(finished, data, trust), finished)
    own = hired(RunOptions(executor=executor))
    with heard(listen) as hears, own as crew, RunStore.take(finished.folder) as store:
        job = replace(Job.reopen(store, data, trust), crew=crew)
        stages.resume(job, store, hears)
        return ended(job, store)


def retrain(
    run: str | Path,
    *,
    architecture: str | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    data: Any = None,
    listen: Listener | None = None,
    trust: Trusted = (),
    executor: Executor | None = None,
) -> SearchResult:
    """Train a run's favourites anew, for longer, with other seeds, or another architecture.

    Args:
        run: its folder; the new network and scores replace the old ones.
        architecture: the text of an architecture of the same space, to train that one instead; it
            must keep the limits.
        epochs: None for as many as the search trained it for.
        seeds: None for as many as the search used.
        data: the data frame or the arrays, if the search was started with them.
        listen: called with every epoch; None as for `search`.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
        executor: who does trainings that do not depend on each other; with none, this process.
    """
    check_arguments(retrain, architecture=architecture, listen=listen, executor=executor)
    Retraining(epochs=epochs, seeds=seeds)  # which complains about what is none
    folder = checked_path("run", run)
    own = hired(RunOptions(executor=executor))
    with heard(listen) as hears, own as crew, RunStore.take(folder) as store:
        job = replace(Job.reopen(store, data, trust), crew=crew)
        race = asked_race(job, store, architecture, epochs, seeds)
        stages.retrain(job, store, race, hears)
        return ended(job, store)


def explain(run: str | Path, data: Any = None, trust: Trusted = ()) -> NetworkExplanation:
    """Find out what each part of a run's network is worth, and what else was close.

    The run keeps the answer as credit.json, and as credit.csv, alternatives.csv and
    interactions.csv; of a table also what each column is worth, see `explain_features`.

    Args:
        run: its folder; a search that has ended.
        data: the data, if the search was started with data in memory.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
    """
    with RunStore.take(checked_path("run", run)) as store:
        job = Job.reopen(store, data, trust)
        found = explain_run(job, store)
        if job.prepared.kind.column_places(job.bundle.encoder):
            by_feature.explain_features(job, store, trust)
    report_at_end(store.folder)
    return found


def explain_features(run: str | Path, data: Any = None, trust: Trusted = ()) -> FeatureExplanation:
    """Find out what each column of a table is worth to a run's network; the run keeps it.

    A column is worth what the score on test rows loses when its values are mixed up among them.
    The run keeps the answer as features.json and features.csv.

    Args:
        run: its folder; a run on a table that has ended.
        data: the data frame, if the search was started with one.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
    """
    with RunStore.take(checked_path("run", run)) as store:
        found = by_feature.explain_features(Job.reopen(store, data, trust), store, trust)
    report_at_end(store.folder)
    return found


def explain_modalities(
    run: str | Path,
    noise: Noise | Sequence[Noise] = (),
    data: Any = None,
    seed: int = 0,
    trust: Trusted = (),
) -> ModalityExplanation:
    """Find out what a run's network makes of its modalities; the run keeps table and figure.

    Scores under noise that were found earlier for the same network stay, unless found anew.

    Args:
        run: its folder; a search with the space `fusion` that has ended.
        noise: a kind of noise to try, or several: gaussian, shot, impulse, speckle.
        data: the data, if the search was started with data in memory.
        seed: of noise and intervals.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
    """
    with RunStore.take(checked_path("run", run)) as store:
        found = by_modality.explain_modalities(store, noise, data, seed, trust)
        plain = found.to_json()
        drawn = modality_file(plain["modalities"], plain["disturbed"], found.metric)
        store.write_text(by_modality.FIGURE, drawn)
    report_at_end(store.folder)
    return found


def train(
    data: Given,
    target: str | None = None,
    *,
    architecture: str,
    space: Space | None = None,
    preset: Literal["quick", "paper"] | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    reading: Any = None,
    training: Training | None = None,
    retraining: Retraining | None = None,
    seed: int = 0,
    out: str | Path | None = None,
    run: RunOptions | None = None,
    listen: Listener | None = None,
) -> SearchResult:
    """Train one architecture on any data, without a search.

    Everything is as in `search`, and so is the run's folder; `test` of the result is the mean over
    the seeds, `test_best` of its summary that of the seed with the best validation loss.

    Args:
        data: as for `search`.
        target: the column to predict; images have their classes.
        architecture: its text: `32-144-24`, `|nor_conv_3x3~0|+...`, `Genotype(...)`.
        space: what it is an architecture of; sizes that are left open are as the text has them.
        preset: "quick" or "paper".
        epochs: passes over the training part.
        seeds: how often it is trained.
        reading: how the data is read, as for `search`.
        training: how weights are trained.
        retraining: dropout and averaging; its epochs and seeds, unless these are given here.
        seed: where all randomness comes from.
        out: the run's folder; None for a new one under `runs`.
        run: device and threads, and who does trainings that do not depend on each other.
        listen: called with every event; None as for `search`.
    """
    check_arguments(
        train, target=target, architecture=architecture, retraining=retraining, listen=listen
    )
    asked = Retraining() if retraining is None else retraining
    length: dict[str, Any] = {"epochs": epochs, "seeds": seeds}
    request = Request(
        space=asked_space(space),
        preset=preset,
        seed=seed,
        reading=reading,
        training=Training() if training is None else training,
        retraining=replace(asked, **{n: v for n, v in length.items() if v is not None}),
        run=RunOptions() if run is None else run,
    )
    family = space if isinstance(space, Family) else None
    with heard(listen) as hears:
        return train_request(data, target, architecture, request, out, hears, family)


def train_request(
    data: Given,
    target: str | None,
    architecture: str,
    request: Request,
    out: str | Path | None,
    listen: Listener = nobody,
    family: Family | None = None,
) -> SearchResult:
    """A training by what a request asks for; see `search_request`."""
    folder = None if out is None else out_path(out)
    alone = replace(request, retraining=replace(request.retraining, plain=False))
    job, config = begin(data, target, alone, architecture)
    if family is not None:
        check_family(family, job)
    chosen = given_architecture(job.ground.family, architecture)
    with hired(request.run) as crew:
        job = replace(job, crew=crew)
        with new_store(job, config, folder, stages.GIVEN) as store:
            stages.start_given(job, chosen, store, listen)
            return ended(job, store)
