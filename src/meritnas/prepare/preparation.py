"""All that is done to data before a search can begin, and the same again for a run there is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
from torch import Tensor

from meritnas.data.bundle import Bundle, Outline
from meritnas.data.files.plain_file import given_path
from meritnas.data.held_out import looked_at
from meritnas.data.kind import DataKind, Source
from meritnas.data.kinds import load_again
from meritnas.errors import DataError, StoreError, UsageError
from meritnas.families.family import Family
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.latency import terms_from_json, terms_to_json
from meritnas.families.part_times import KnownTimes
from meritnas.prepare.config import kind_of_run
from meritnas.prepare.encoding import Encoding, choose_encoding, encode
from meritnas.prepare.family import check_identity, make_family
from meritnas.prepare.given_teacher import GIVEN_NOTE, GivenTeacher, check_in_memory, given_answers
from meritnas.prepare.known_rows import write_known_rows
from meritnas.prepare.memory import check_weights
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.prepare.teacher_answers import check_answers, write_answers
from meritnas.settings.preset import Facts
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_folder import RESTORE
from meritnas.store.run_store import RunStore

_SOURCES = 3
"""Networks at random that are written as Python, to see whether those of a space can be."""


@dataclass(frozen=True)
class Preparation:
    """Data that is ready to be searched on.

    Attributes:
        kind: of data.
        name: the data's.
        bundle: the encoded rows or images.
        family: the networks that fit them.
        encoding: how numbers are scaled, and why.
        facts: what defaults follow from.
        notes: what a user should know about the data and the target.
        answers: to the training rows, of a teacher that was given; None without one.
        cells: of test rows, as people know them; None where there are none.
    """

    kind: DataKind
    name: str
    bundle: Bundle[Any]
    family: Family
    encoding: Encoding
    facts: Facts
    notes: tuple[str, ...] = ()
    answers: Tensor | None = None
    cells: pd.DataFrame | None = field(default=None, compare=False)

    def write(self, store: RunStore) -> None:
        """Keep what was measured and decided, so that it is done the same again."""
        if self.family.latency is not None:
            store.write_json("latency.json", terms_to_json(self.family.latency))
        if self.family.plain_latency is not None:
            store.write_json("plain-latency.json", terms_to_json(self.family.plain_latency))
        write_known_rows(store, self.bundle)
        if self.answers is not None:
            write_answers(store, self.answers)
        networks = dict(self.family.asked.identity)
        store.write_json(  # the last of these: what has it has the others
            "preprocessing.json",
            {
                **({"networks": networks} if networks else {}),
                "encoder": self.bundle.encoder.to_json(),
                "task": self.bundle.task.to_json(),
                "scaling": {"chosen": self.encoding.name, "losses": dict(self.encoding.losses)},
            },
        )


def prepare(
    settings: SearchSettings,
    kind: DataKind,
    source: Source,
    outline: Outline,
    teacher: GivenTeacher | None = None,
) -> Preparation:
    """Encode the data as the train rows say; tables may need trials for that.

    A teacher that was given is asked here, before anything takes long.
    """
    if settings.teacher is not None:
        check_in_memory(outline)
    given = teacher if settings.teacher == "given" else None
    answers = None if given is None else given_answers(given, source, outline)
    encoding = choose_encoding(settings, kind, source, outline)
    bundle, family = encode(settings, kind, source, outline, encoding.name)
    _check_limits(settings, kind, family)
    if "latency" in settings.limits:
        check_weights(family.largest(), "the largest network to be timed")
        table = settings.latency_table
        family = family.timed(settings.device if table is None else KnownTimes(given_path(table)))
    return Preparation(
        kind,
        source.name,
        bundle,
        family,
        encoding,
        kind.facts(source, outline, settings.reading),
        _notes(settings, kind, source, outline, bundle),
        answers,
        kind.cells(source, outline, looked_at(len(bundle.test))),
    )


def prepare_again(settings: SearchSettings, store: RunStore, data: Any) -> Preparation:
    """What was prepared for an existing run, from the same data as then.

    Args:
        settings: the run's.
        store: the run.
        data: what the run was given in memory; None for data that is elsewhere.
    """
    kind = store.decode("config.json", kind_of_run)
    source, outline = source_again(settings, store, data)
    if not store.has("preprocessing.json"):  # killed between the first two files of a run
        if settings.teacher == "given":
            check_answers(store)
        found = prepare(settings, kind, source, outline)
        found.write(store)
        return found
    encoding = store.decode(
        "preprocessing.json",
        lambda kept: Encoding(kept["scaling"]["chosen"], dict(kept["scaling"]["losses"])),
    )
    bundle, family = encode(settings, kind, source, outline, encoding.name)
    encoder, task = read_preprocessing(store)
    if (bundle.encoder, bundle.task) != (encoder, task):
        # An earlier version decided otherwise about some columns: as it did.
        again = kind.encode_by(encoder, source, outline) if bundle.task == task else None
        if again is None:
            raise DataError(
                f"this version of MeritNAS encodes {source.name} differently from the one that "
                f"made run {store.folder}; use that version or start a new run"
            )
        bundle, family = again.to(settings.device), make_family(settings, encoder, task)
    check_identity(store, family)
    if "latency" in settings.limits:
        terms = store.decode("latency.json", terms_from_json)
        if tuple(terms.sizes) != tuple(family.space.sizes):
            raise StoreError(
                f"latency.json in {store.folder} is about other decisions than this version of "
                "MeritNAS has for these networks; use the version that made the run, or start a "
                "new run"
            )
        family = family.with_latency(terms)
        if store.has("plain-latency.json"):
            plain = store.decode("plain-latency.json", terms_from_json)
            family = family.with_plain_latency(plain)
    facts = kind.facts(source, outline, settings.reading)
    notes = _notes(settings, kind, source, outline, bundle)
    cells = kind.cells(source, outline, looked_at(len(bundle.test)))
    return Preparation(kind, source.name, bundle, family, encoding, facts, notes, cells=cells)


def source_again(settings: SearchSettings, store: RunStore, data: Any) -> tuple[Any, Outline]:
    """The data of an existing run as they were found, and how their rows are split.

    Args:
        settings: the run's.
        store: the run.
        data: what the run was given in memory; None for data that is elsewhere.
    """
    kind = store.decode("config.json", kind_of_run)
    kept = store.decode("config.json", _kept_data)
    source = load_again(kept, data, str(store.folder), settings.reading)
    return source, kind.outline(source, settings.reading, settings.seed)


def _notes(
    settings: SearchSettings, kind: DataKind, source: Source, outline: Outline, bundle: Bundle[Any]
) -> tuple[str, ...]:
    """What a user should know about the data and the target."""
    remarks = kind.remarks(source, outline, bundle.encoder, settings.reading)
    limited = settings.space.remarks(settings.limits)
    given = (GIVEN_NOTE,) if settings.teacher == "given" else ()
    return (*source.notes, *outline.notes, *remarks, *limited, *given)


class _Kept(dict[str, Any]):
    """What a run says about its data; what it lacks is damage."""

    def __missing__(self, key: str) -> Any:
        raise StoreError(f"the run's config.json is damaged (its data lack '{key}'); {RESTORE}")


def _kept_data(config: Mapping[str, Any]) -> dict[str, Any]:
    """What a config.json says about the data, which must be enough to find it again."""
    found = _Kept(config["data"])
    if not isinstance(found["location"], str | None) or not isinstance(found["fingerprint"], str):
        raise TypeError("the data's location and fingerprint must be texts")
    return found


def _check_limits(settings: SearchSettings, kind: DataKind, family: Family) -> None:
    """Complain about a limit on what the networks of this space do not say."""
    for cost in settings.limits:
        if cost not in family.limitable:
            raise UsageError(
                f"the space '{settings.space.name}' has no limit on {cost}; for {kind.many} limit "
                f"{' or '.join(family.limitable)}"
            )
    if INT8_SIZE in settings.limits:
        _check_writable(family)


def _check_writable(family: Family) -> None:
    """Complain about a limit on a file in int8 that networks have not: it comes with Python."""
    try:
        for seed in range(_SOURCES):
            family.asked.source(family.random(seed))
    except UsageError as error:
        raise UsageError(
            f"size_of='int8' is about a file that stands beside networks as Python, and {error}; "
            "leave size_of out"
        ) from error
