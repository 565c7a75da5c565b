"""Which words of a text a network does not see coming."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn
from torch.nn import functional

from meritnas.data.bundle import Part
from meritnas.devices.placement import on_cpu
from meritnas.training.train import loss_on

_RANKS = (1, 11, 101, 1001, 10_001)
"""Words are numbered by how frequent they are in the training text, after the unknown one."""

_GUESSES = 5
_DEAREST = 20


def of_words(module: nn.Module, part: Part, words: Sequence[str]) -> dict[str, Any]:
    """How often the next word is among the likeliest, by how frequent it is, and what costs most.

    Args:
        module: a language model.
        part: pieces of a text.
        words: the vocabulary.
    """
    tally = _Tally(len(words))
    loss_on(module, part, tally)
    count, loss, first, among = tally.count, tally.loss, tally.first, tally.among
    groups = [("unknown words", slice(0, 1))]
    for low, high in zip(_RANKS, (*_RANKS[1:], len(words)), strict=True):
        if low < len(words):
            end = min(high, len(words))
            groups.append((f"{low:,} to {end - 1 if end == high else end:,}", slice(low, end)))
    dearest = [int(k) for k in np.argsort(-loss, kind="stable")[:_DEAREST] if count[k]]
    total = float(loss.sum()) or 1.0
    return {
        "count": int(count.sum()),
        "first": _share(first.sum(), count.sum()),
        "among": _share(among.sum(), count.sum()),
        "guesses": _GUESSES,
        "by_rank": [
            _row(name, count[own].sum(), loss[own].sum(), first[own].sum(), total)
            for name, own in groups
            if count[own].sum()
        ],
        "dearest": [_row(words[k], count[k], loss[k], first[k], total) for k in dearest],
    }


class _Tally:
    """A loss that counts, word by word."""

    def __init__(self, words: int) -> None:
        self.count, self.first, self.among = (np.zeros(words, np.int64) for _ in range(3))
        self.loss = np.zeros(words)

    def __call__(self, outputs: Tensor, target: Tensor, weights: Tensor | None = None) -> Tensor:
        """The mean loss of a batch [n, steps, words], which is added up."""
        del weights
        said, truth = outputs.flatten(0, 1), target.flatten()
        losses = functional.cross_entropy(said, truth, reduction="none")
        likeliest = said.topk(min(_GUESSES, said.shape[1]), dim=1).indices == truth[:, None]
        places = on_cpu(truth).numpy()
        np.add.at(self.count, places, 1)
        np.add.at(self.loss, places, on_cpu(losses).double().numpy())
        np.add.at(self.first, places, on_cpu(likeliest[:, 0]).numpy())
        np.add.at(self.among, places, on_cpu(likeliest.any(dim=1)).numpy())
        return losses.mean()


def _row(name: str, count: int, loss: float, first: int, total: float) -> dict[str, Any]:
    return {
        "name": name,
        "count": int(count),
        "first": _share(first, count),
        "perplexity": float(f"{math.exp(min(500.0, loss / count)):.6g}"),
        "share": _share(loss, total),
    }


def _share(part: float, whole: float) -> float:
    return round(float(part) / float(whole), 6) if whole else 0.0
