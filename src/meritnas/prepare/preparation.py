from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import pandas as pd

from meritnas.data.bundle import AnyBundle, Outline, outline_table
from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.source import ImageData, ImageSource, load_images
from meritnas.data.modalities.arrays import Values
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.source import ModalityData, ModalitySource, load_modalities
from meritnas.data.tables.source import Source, load_source
from meritnas.data.texts.bundle import encode_text, outline_text
from meritnas.data.texts.source import TextSource, load_text
from meritnas.errors import DataError, UsageError
from meritnas.families.family import Family
from meritnas.families.latency import terms_from_json, terms_to_json
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.prepare.scaling import ScalingChoice, choose_scaling
from meritnas.prepare.setup import encode_within, make_family
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore

AnySource: TypeAlias = Source | ImageSource | TextSource | ModalitySource
AnyData: TypeAlias = pd.DataFrame | ImageData | Mapping[str, Values]
"""What a run can be given in memory: a table, images and labels, or arrays and tables by name."""


@dataclass(frozen=True)
class Preparation:
    """What is done to data before a search can begin.

    Attributes:
        name: the data's.
        bundle: the encoded rows or images.
        family: the networks that fit them.
        scaling: how numbers are scaled, and why.
        notes: what a user should know about the data and the target.
        seconds: how long all this took, which counts where time is limited.
    """

    name: str
    bundle: AnyBundle
    family: Family
    scaling: ScalingChoice
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    def write(self, store: RunStore) -> None:
        """Keep what was measured and decided, so that it is done the same again."""
        if self.family.latency is not None:
            store.write_json("latency.json", terms_to_json(self.family.latency))
        store.write_json(
            "preprocessing.json",
            {
                "encoder": self.bundle.encoder.to_json(),
                "task": self.bundle.task.to_json(),
                "scaling": {"chosen": self.scaling.scaling, "losses": self.scaling.losses},
            },
        )


def prepare(settings: SearchSettings, source: AnySource, outline: Outline) -> Preparation:
    """Encode the data as the train rows say; tables may need trials for that."""
    begun = time.perf_counter()
    if not isinstance(source, Source):
        scaling = ScalingChoice("standard", {})
    else:
        scaling = choose_scaling(settings, source, outline)
    bundle, family = _encoded(settings, source, outline, scaling)
    if "latency" in settings.limits:
        family = family.timed(settings.device)
    seconds = time.perf_counter() - begun
    notes = (*source.notes, *outline.notes)
    return Preparation(source.name, bundle, family, scaling, notes, seconds)


def prepare_again(settings: SearchSettings, store: RunStore, data: AnyData | None) -> Preparation:
    """What was prepared for an existing run, from the same data as then."""
    source = source_of(store, data)
    outline = outline_of(settings, source)
    if not store.has("preprocessing.json"):  # killed between the first two files of a run
        found = prepare(settings, source, outline)
        found.write(store)
        return found
    scaling = store.decode(
        "preprocessing.json",
        lambda kept: ScalingChoice(kept["scaling"]["chosen"], dict(kept["scaling"]["losses"])),
    )
    bundle, family = _encoded(settings, source, outline, scaling)
    if (bundle.encoder, bundle.task) != read_preprocessing(store):
        raise DataError(
            f"this version of MeritNAS encodes {source.name} differently from the one that "
            f"made run {store.folder}; use that version or start a new run"
        )
    if "latency" in settings.limits:
        family = family.with_latency(store.decode("latency.json", terms_from_json))
    return Preparation(source.name, bundle, family, scaling, (*source.notes, *outline.notes))


def _encoded(
    settings: SearchSettings, source: AnySource, outline: Outline, scaling: ScalingChoice
) -> tuple[AnyBundle, Family]:
    bundle: AnyBundle
    if isinstance(source, TextSource):
        text = settings.text
        assert text is not None
        columns = settings.recipe.batch_size
        bundle = encode_text(source, columns, text.window, text.vocabulary).to(settings.device)
    elif isinstance(source, ModalitySource):
        fusion = settings.fusion
        assert fusion is not None
        joined = encode_modalities(
            source, outline, fusion.text_form, fusion.text_columns, fusion.frozen_backbones
        )
        bundle = joined.to(settings.device)
    elif isinstance(source, ImageSource):
        bundle = encode_images(source, outline).to(settings.device)
    else:
        bundle = encode_within(settings, source, outline, scaling.scaling)
    return bundle, make_family(settings, bundle.encoder, bundle.task)


def outline_of(settings: SearchSettings, source: AnySource) -> Outline:
    """The task and the split that a run's settings give its data."""
    if isinstance(source, TextSource):
        return outline_text(source)
    if isinstance(source, ModalitySource):
        return outline_modalities(source, settings.seed, settings.task, settings.class_weight)
    if isinstance(source, ImageSource):
        return outline_images(source, settings.seed, settings.class_weight)
    return outline_table(source, settings.seed, settings.task, settings.class_weight)


def source_of(store: RunStore, data: AnyData | None) -> AnySource:
    """The run's data, as it was then."""
    kept = store.decode("config.json", lambda config: dict(config["data"]))
    location = kept["location"]
    if data is None and location is None:
        raise UsageError(
            f"run {store.folder} was started with data in memory; give it again: data=..."
        )
    source: AnySource
    given = location if data is None else data
    if kept.get("kind") == "text":
        if not isinstance(given, str):
            raise UsageError(f"run {store.folder} was made on a text; leave data out")
        source = load_text(given, kept["level"])
    elif kept.get("kind") == "modalities":
        source = load_modalities(_as_modalities(given, store), kept["target"], kept["modalities"])
    elif kept.get("kind") == "images":
        size = kept.get("image_size")
        source = load_images(_as_images(given, store), tuple(size) if size else None)
    else:
        source = load_source(_as_table(given, store), kept["target"], kept["skip_bad_rows"])
    if source.fingerprint != kept["fingerprint"]:
        raise DataError(
            f"{source.name} has changed since run {store.folder} was started, so it cannot go "
            "on to the same result; restore the data or start a new run"
        )
    return source


def _as_modalities(data: str | AnyData, store: RunStore) -> ModalityData:
    if isinstance(data, tuple):
        raise UsageError(f"run {store.folder} was made on several modalities; give those by name")
    return data


def _as_images(data: str | AnyData, store: RunStore) -> ImageData:
    if isinstance(data, pd.DataFrame | Mapping):
        raise UsageError(f"run {store.folder} was made on images, not on a table; give those")
    return data


def _as_table(data: str | AnyData, store: RunStore) -> str | pd.DataFrame:
    if not isinstance(data, str | pd.DataFrame):
        raise UsageError(f"run {store.folder} was made on a table, not on images; give that")
    return data
