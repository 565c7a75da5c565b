"""What stands around a user's own network: features cut from rows, words that come in pieces."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


class WordsNetwork(nn.Module):
    """A network that reads words [n, steps] and says what follows each: [n, steps, words].

    Where texts come in pieces, the last words of the piece before are read again, so that the
    network knows what went before.

    Args:
        network: [n, steps] -> [n, steps, words].
        context: how many words of the piece before are read again.
    """

    def __init__(self, network: nn.Module, context: int = 0) -> None:
        super().__init__()
        self.network = network
        self._context = context

    def forward(self, inputs: Tensor) -> Tensor:
        """Words [n, steps] -> scores [n, steps, words]."""
        found: Tensor = self.network(inputs)
        return found

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(scores [n, steps, words], the last words read [n, at most the context])."""
        words = inputs if state is None else torch.cat([state.to(inputs), inputs], dim=1)
        found: Tensor = self.network(words)
        return found[:, words.shape[1] - inputs.shape[1] :], words[
            :, words.shape[1] - min(self._context, words.shape[1]) :
        ]


class FeatureNetwork(nn.Module):
    """A network that reads the features of each modality by its name.

    Args:
        network: {name: [n, *shape], or a list of such} -> [n, outputs].
        places: of each modality the first column of its features in a row, and their shapes.
    """

    def __init__(
        self, network: nn.Module, places: Mapping[str, tuple[int, Sequence[Sequence[int]]]]
    ) -> None:
        super().__init__()
        self.network = network
        self._places = dict(places)

    def forward(self, inputs: Tensor) -> Tensor:
        """Rows [n, width] -> [n, outputs]."""
        found: dict[str, Tensor | list[Tensor]] = {}
        for name, (start, shapes) in self._places.items():
            features = []
            for shape in shapes:
                end = start + math.prod(shape)
                features.append(inputs[:, start:end].reshape(-1, *shape))
                start = end
            found[name] = features[0] if len(features) == 1 else features
        outputs: Tensor = self.network(found)
        return outputs
