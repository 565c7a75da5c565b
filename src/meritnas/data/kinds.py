"""All kinds of data, and which of them some data is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from meritnas.data.images.kind import IMAGES
from meritnas.data.kind import DataKind, Encoder, Source
from meritnas.data.modalities.kind import MODALITIES
from meritnas.data.tables.kind import TABLES
from meritnas.data.texts.kind import TEXTS
from meritnas.errors import DataError, UsageError

KINDS: tuple[DataKind, ...] = (TABLES, IMAGES, TEXTS, MODALITIES)
"""All that there are; what none of them recognises is a table."""


def kind_named(name: str) -> DataKind:
    """The kind of data that config.json has by this name."""
    found = next((kind for kind in KINDS if kind.name == name), None)
    if found is None:
        raise DataError(
            f"no kind of data '{name}'; there are {', '.join(kind.name for kind in KINDS)}"
        )
    return found


def kind_of(encoder: Encoder) -> DataKind:
    """The kind of data that an encoder is for."""
    return kind_named(encoder.kind)


def encoder_from_json(found: dict[str, Any]) -> Encoder:
    """The encoder of a preprocessing.json, whatever kind of data it is for."""
    stored = found.get("kind", "")
    kinds = {kind.stored: kind for kind in KINDS}
    return kinds[stored].encoder_from_json(found)


def recognise(data: Any, wanted: str | None) -> DataKind:
    """Which kind of data some data is.

    Args:
        data: as a user gave it.
        wanted: the kind of data that the chosen space is for; None if no space was chosen, or one
            that says nothing.

    Raises:
        UsageError: It cannot be of the kind that is wanted.
    """
    seen = next((kind for kind in KINDS if kind.recognises(data)), TABLES)
    found = seen if wanted is None else kind_named(wanted)
    if found is not MODALITIES and found is not TEXTS and seen is MODALITIES:
        raise UsageError("arrays by name are several modalities; use the space fusion")
    if found is TABLES and seen is IMAGES:
        raise UsageError(
            "the space tabular is for tables, and these are images; use convnet or nasbench201"
        )
    reason = found.impossible(data)
    if reason:
        raise UsageError(reason)
    return found


def refuse_foreign(kind: DataKind, asked: Mapping[str, Any]) -> None:
    """Complain about settings of readings that are not for this kind of data.

    Args:
        kind: of the data.
        asked: settings of all readings by name; None for what nobody gave.
    """
    for name, text in kind.refused.items():
        if asked.get(name):
            raise UsageError(text)
    own = {each.name for each in fields(kind.reading)} | set(kind.refused)
    for other in KINDS:
        names = {each.name for each in fields(other.reading)} - own
        wrong = sorted(name for name in names if asked.get(name) is not None)
        if wrong:
            raise UsageError(
                f"{', '.join(wrong)} is for {other.elsewhere}, and {kind.this}; leave it out"
            )


def load_again(kept: Mapping[str, Any], data: Any | None, run: str, reading: Any = None) -> Source:
    """The data of a run, as it was then.

    Args:
        kept: the run's `data` of config.json.
        data: what the run was started with, if that was in memory.
        run: its folder, for messages.
        reading: how it was read; None for as usual.

    Raises:
        UsageError: The data must be given, or other data was.
        DataError: It has changed since.
    """
    given = kept["location"] if data is None else data
    if given is None:
        raise UsageError(f"run {run} was started with data in memory; give it again: data=...")
    kind = kind_named(kept.get("kind", TABLES.name))
    source = kind.load_again(given, kept, run, reading or kind.reading())
    if source.fingerprint != kept["fingerprint"]:
        raise DataError(
            f"{source.name} has changed since run {run} was started, so it cannot go "
            "on to the same result; restore the data or start a new run"
        )
    return source
