"""Texts as a kind of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from meritnas.data.files.plain_file import given_path
from meritnas.data.kind import DataKind, GraphInputs
from meritnas.data.texts.reading import TextReading
from meritnas.errors import UsageError
from meritnas.settings.preset import Facts
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.task import Task
    from meritnas.data.texts.encoder import TextEncoder
    from meritnas.data.texts.source import TextSource

_PROMPT = "this network was trained on a text; let it go on with a prompt"


class TextKind(DataKind):
    """Words, or characters, of which the next one is predicted."""

    name = "text"
    many = elsewhere = "texts"
    this = "this is a text"
    rows = "words"
    writes = True
    asks_target = False
    stored = "text"
    reading = TextReading
    refused: Mapping[str, str] = {
        name: f"{name} is not for texts; leave it out"
        for name in ("task", "skip_bad_rows", "image_size")
    }
    space = "recurrent"
    strategy = "random"
    by_looks = False
    least_judged_rows = 1

    def predict_with(self, location: str | None) -> str:
        """A prompt."""
        del location
        return '--prompt "It was"'

    def impossible(self, data: Any) -> str:
        """A text is in files."""
        if not isinstance(data, str | Path):
            return "the space recurrent is for texts; give the path of a file or folder"
        return ""

    def load(self, data: Any, target: str | None, reading: TextReading) -> TextSource:
        """A file, or a folder with train, valid and test files."""
        from meritnas.data.texts.source import load_text

        if target is not None:
            raise UsageError("target is for tables; a text's next word is what is predicted")
        return load_text(given_path(data), reading.level, reading.max_unpacked_mb)

    def load_again(
        self, data: Any, kept: Mapping[str, Any], run: str, reading: TextReading
    ) -> TextSource:
        """By words or by characters, as then."""
        from meritnas.data.texts.source import load_text

        if not isinstance(data, str):
            raise UsageError(f"run {run} was made on a text; leave data out")
        return load_text(data, kept["level"], reading.max_unpacked_mb)

    def remembered(self, source: TextSource, reading: TextReading | None) -> dict[str, Any]:
        """Words or characters."""
        del reading
        return {"kind": self.name, "level": source.level}

    def outline(self, source: TextSource, reading: TextReading, seed: int) -> Outline:
        """Its three parts, in their order."""
        from meritnas.data.texts.bundle import outline_text

        del reading, seed
        return outline_text(source)

    def facts(self, source: TextSource, outline: Outline, reading: TextReading) -> Facts:
        """Words to train on, and how far gradients go back."""
        del outline
        return Facts(self.name, len(source.train), window=reading.window)

    def encode(
        self,
        source: TextSource,
        outline: Outline,
        reading: TextReading,
        *,
        encoding: str,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[TextEncoder]:
        """Numbers of words, in as many stretches side by side as a batch has rows."""
        from meritnas.data.texts.bundle import encode_text

        del outline, encoding, most_codes
        return encode_text(source, batch_size, reading.window, reading.vocabulary)

    def encoder_from_json(self, found: dict[str, Any]) -> TextEncoder:
        """The vocabulary."""
        from meritnas.data.texts.encoder import TextEncoder

        return TextEncoder.from_json(found)

    def new_inputs(self, encoder: TextEncoder, data: Any) -> NoReturn:
        """None: a language model goes on with a prompt instead."""
        del encoder, data
        raise UsageError(_PROMPT)

    def read_new(
        self, file: str, encoder: TextEncoder, task: Task, max_unpacked_mb: int = MAX_UNPACKED_MB
    ) -> NoReturn:
        """None: a language model goes on with a prompt instead."""
        del file, encoder, task, max_unpacked_mb
        raise UsageError(_PROMPT)

    def words(self, encoder: TextEncoder) -> Sequence[str]:
        """The vocabulary."""
        return encoder.words

    def program(self, encoder: TextEncoder) -> str:
        """The program for texts."""
        del encoder
        return "texts"

    def graph_inputs(self, encoder: TextEncoder) -> GraphInputs:
        """Words; the network goes on from a state."""
        from meritnas.data.texts.graph import text_graph_inputs

        return text_graph_inputs(encoder)

    def description(self, encoder: TextEncoder) -> dict[str, Any]:
        """How a text becomes words, and words numbers."""
        from meritnas.data.texts.description import describe_text

        return describe_text(encoder)


TEXTS = TextKind()
