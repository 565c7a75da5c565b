"""A modality that a network which is not trained reads first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from meritnas.data.modalities.picture import PictureModality
from meritnas.data.modalities.row_layout import RowLayout, Shape
from meritnas.data.modalities.table import TableModality
from meritnas.data.modalities.vector import ScaledFeature, VectorModality
from meritnas.data.modalities.view import View
from meritnas.data.modalities.written import WrittenModality
from meritnas.errors import DataError, UsageError
from meritnas.plugins import load_own, own_code

if TYPE_CHECKING:
    from torch import Tensor, nn

_ROWS_AT_ONCE = 256


Read: TypeAlias = VectorModality | PictureModality | WrittenModality | TableModality
"""A modality as it comes: how its values become numbers."""
Disturb: TypeAlias = "Callable[[Tensor], Tensor]"
"""Values [n, width] from 0 to 1 -> other ones."""


@dataclass(frozen=True)
class FrozenModality:
    """A modality as a network that is not trained sees it: features, computed once for all.

    The network runs as in use (`eval`), without gradients, on what was read, scaled to 0..1. A row
    of inputs then holds its features, scaled by the train rows like those of any other modality, so
    that nothing runs the network again while searching and training. It is no part of the network
    that is searched, and its weights do not count.

    Attributes:
        read: How the values themselves become numbers.
        backbone: What makes the network, `module:function`.
        weights: SHA-256 over the network's weights, in hex; new samples need the same network.
        features: How each of its features is scaled.
    """

    read: Read
    backbone: str
    weights: str
    features: tuple[ScaledFeature, ...]

    @classmethod
    def fit(cls, read: Read, backbone: str, view: View, rows: np.ndarray) -> FrozenModality:
        """Looks at what the network makes of the train rows.

        Args:
            read: The modality, fitted.
            backbone: What makes the network, `module:function`.
            view: Its values.
            rows: Positions of the train rows.

        Raises:
            UsageError: There is no such function, or it does not make a torch Module.
            SpaceError: The network gives no features.
            DataError: It cannot read this modality, or a feature is infinite.
        """
        network = make_frozen(backbone, read.name)
        unfitted = cls(read, backbone, weights_digest(network), ())
        found = [features for there, features in unfitted._seen(view, rows) if there.any()]
        stacked = [np.concatenate(arrays) for arrays in zip(*found, strict=True)]
        every = np.arange(len(stacked[0]))
        scaled = tuple(
            ScaledFeature.fit(each, every, f"a feature of '{read.name}'") for each in stacked
        )
        return cls(read, backbone, unfitted.weights, scaled)

    @property
    def name(self) -> str:
        """Of the modality."""
        return self.read.name

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Of the network's features of one sample."""
        return tuple(feature.shape for feature in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """Of a table, where the modality comes from one."""
        return self.read.columns

    @property
    def warnings(self) -> tuple[str, ...]:
        """What there is to say about the values themselves."""
        return self.read.warnings

    @cached_property
    def network(self) -> nn.Module:
        """The network, made anew.

        Raises:
            DataError: It has other weights than the one that was trained with.
        """
        network = make_frozen(self.backbone, self.name)
        if weights_digest(network) != self.weights:
            raise DataError(
                f"the backbone {self.backbone} of '{self.name}' has other weights than when the "
                "run was made, so its features mean something else; restore them"
            )
        return network

    def encode(
        self, view: View, rows: np.ndarray, out: np.ndarray, disturb: Disturb | None = None
    ) -> None:
        """Writes presence and features of some rows into `out` [n, 1 + width].

        Args:
            view: The values of all samples.
            rows: Positions of those to encode.
            out: Where they are written.
            disturb: What is done to the values, scaled to 0..1, before the network sees them.
        """
        done = 0
        for there, features in self._seen(view, rows, disturb):
            part = out[done : done + len(there)]
            part[:, 0] = there
            start = 1
            for feature, array in zip(self.features, features, strict=True):
                end = start + feature.width
                every = np.arange(len(array))
                scaled = np.empty((len(array), feature.width), dtype=out.dtype)
                feature.encode(array, every, f"a feature of '{self.name}'", scaled)
                part[there, start:end] = scaled
                start = end
            done += len(there)

    def _seen(
        self, view: View, rows: np.ndarray, disturb: Disturb | None = None
    ) -> Iterator[tuple[np.ndarray, list[np.ndarray]]]:
        """Yields some rows at a time: who has the modality [some], and features of those."""
        import torch  # in methods: a run's encoder is read, and shown, without it

        layout = RowLayout(((self.name, self.read.shapes),))
        for start in range(0, len(rows), _ROWS_AT_ONCE):
            chosen = rows[start : start + _ROWS_AT_ONCE]
            values = np.zeros((len(chosen), layout.width), dtype=np.float32)
            self.read.encode(view, chosen, values)
            there = values[:, 0] > 0
            given = torch.from_numpy(values[there])
            if disturb is not None:
                given[:, 1:] = disturb(given[:, 1:])
            yield there, self._features(layout.features(given, 0))

    def _features(self, given: list[Tensor]) -> list[np.ndarray]:
        import torch

        from meritnas.data.modalities.backbone_features import as_features

        try:
            with torch.no_grad():
                found = self.network(*given)
        except (RuntimeError, TypeError, ValueError) as error:
            shapes = ", ".join(str(list(each.shape)) for each in given)
            raise DataError(
                f"the backbone {self.backbone} cannot read '{self.name}', {shapes}: "
                f"{str(error).splitlines()[0]}"
            ) from error
        return [feature.numpy() for feature in as_features(found, self.name)]

    def to_json(self) -> dict[str, Any]:
        """Returns the modality as plain JSON values."""
        return {
            "kind": "frozen",
            "read": self.read.to_json(),
            "backbone": self.backbone,
            "weights": self.weights,
            "features": [feature.to_json() for feature in self.features],
        }


def make_frozen(backbone: str, modality: str) -> nn.Module:
    """The network that `module:function` makes, ready to use; random weights are the same ones."""
    import torch

    make = load_own(backbone, "backbone")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        with own_code(backbone):
            network = make()
    if not isinstance(network, torch.nn.Module):
        raise UsageError(
            f"the backbone {backbone} of '{modality}' must make a torch Module, got "
            f"{type(network).__name__}"
        )
    return network.eval().requires_grad_(False)


def weights_digest(network: nn.Module) -> str:
    """SHA-256 in hex over the names and values of all weights and statistics."""
    from meritnas.devices.placement import on_cpu  # here: what is read is known without torch

    digest = hashlib.sha256()
    for name, value in network.state_dict().items():
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(on_cpu(value.detach()).numpy()).tobytes())
    return digest.hexdigest()
