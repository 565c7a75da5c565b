from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from torch import nn

from meritnas.data.images.bundle import outline_images
from meritnas.data.images.source import ImageData, ImageSource, is_image_data, load_images
from meritnas.data.modalities.arrays import Values
from meritnas.data.modalities.bundle import outline_modalities
from meritnas.data.modalities.source import ModalitySource, load_modalities
from meritnas.data.tables.bundle import outline_table
from meritnas.data.tables.source import Source, load_source
from meritnas.data.texts.bundle import outline_text
from meritnas.data.texts.source import TextSource, load_text
from meritnas.errors import UsageError, whole_number
from meritnas.explanation.network_credit import NetworkExplanation
from meritnas.families.catalogue import space_spec
from meritnas.families.darts.family import DartsSpace
from meritnas.families.family import Family, fine_limits
from meritnas.families.nasbench201.family import Nasbench201Space
from meritnas.families.tabular.family import TabularSpace
from meritnas.plugins import is_own
from meritnas.prepare.defaults import (
    TEXT_DEFAULTS,
    fusion_settings,
    image_settings,
    table_settings,
    text_settings,
)
from meritnas.prepare.preparation import AnyData, AnySource
from meritnas.run.job import Job, Listener, favourites_of, make_config, start, start_given
from meritnas.run.result import SearchResult
from meritnas.settings.settings import SearchSettings
from meritnas.space.space import HyphenText
from meritnas.store.run_store import RunStore

Images: TypeAlias = tuple[np.ndarray, np.ndarray]
"""Images [n, h, w] or [n, h, w, channels], and their labels [n]."""

CellFamily: TypeAlias = Nasbench201Space | DartsSpace
FUSION = "fusion"

Given: TypeAlias = str | Path | pd.DataFrame | Images | Mapping[str, Values]
Modalities: TypeAlias = Sequence[str] | Mapping[str, Sequence[str]]


def nobody(event: dict[str, Any]) -> None:
    """The listener that does not listen."""
    del event


