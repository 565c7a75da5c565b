"""How a run turned its data into numbers, read from its folder."""

from __future__ import annotations

from meritnas.data.kind import Encoder
from meritnas.data.kinds import encoder_from_json
from meritnas.data.task import Task
from meritnas.store.run_store import RunStore


def read_preprocessing(store: RunStore) -> tuple[Encoder, Task]:
    """The encoder and the task of a run; torch is not needed for that."""
    return store.decode(
        "preprocessing.json",
        lambda found: (encoder_from_json(found["encoder"]), Task.from_json(found["task"])),
    )
