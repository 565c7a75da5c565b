"""Turns samples of several modalities into rows of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from meritnas.data.modalities.frozen import FrozenModality, Read
from meritnas.data.modalities.inputs import ModalityInputs
from meritnas.data.modalities.picture import PictureModality
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.data.modalities.table import TableModality
from meritnas.data.modalities.vector import ScaledFeature, VectorModality
from meritnas.data.modalities.view import View, present_rows, view_rows
from meritnas.data.modalities.written import Way, WrittenModality
from meritnas.data.pictures.named import NamedPictures
from meritnas.errors import DataError
from meritnas.wording import did_you_mean, listed

if TYPE_CHECKING:
    from torch import Tensor

Modality: TypeAlias = Read | FrozenModality

_KINDS: dict[str, type[Read]] = {
    "vector": VectorModality,
    "picture": PictureModality,
    "written": WrittenModality,
    "table": TableModality,
}


@dataclass(frozen=True)
class ModalityEncoder:
    """Turns samples of several modalities into rows of inputs, the same way for every file.

    All inputs are from 0 to 1, so that noise has one scale.

    Attributes:
        modalities: How each becomes numbers, in their order in a row.
    """

    kind: ClassVar[str] = "modalities"
    scalable: ClassVar[bool] = False

    modalities: tuple[Modality, ...]

    @classmethod
    def fit(
        cls,
        views: Mapping[str, View],
        train_rows: np.ndarray,
        text: Way = "counted",
        words: int = 1024,
        frozen: Mapping[str, str] | None = None,
    ) -> ModalityEncoder:
        """Looks at the train rows of each modality.

        Args:
            views: Name -> the values of all samples.
            train_rows: Positions of the train rows.
            text: How written text becomes numbers: "counted" or "hashed".
            words: Most numbers for a text.
            frozen: Of modalities that a network which is not trained reads first: what makes
                it, `module:function`.

        Raises:
            DataError: No train row has a modality, or nothing in it can be used.
            UsageError: There is no such way to take texts, or no such network.
        """
        rows = np.asarray(train_rows)
        if not views:
            raise DataError("there is no modality to learn from; give at least one")
        backbones = {} if frozen is None else frozen
        for name in backbones:
            if name not in views:
                raise DataError(
                    f"a frozen backbone for '{name}', which is no modality;"
                    f"{did_you_mean(name, views)} there are {listed(views)}"
                )
        found: list[Modality] = []
        for name, view in views.items():
            plain = _fit(name, view, rows, text, words)
            own = backbones.get(name)
            found.append(plain if own is None else FrozenModality.fit(plain, own, view, rows))
        return cls(tuple(found))

    @cached_property
    def layout(self) -> RowLayout:
        """Where the numbers of each modality stand in a row."""
        return RowLayout(tuple((each.name, each.shapes) for each in self.modalities))

    @property
    def inputs(self) -> ModalityInputs:
        """What comes into a network."""
        return ModalityInputs(dict(self.layout.modalities), self.pictures)

    @property
    def pictures(self) -> tuple[str, ...]:
        """The names of the modalities that are pictures, of the shape (channels, h, w)."""
        return tuple(each.name for each in self.modalities if isinstance(each, PictureModality))

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """Name -> the columns of a table it comes from; none for arrays."""
        return {each.name: each.columns for each in self.modalities}

    @property
    def named_pictures(self) -> dict[str, Shape]:
        """Name -> the shape of those pictures that a column names."""
        plain = {each.name: _as_read(each) for each in self.modalities}
        return {
            name: each.feature.shape
            for name, each in plain.items()
            if isinstance(each, PictureModality) and each.columns
        }

    @property
    def own_names(self) -> frozenset[str]:
        """The frozen backbones, as `module:function`."""
        return frozenset(each.backbone for each in self.frozen.values())

    @property
    def warnings(self) -> list[str]:
        """A sentence for each thing a user should know about the train rows."""
        return [warning for each in self.modalities for warning in each.warnings]

    def unfamiliar(self, views: Mapping[str, View]) -> list[str]:
        """A sentence for each modality that new data lacks, or that is mostly not as trained on."""
        notes = []
        for each in self.modalities:
            if each.name not in views or not present_rows(views[each.name]).any():
                notes.append(f"no sample has the modality '{each.name}'; all go without it")
            elif not isinstance(plain := _as_read(each), WrittenModality):
                notes += plain.unfamiliar(views[each.name])
        return notes

    def transform(self, views: Mapping[str, View], rows: np.ndarray | None = None) -> Tensor:
        """Encodes samples; further views and the order of views do not matter.

        Args:
            views: Name -> the values of all samples. A modality that is not there is one that all
                samples lack.
            rows: Positions of the samples to encode, None for all.

        Returns:
            Float32 [n, layout.width], all from 0 to 1.

        Raises:
            DataError: No modality is there, or one has another shape or another kind of values.
        """
        import torch  # here: a run's encoder is read, and shown, without it

        known = {each.name: views[each.name] for each in self.modalities if each.name in views}
        if not known:
            raise DataError(
                f"there is none of the modalities {listed(self.layout.names)}; "
                f"found: {listed(views) or 'nothing'}"
            )
        count = same_rows(known.items())
        chosen = np.arange(count) if rows is None else np.asarray(rows)
        inputs = np.zeros((len(chosen), self.layout.width), dtype=np.float32)
        for number, each in enumerate(self.modalities):
            if each.name in known:
                flag, end = self.layout.flag(number), self.layout.values(number).stop
                out = inputs[:, flag:end]
                each.encode(known[each.name], chosen, out)
                out[out[:, 0] == 0] = 0.0
        return torch.from_numpy(inputs)

    @property
    def frozen(self) -> dict[int, FrozenModality]:
        """The modalities that a network which is not trained reads first, by number."""
        return {k: m for k, m in enumerate(self.modalities) if isinstance(m, FrozenModality)}

    def to_json(self) -> dict[str, Any]:
        """Returns the encoder as plain JSON values; floats keep every bit."""
        return {"kind": "modalities", "modalities": [each.to_json() for each in self.modalities]}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> ModalityEncoder:
        """Returns the encoder that `to_json` gave."""
        found = value["modalities"]
        return cls(tuple(_from_json(each) for each in found))


def _from_json(value: dict[str, Any]) -> Modality:
    if value["kind"] != "frozen":
        return _KINDS[value["kind"]].from_json(value)
    read = value["read"]
    features = tuple(ScaledFeature.from_json(feature) for feature in value["features"])
    plain = _KINDS[read["kind"]].from_json(read)
    return FrozenModality(plain, value["backbone"], value["weights"], features)


def _as_read(modality: Modality) -> Read:
    """The modality without a network that reads it first."""
    return modality.read if isinstance(modality, FrozenModality) else modality


def same_rows(views: Iterable[tuple[str, View]]) -> int:
    """How many rows each of several views has.

    Raises:
        DataError: They have not equally many; it names those that differ from most.
    """
    counts = {name: view_rows(view) for name, view in views}
    sizes = list(counts.values())
    usual = max(sizes, key=sizes.count)
    odd = [f"'{name}' has {count:,}" for name, count in counts.items() if count != usual]
    if odd:
        raise DataError(
            f"all modalities need equally many rows, but {listed(odd)} where the others have "
            f"{usual:,}; correct or leave out what differs"
        )
    return usual


def _fit(name: str, view: View, rows: np.ndarray, text: Way, words: int) -> Read:
    if not present_rows(view)[rows].any():
        raise DataError(
            f"no train row has the modality '{name}'; leave it out, or give more samples that do"
        )
    if isinstance(view, pd.DataFrame):
        return TableModality.fit(name, view, rows)
    if isinstance(view, pd.Series) or (isinstance(view, np.ndarray) and view.dtype.kind in "UO"):
        return WrittenModality.fit(name, view, rows, text, words)
    if isinstance(view, NamedPictures) or (isinstance(view, np.ndarray) and view.ndim > 2):
        return PictureModality.fit(name, view, rows)
    return VectorModality.fit(name, view, rows)
