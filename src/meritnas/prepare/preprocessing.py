"""How a run turned its data into numbers, read from its folder."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.data.kind import Encoder
from meritnas.data.kinds import encoder_from_json
from meritnas.data.task import Task
from meritnas.prepare.typed_fields import check_types
from meritnas.store.run_store import RunStore


def read_preprocessing(store: RunStore) -> tuple[Encoder, Task]:
    """The encoder and the task of a run; torch is not needed for that, and nothing is imported.

    Whoever uses the encoder checks first that its `own_names` are trusted.
    """
    return store.decode("preprocessing.json", preprocessing_of)


def preprocessing_of(found: Mapping[str, Any]) -> tuple[Encoder, Task]:
    """The encoder and the task in a preprocessing.json."""
    encoder, task = encoder_from_json(found["encoder"]), Task.from_json(found["task"])
    check_types(encoder)
    check_types(task)
    return encoder, task
