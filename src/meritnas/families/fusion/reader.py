"""What reads the modalities of a row, and the backbones that read some of them first."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from torch import Tensor, nn

from meritnas.families.fusion.convolutions import Convolutions
from meritnas.families.operations import Norms

Shape = tuple[int, ...]

_BACKBONES: Mapping[str, Callable[[Shape, Norms], nn.Module]] = {
    "conv": Convolutions,
}


def make_backbones(
    backbones: Mapping[int, str | Callable[[], nn.Module]],
    modalities: Sequence[tuple[int, Sequence[Shape]]],
    norms: Norms,
) -> dict[int, nn.Module]:
    """Fresh networks that read a modality first, by its number."""
    return {
        number: _BACKBONES[own](modalities[number][1][0], norms) if isinstance(own, str) else own()
        for number, own in backbones.items()
    }


class ModalityReader(nn.Module):
    """Rows of inputs -> the features of a modality, as they come in or from its backbone.

    What a sample lacks is exact zeros, whatever its columns hold.

    Args:
        modalities: (the column that says whether a sample has it, the shapes of its features,
            which follow) of each.
        backbones: of modalities that have one, by number.
    """

    def __init__(
        self,
        modalities: Sequence[tuple[int, Sequence[Shape]]],
        backbones: Mapping[int, nn.Module],
    ) -> None:
        super().__init__()
        self._modalities = tuple(modalities)
        self.backbones = nn.ModuleDict({str(i): network for i, network in backbones.items()})

    def there(self, rows: Tensor, modality: int) -> Tensor:
        """Whether each sample has a modality: rows [n, width] -> booleans [n]."""
        flag, _ = self._modalities[modality]
        found: Tensor = rows[:, flag] > 0
        return found

    def parts(self, rows: Tensor, modality: int) -> list[Tensor]:
        """The features of a modality as they come in or from its backbone."""
        flag, shapes = self._modalities[modality]
        own, start = [], flag + 1
        for shape in shapes:
            end = start + math.prod(shape)
            feature = rows[:, start:end].reshape(-1, *shape)
            there = self.there(rows, modality).reshape(-1, *(1,) * len(shape))
            own.append(feature.where(there, 0))
            start = end
        if str(modality) not in self.backbones:
            return own
        found = self.backbones[str(modality)](*own)
        return [found] if isinstance(found, Tensor) else list(found)
