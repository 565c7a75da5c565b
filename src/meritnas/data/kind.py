"""The one door to data: what every kind of it (tables, images, texts, modalities) can do.

Neither this module nor the kinds' own import torch or pandas: what a method needs is imported in
it, so that settings can be listed, and columns shown, without waiting for either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol

from meritnas.errors import UsageError
from meritnas.settings.reading import MAX_UNPACKED_MB

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from torch import Tensor, nn

    from meritnas.data.bundle import Bundle, Outline
    from meritnas.data.columns.encoder import ColumnRow
    from meritnas.data.task import Task
    from meritnas.settings.preset import Facts


class Source(Protocol):
    """Data as it was found, before anything is learned from it."""

    @property
    def name(self) -> str:
        """A short name for reports."""
        ...

    @property
    def location(self) -> str | None:
        """Where it can be read again: an absolute path or a bundled name; None for memory."""
        ...

    @property
    def fingerprint(self) -> str:
        """SHA-256 over all that is in it, in hex."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What a user should know about how it was read, a sentence each."""
        ...


class Encoder(Protocol):
    """Turns data into numbers, the same way for all that comes later."""

    @property
    def kind(self) -> str:
        """The name of the kind of data that it is for."""
        ...

    @property
    def inputs(self) -> Any:
        """What comes into a network, as the specs of spaces for this kind of data take it."""
        ...

    @property
    def scalable(self) -> bool:
        """Whether ways to scale numbers make a difference, where several are tried."""
        ...

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own when it is used, as `module:name`."""
        ...

    @property
    def warnings(self) -> Sequence[str]:
        """What a user should know about the data, a sentence each."""
        ...

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        ...


@dataclass(frozen=True)
class NewRows:
    """What answers are wanted for, as a file has it.

    Attributes:
        data: as `DataKind.new_inputs` takes it.
        names: of the rows, if they have any, such as pictures' files.
        truth: the answers, if they are known.
        notes: what a user should know, a sentence each.
        counted: what the rows are called where they are counted with their truth.
        scored: positions of the rows whose answers are scored; None for all.
        kept: columns that are wanted beside the answers; None for none.
    """

    data: Any
    names: list[str] | None
    truth: pd.Series | pd.DataFrame | None
    notes: Sequence[str]
    counted: str
    scored: np.ndarray | None = None
    kept: pd.DataFrame | None = None


@dataclass(frozen=True)
class ColumnPreview:
    """What a search would make of columns.

    Attributes:
        rows: what each becomes.
        notes: what a user should know about them, a sentence each.
    """

    rows: Sequence[ColumnRow]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class GraphInputs:
    """What an exported graph reads, and what turns that into the network's own inputs.

    Attributes:
        module: raw tensors -> the network's inputs.
        free: of each input the dimensions that may be of any size, and their names.
        sample: how many rows, seed -> random raw tensors.
        about: what the file says about its inputs, name -> text.
        remembers: whether the network goes on from a state, by its `advance(inputs, state)`.
    """

    module: nn.Module
    free: dict[str, dict[int, str]]
    sample: Callable[[int, int], tuple[Tensor, ...]]
    about: dict[str, str]
    remembers: bool = False


class DataKind(Protocol):
    """One kind of data. A new one is a package with such an object and a line in `KINDS`.

    The methods with a body are what most kinds do; whoever inherits from this class has them.
    """

    name: str
    """As config.json has it: `table`, `images`, `text`, `modalities`."""
    many: str
    """In messages: `tables`, `images`, `texts`, `several modalities`."""
    elsewhere: str
    """The same in messages about other data: `several modalities (--space fusion)`."""
    this: str
    """In messages: `this is a table`, `these are images`, ..."""
    rows: str
    """What is counted: `rows`, `images`, `words`, `samples`."""
    writes: bool = False
    """Whether its networks write on, instead of answering."""
    has_parts: bool = False
    """Whether a sample has several parts, whose worth can be told apart."""
    compared: bool = False
    """Whether other kinds of models are fitted beside its networks, to compare."""
    asks_target: bool = True
    """Whether a user says what is predicted."""
    stored: str
    """As preprocessing.json has it: `image`, `text`, `modalities`; tables have no word there."""
    reading: type[Any]
    """The settings class that says how such data is read."""
    refused: Mapping[str, str] = MappingProxyType({})
    """What to say about settings of other kinds' readings, where that is not the usual."""
    space: str
    """What is searched unless told otherwise."""
    strategy: str
    """How it is searched unless told otherwise."""
    by_looks: bool = True
    """Whether files of this kind are recognised; others have to be asked for by their space."""
    least_judged_rows: int
    """Architectures are judged on at least so many rows; more cost little more here."""

    def predict_with(self, location: str | None) -> str:
        """What follows `meritnas predict RUN`, for example, of a run that was made on this file."""
        ...

    def recognises(self, data: Any) -> bool:
        """Whether data is of this kind by its looks alone."""
        del data
        return False

    def impossible(self, data: Any) -> str:
        """Why data cannot be of this kind, by its looks alone; empty where it may be."""
        ...

    def load(self, data: Any, target: str | None, reading: Any) -> Source:
        """The data, checked."""
        ...

    def load_again(self, data: Any, kept: Mapping[str, Any], run: str, reading: Any) -> Source:
        """The data of a run, by what `remembered` kept; an error names the run's folder.

        Args:
            data: where it is, or what is in memory.
            kept: the run's `data` of config.json.
            run: its folder.
            reading: how it was read.
        """
        ...

    def remembered(self, source: Any, reading: Any) -> dict[str, Any]:
        """What a run keeps to read its data again, beside name, location and fingerprint.

        Args:
            source: the data.
            reading: how it was read; None for as usual.
        """
        ...

    def outline(self, source: Any, reading: Any, seed: int) -> Outline:
        """What is predicted, and which rows are for what."""
        ...

    def facts(self, source: Any, outline: Outline, reading: Any) -> Facts:
        """What defaults follow from."""
        ...

    def encodings(self, reading: Any, outline: Outline) -> tuple[str, ...]:
        """Ways to encode that are worth a trial; one where nothing is to be tried."""
        del reading, outline
        return ("standard",)

    def few(
        self, source: Any, outline: Outline, most: int, rng: np.random.Generator
    ) -> tuple[Any, Outline]:
        """The data with at most so many rows for training, as many for validation, none to test.

        Args:
            source: the data.
            outline: its task and split.
            most: rows of each part.
            rng: draws them.
        """
        import numpy as np

        from meritnas.data.split import Split

        def some(rows: np.ndarray) -> np.ndarray:
            return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))

        split = outline.split
        few = Split(some(split.train), some(split.valid), split.test[:0])
        return source, replace(outline, split=few)

    def encode(
        self,
        source: Any,
        outline: Outline,
        reading: Any,
        *,
        encoding: str,
        batch_size: int,
        most_codes: int | None = None,
    ) -> Bundle[Any]:
        """The data as numbers, by what the training rows say.

        Args:
            source: the data.
            outline: its task and split.
            reading: how it is read.
            encoding: one of `encodings`.
            batch_size: of training, which is how many stretches of a text are read side by side.
            most_codes: the most categories that a column of a table keeps; None for all.
        """
        ...

    def encode_by(self, encoder: Any, source: Any, outline: Outline) -> Bundle[Any] | None:
        """The data as numbers, by an encoder that there is; None where that cannot be done."""
        del encoder, source, outline
        return None

    def remarks(self, source: Any, outline: Outline, encoder: Any, reading: Any) -> tuple[str, ...]:
        """What a user should know about the data once they are encoded, a sentence each."""
        del source, outline, encoder, reading
        return ()

    def encoder_from_json(self, found: dict[str, Any]) -> Encoder:
        """The inverse of the encoder's `to_json`."""
        ...

    def new_inputs(self, encoder: Any, data: Any) -> Tensor:
        """New data in memory as a network reads it."""
        ...

    def read_new(
        self, file: str, encoder: Any, task: Task, max_unpacked_mb: int = MAX_UNPACKED_MB
    ) -> NewRows:
        """A new file to answer for."""
        ...

    def program(self, encoder: Any) -> str:
        """The module of `exporting/alone` that reads raw data of this kind without MeritNAS.

        Empty where the encoder needs code of a user's own.
        """
        ...

    def as_written(
        self, file: str, new: NewRows, columns: Sequence[str], max_unpacked_mb: int
    ) -> pd.DataFrame:
        """Columns of a new file, every cell as it is written there.

        Args:
            file: it.
            new: as `read_new` read it.
            columns: by name.
            max_unpacked_mb: how many megabytes the file may unpack to.
        """
        del file, new, max_unpacked_mb
        raise UsageError(
            f"columns to keep ({', '.join(columns)}) are for tables, and {self.this}; leave them "
            "out"
        )

    def read_pieces(
        self,
        file: str,
        encoder: Any,
        task: Task,
        keep: Sequence[str] = (),
        max_unpacked_mb: int = MAX_UNPACKED_MB,
        stream: bool | None = None,
    ) -> Iterator[NewRows]:
        """A new file to answer for, in pieces where it is streamed; else all at once.

        Args:
            file: it.
            encoder: of its columns.
            task: what is predicted.
            keep: columns that are wanted beside the answers.
            max_unpacked_mb: how many megabytes the file may unpack to.
            stream: whether a user wants it in pieces; None to decide by its size.
        """
        if stream:
            raise UsageError(f"--stream is for tables in Parquet files, and {self.this}")
        new = self.read_new(file, encoder, task, max_unpacked_mb)
        kept = self.as_written(file, new, keep, max_unpacked_mb) if keep else None
        yield replace(new, kept=kept)

    def columns(self, encoder: Any) -> list[ColumnRow]:
        """What was made of each column; nothing where data have none."""
        del encoder
        return []

    def column_places(self, encoder: Any) -> Mapping[str, Sequence[int]]:
        """Where the inputs of each column stand in a row; nothing where data have no columns."""
        del encoder
        return {}

    def preview(self, data: Any, target: str | None, reading: Any, seed: int) -> ColumnPreview:
        """What a search would make of columns, without torch.

        Args:
            data: as `load` takes it.
            target: the column to predict; None to look at all rows.
            reading: how the data is read.
            seed: of the split.
        """
        del data, target, reading, seed
        raise UsageError(f"{self.this}, and only tables have columns")

    def cells(self, source: Any, outline: Outline, rows: np.ndarray) -> pd.DataFrame | None:
        """What people know of test rows, a column for each thing; None where there is nothing.

        Args:
            source: the data.
            outline: its task and split.
            rows: positions in the test part.

        Returns:
            In the order of `rows`; the index is called `row` where it counts the data's own rows.
        """
        del source, outline, rows
        return None

    def pictures(self, encoder: Any, inputs: Tensor) -> Mapping[str, np.ndarray]:
        """What is seen on encoded rows: name -> uint8 [n, h, w, channels]; nothing elsewhere."""
        del encoder, inputs
        return {}

    def words(self, encoder: Any) -> Sequence[str]:
        """What networks that write choose from; nothing elsewhere."""
        del encoder
        return ()

    def graph_inputs(self, encoder: Any) -> GraphInputs:
        """What an exported graph reads."""
        ...

    def description(self, encoder: Any) -> dict[str, Any]:
        """How data becomes inputs, for whoever uses an exported network."""
        ...
