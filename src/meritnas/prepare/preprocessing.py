from __future__ import annotations

from typing import Any

from meritnas.data.bundle import AnyEncoder
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.store.run_store import RunStore


def read_preprocessing(
    store: RunStore,
) -> tuple[AnyEncoder, Task]:
    """How the run turned its data into numbers."""

    def encoder(found: dict[str, Any]) -> AnyEncoder:
        if found.get("kind") == "modalities":
            return ModalityEncoder.from_json(found)
        if found.get("kind") == "text":
            return TextEncoder.from_json(found)
        if found.get("kind") == "image":
            return ImageEncoder.from_json(found)
        return TableEncoder.from_json(found)

    return store.decode(
        "preprocessing.json",
        lambda found: (encoder(found["encoder"]), Task.from_json(found["task"])),
    )