def search(
    data: Given,
    target: str | None = None,
    *,
    space: str | TabularSpace | CellFamily | None = None,
    strategy: str | None = None,
    max_params: int | None = None,
    max_flops: int | None = None,
    max_size_kb: float | None = None,
    max_latency_ms: float | None = None,
    pareto: bool = False,
    preset: Literal["quick", "paper"] | None = None,
    layers: int | None = None,
    widths: Sequence[int] | Sequence[Sequence[int]] | None = None,
    embedding: int | None = None,
    channels: int | None = None,
    cells: int | None = None,
    zero: bool | None = None,
    stem: Literal["cifar", "imagenet"] | None = None,
    supernet_channels: int | None = None,
    supernet_cells: int | None = None,
    partial_channels: int | None = None,
    level: Literal["word", "character"] | None = None,
    vocabulary: int | None = None,
    window: int | None = None,
    width: int | None = None,
    nodes: int | None = None,
    predecessors: int | None = None,
    length: int | None = None,
    steps: int | None = None,
    operations: Literal["all", "normal", "sparse", "bm-nas"] | None = None,
    shared: bool | None = None,
    unimodal_only: bool | None = None,
    new_inputs: bool | None = None,
    sparsity: float | None = None,
    text_form: Literal["counted", "hashed"] | None = None,
    text_columns: int | None = None,
    backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
    frozen_backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
    modalities: Modalities | None = None,
    epochs: int | None = None,
    minutes: float | None = None,
    warmup: float | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    optimizer: Literal["adam", "sgd"] | None = None,
    schedule: Literal["cosine", "constant"] | None = None,
    weight_decay: float | None = None,
    clip: float | None = None,
    dropout: float | None = None,
    auxiliary: float | None = None,
    averaging: float | None = None,
    scaling: Literal["auto", "standard", "quantile"] | None = None,
    crop: int | None = None,
    flip: bool | None = None,
    cutout: int | None = None,
    class_weight: Literal["balanced"] | None = None,
    retrain_epochs: int | None = None,
    retrain_seeds: int | None = None,
    finalists: int | None = None,
    strategy_options: Mapping[str, Any] | None = None,
    task: Literal["classification", "regression"] | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    skip_bad_rows: bool = False,
    image_size: int | tuple[int, int] | None = None,
    out: str | Path | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Find a network for your data that keeps the limits, and train it.

    What is left at None has a default that suits the data: `TABLE_DEFAULTS`, or for images, texts
    and several modalities `IMAGE_DEFAULTS`, `TEXT_DEFAULTS` or `FUSION_DEFAULTS` and the preset.

    Args:
        data: a bundled name; a table (CSV, TSV, Parquet, gz, or a data frame); images (a folder
            with a folder for each class, npz, idx, CIFAR's files, or a pair of arrays); with the
            space "recurrent" a text (a file, or a folder with train, valid and test files); with
            the space "fusion" several modalities (an npz with an array for each, a dict with an
            array or a data frame for each, or a table with groups of columns).
        target: the column to predict; images have their classes.
        space: one of `meritnas list spaces`, or a `tabular_space(...)`, `nasbench201_space(...)`
            or `darts_space(...)` whose inputs and outputs fit the data.
        strategy: one of `meritnas list strategies`.
        max_params: the most parameters the network may have, embeddings included.
        max_flops: the most multiply-adds a row or an image may take.
        max_size_kb: the most kilobytes (of 1,000 bytes) its file of weights may have (tables).
        max_latency_ms: the most milliseconds a row may take here, as the sum over layers that
            are timed before the search (tables).
        pareto: also find and train networks for a ladder of smaller limits on parameters.
        preset: for images and texts: "quick", minutes on two cores, or "paper", as published.
        layers: hidden layers.
        widths: what each layer chooses from.
        embedding: the width of every category's embedding; None for a rule by cardinality.
        channels: of the first cells.
        cells: in each of three stages (`nasbench201`), or in all.
        zero: whether edges may be left out (`nasbench201`).
        stem: "imagenet" for large images: it divides their size by 8 (`darts`).
        supernet_channels: the same of the supernet, which may be smaller.
        supernet_cells: the same of the supernet.
        partial_channels: K of PC-DARTS: operations see 1/K of the supernet's channels.
        level: what a text is made of, "word" or "character".
        vocabulary: the most words that are told apart, the most frequent ones.
        window: words as far as gradients go back.
        width: of a language model's embeddings, state and nodes.
        nodes: of its cell.
        predecessors: 1 for one edge into each of these, None for all (`recurrent`).
        length: positions of every joined state (`fusion`).
        steps: inner steps of a fusion cell.
        operations: what they choose from: "all", "normal", "sparse" or "bm-nas" (`fusion`).
        shared: whether both inputs of a cell are one mixture while searching (`fusion`).
        unimodal_only: whether cells join features only, not what earlier cells gave (`fusion`).
        new_inputs: whether each cell must read a feature that no cell before it reads, as long as
            there is one (`fusion`).
        sparsity: lambda_1 of sparse operations (`fusion`).
        text_form: how texts become numbers, "counted" n-grams or "hashed" ones (`fusion`).
        text_columns: how many numbers (`fusion`).
        backbones: networks that read a modality first and are trained along, by its name: "conv",
            or a function or class in a module of its own that makes a torch Module (`fusion`).
        frozen_backbones: the same of networks that are not trained; their features are computed
            once and are what the search sees (`fusion`).
        modalities: the names of those to use, or for a table name -> columns (`fusion`).
        epochs: passes of the supernet over the training part.
        minutes: time for everything instead; the number of steps is fixed once measured.
        warmup: the part of the search in which only weights learn.
        batch_size: rows or images a step.
        learning_rate: of the weights.
        optimizer: of the weights.
        schedule: of the learning rate.
        weight_decay: how fast weights shrink.
        clip: the most that the norm of all gradients together may be.
        dropout: of a network trained alone; of edges, where it has cells.
        auxiliary: the weight of an auxiliary head's loss (`darts`).
        averaging: decay of the moving average of weights that such a network keeps; 0 for none.
        scaling: of numbers; "auto" tries both and takes what the validation rows favour.
        crop: training images are moved by up to so many pixels.
        flip: whether half of them are mirrored.
        cutout: the side of a square that is blanked in each.
        class_weight: "balanced" for classes that count alike however many rows they have.
        retrain_epochs: passes of a network trained alone.
        retrain_seeds: how often the winner is trained from scratch, for the spread.
        finalists: how many of the search's favourites are trained from scratch.
        strategy_options: by the strategy's own names, `{"final": "mode"}`.
        task: to settle whether the target is a class or a number.
        seed: same seed, same machine, same threads: same result.
        device: "cpu", "cuda", ...
        threads: CPU threads; None for one, or torch's default where there is much to compute.
        skip_bad_rows: leave out rows of a text file that have too many fields.
        image_size: pixels, or (height, width), that images are resized to.
        out: the run's folder; None for a new one under `runs`.
        listen: called with every event.
    """
    asked = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
    asked["limits"] = {
        "params": max_params,
        "flops": max_flops,
        **fine_limits(max_size_kb, max_latency_ms),
    }
    asked["strategy_options"] = dict(strategy_options or {})
    whole_number("seed", seed, 0)
    source = _load(data, target, asked)
    job = _job_on(source, asked)
    job.new_search(None, 40)  # complains about what does not fit together before anything exists
    store = _new_store(job.settings, source, asked)
    del source  # the encoded rows are all that is needed from here on
    return start(job, store, listen)


_NO_SETTINGS = {
    "data",
    "target",
    "max_params",
    "max_flops",
    "max_size_kb",
    "max_latency_ms",
    "listen",
}


def _load(data: Given, target: str | None, asked: Mapping[str, Any]) -> AnySource:
    """The table, the images, the text or the modalities that were meant."""
    space = asked.get("space")
    if space == "recurrent":
        return _text(data, target, asked)
    if space == FUSION or isinstance(data, Mapping):
        return _modalities(data, target, asked)
    if isinstance(space, str):
        cells = space_spec(space).data == "images" or (is_own(space) and is_image_data(data))
    else:
        cells = isinstance(space, CellFamily)
    if not isinstance(data, pd.DataFrame) and (cells or (space is None and is_image_data(data))):
        return _pictures(data, target, asked)
    if cells:
        raise UsageError("a table cannot be searched with a space for images; use tabular")
    if is_image_data(data):
        raise UsageError(
            "the space tabular is for tables, and these are images; use nasbench201 or darts"
        )
    if asked.get("image_size") is not None:
        raise UsageError("image_size is for images, and this is a table; leave it out")
    if isinstance(data, tuple):
        raise UsageError("a pair of arrays is taken for images; give a table as a data frame")
    return load_source(data, target, bool(asked.get("skip_bad_rows")))


def _pictures(data: ImageData, target: str | None, asked: Mapping[str, Any]) -> ImageSource:
    source = load_images(data, asked.get("image_size"))  # it says so if these are no images
    for name, value in (("target", target), ("task", asked.get("task"))):
        if value is not None:
            raise UsageError(f"{name} is for tables; images have their classes, leave it out")
    if asked.get("skip_bad_rows"):
        raise UsageError("skip_bad_rows is for tables; leave it out for images")
    return source


def _modalities(data: Given, target: str | None, asked: Mapping[str, Any]) -> ModalitySource:
    if isinstance(data, tuple):
        raise UsageError("the space fusion is for several modalities; give a dict of arrays")
    if asked.get("space") not in (None, FUSION):
        raise UsageError("arrays by name are several modalities; use the space fusion")
    for name in ("skip_bad_rows", "image_size"):
        if asked.get(name):
            raise UsageError(f"{name} is not for several modalities; leave it out")
    if target is None:
        raise UsageError("name the array or column to predict: target=... (--target on the line)")
    where = data if isinstance(data, pd.DataFrame | Mapping) else Path(data).expanduser()
    return load_modalities(where, target, asked.get("modalities"))


def _text(data: Given, target: str | None, asked: Mapping[str, Any]) -> TextSource:
    if not isinstance(data, str | Path):
        raise UsageError("the space recurrent is for texts; give the path of a file or folder")
    for name in ("task", "skip_bad_rows", "image_size"):
        if asked.get(name):
            raise UsageError(f"{name} is not for texts; leave it out")
    if target is not None:
        raise UsageError("target is for tables; a text's next word is what is predicted")
    return load_text(Path(data).expanduser(), asked.get("level") or TEXT_DEFAULTS["level"])


def _job_on(source: AnySource, asked: Mapping[str, Any]) -> Job:
    """The job that was asked for on this data."""
    given = asked.get("space")
    if isinstance(source, TextSource):
        outline = outline_text(source)
        settings = text_settings(len(source.train), asked)
    elif isinstance(source, ModalitySource):
        outline = outline_modalities(
            source, asked["seed"], asked.get("task"), asked.get("class_weight")
        )
        settings = fusion_settings(len(outline.split.train), len(source.views), asked)
    elif isinstance(source, ImageSource):
        outline = outline_images(source, asked["seed"], asked.get("class_weight"))
        height, width, channels = source.images.shape[1:]
        own = _cell_values(given) if isinstance(given, CellFamily) else {}
        settings = image_settings(
            len(outline.split.train), (channels, height, width), {**asked, **own}
        )
    else:
        outline = outline_table(source, asked["seed"], asked.get("task"), asked.get("class_weight"))
        own = _table_values(given) if isinstance(given, TabularSpace) else {}
        settings = table_settings(
            len(outline.split.train), source.frame.shape[1] - 1, {**asked, **own}
        )
    job = Job.make(settings, source, outline)
    if isinstance(given, Family) and given != job.ground.family:
        raise UsageError(
            f"the space {given} does not fit the data, which need {job.ground.family}; build it "
            "with the inputs and outputs of the data"
        )
    return job


def _table_values(given: TabularSpace) -> dict[str, Any]:
    spec = given.spec
    return {
        "space": spec.name,
        "layers": spec.layers,
        "widths": spec.widths,
        "embedding": spec.embedding,
        "widest_embedding": spec.widest,
    }


def _cell_values(given: CellFamily) -> dict[str, Any]:
    return {"space": given.spec.name, **given.spec.options()}


def _new_store(settings: SearchSettings, source: AnySource, asked: Mapping[str, Any]) -> RunStore:
    """The folder of a new run."""
    read: dict[str, Any] = {"skip_bad_rows": bool(asked.get("skip_bad_rows"))}
    if isinstance(source, TextSource):
        read = {}
    elif isinstance(source, ModalitySource):
        read = {"modalities": asked.get("modalities")}
    elif isinstance(source, ImageSource):
        # What they were resized to, however that was found.
        read = {"image_size": list(source.images.shape[1:3])}
    out = asked.get("out")
    folder = Path(out) if out is not None else _free_folder(source.name, settings.strategy)
    return RunStore.create(folder, make_config(settings, source, **read))


def resume(
    run: str | Path,
    data: AnyData | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Continue an interrupted search to the result it would have had without the interruption.

    Args:
        run: its folder.
        data: the data frame or the arrays, if the search was started with them.
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
    data: AnyData | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Train a run's favourites anew, for longer, with other seeds, or another architecture.

    Args:
        run: its folder; the new network and scores replace the old ones.
        architecture: the text of an architecture of the same space, to train that one instead; it
            must keep the limits.
        epochs: None for as many as the search trained it for.
        seeds: None for as many as the search used.
        data: the data frame or the arrays, if the search was started with them.
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


def explain(run: str | Path, data: AnyData | None = None) -> NetworkExplanation:
    """Find out what each part of a run's network is worth, and what else was close.

    The run keeps the answer as credit.json, and as credit.csv, alternatives.csv and
    interactions.csv.

    Args:
        run: its folder; a search that has ended.
        data: the data, if the search was started with data in memory.
    """
    store = RunStore.open(Path(run))
    return Job.reopen(store, data).explain(store)


def train(
    data: Given,
    target: str | None = None,
    *,
    architecture: str,
    space: str | TabularSpace | CellFamily | None = None,
    preset: Literal["quick", "paper"] | None = None,
    layers: int | None = None,
    widths: Sequence[int] | Sequence[Sequence[int]] | None = None,
    channels: int | None = None,
    cells: int | None = None,
    stem: Literal["cifar", "imagenet"] | None = None,
    level: Literal["word", "character"] | None = None,
    vocabulary: int | None = None,
    window: int | None = None,
    width: int | None = None,
    nodes: int | None = None,
    predecessors: int | None = None,
    length: int | None = None,
    steps: int | None = None,
    operations: Literal["all", "normal", "sparse", "bm-nas"] | None = None,
    shared: bool | None = None,
    unimodal_only: bool | None = None,
    sparsity: float | None = None,
    text_form: Literal["counted", "hashed"] | None = None,
    text_columns: int | None = None,
    backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
    frozen_backbones: Mapping[str, str | Callable[[], nn.Module]] | None = None,
    modalities: Modalities | None = None,
    epochs: int | None = None,
    seeds: int | None = None,
    batch_size: int | None = None,
    learning_rate: float | None = None,
    weight_decay: float | None = None,
    dropout: float | None = None,
    auxiliary: float | None = None,
    cutout: int | None = None,
    task: Literal["classification", "regression"] | None = None,
    seed: int = 0,
    device: str = "cpu",
    threads: int | None = None,
    image_size: int | tuple[int, int] | None = None,
    out: str | Path | None = None,
    listen: Listener = nobody,
) -> SearchResult:
    """Train one architecture on any data, without a search.

    Everything is as in `search`, and so is the run's folder; `test` of the result is the mean over
    the seeds, `test_best` of its summary that of the seed with the best validation loss.

    Args:
        data: as for `search`.
        target: the column to predict; images have their classes.
        architecture: its text: `32-144-24`, `|nor_conv_3x3~0|+...`, `Genotype(...)`.
        space: what it is an architecture of.
        preset: for images: "quick" or "paper".
        layers: hidden layers, by default as many as the architecture has.
        widths: what each layer may have, by default what the architecture has.
        channels: of the first cells.
        cells: in each of three stages (`nasbench201`), or in all.
        stem: "cifar" or "imagenet" (`darts`).
        level: what a text is made of, "word" or "character".
        vocabulary: the most words that are told apart.
        window: words as far as gradients go back.
        width: of a language model's embeddings, state and nodes.
        nodes: of its cell.
        predecessors: 1 for one edge into each of these (`recurrent`).
        length: positions of every joined state (`fusion`).
        steps: inner steps of a fusion cell.
        operations: what they choose from: "all", "normal", "sparse" or "bm-nas" (`fusion`).
        shared: whether both inputs of a cell are one mixture while searching (`fusion`).
        unimodal_only: whether cells join features only, not what earlier cells gave (`fusion`).
        sparsity: lambda_1 of sparse operations (`fusion`).
        text_form: how texts become numbers, "counted" n-grams or "hashed" ones (`fusion`).
        text_columns: how many numbers (`fusion`).
        backbones: networks that read a modality first and are trained along, by its name: "conv",
            or a function or class in a module of its own that makes a torch Module (`fusion`).
        frozen_backbones: the same of networks that are not trained; their features are computed
            once and are what the search sees (`fusion`).
        modalities: the names of those to use, or for a table name -> columns (`fusion`).
        epochs: passes over the training part.
        seeds: how often it is trained.
        batch_size: rows or images a step.
        learning_rate: of the weights.
        weight_decay: how fast weights shrink.
        dropout: share of units, or of edges, left out.
        auxiliary: the weight of an auxiliary head's loss (`darts`).
        cutout: the side of a square that is blanked in each image.
        task: to settle whether the target is a class or a number.
        seed: where all randomness comes from.
        device: "cpu", "cuda", ...
        threads: CPU threads.
        image_size: pixels, or (height, width), that images are resized to.
        out: the run's folder; None for a new one under `runs`.
        listen: called with every event.
    """
    asked = {name: value for name, value in locals().items() if name not in _NO_SETTINGS}
    asked |= {"limits": {}, "strategy_options": {}}
    asked["retrain_epochs"], asked["retrain_seeds"] = asked.pop("epochs"), asked.pop("seeds")
    source = _load(data, target, asked)
    if isinstance(source, Source) and space is None and layers is None and widths is None:
        asked["widths"] = [[_width(part)] for part in HyphenText().parse(architecture)]
        asked["layers"] = len(asked["widths"])
    if isinstance(source, ModalitySource):
        asked |= _fusion_sizes(architecture, asked)
    job = _job_on(source, asked)
    chosen = job.ground.family.parse(architecture)
    folder = asked["out"] or _free_folder(source.name, "given")
    store = _new_store(job.settings, source, {**asked, "out": folder})
    return start_given(job, chosen, store, listen)


def _fusion_sizes(architecture: str, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Cells and steps as the text has them, where nobody gave others; any inputs."""
    cells = architecture.split("+")
    sizes = {"cells": len(cells), "steps": len(cells[0].split(";"))}
    return {name: asked[name] or size for name, size in sizes.items()} | {"new_inputs": False}


def _width(text: str) -> int:
    if not text.isdigit():
        raise UsageError(
            f"an architecture for a table is written like 32-144-24, got '{text}' in it"
        )
    return int(text)


def _free_folder(name: str, strategy: str) -> Path:
    number, plain = 1, strategy.replace(":", "-")
    while (folder := Path("runs") / f"{name}-{plain}-{number}").exists():
        number += 1
    return folder
