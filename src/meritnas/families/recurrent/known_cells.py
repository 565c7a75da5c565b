"""GRU and LSTM as they run: the cells that everybody knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

WEIGHTS = ("from_words.weight", "from_state.weight", "from_words.bias", "from_state.bias")
"""The weights of a `KnownCell`, in the order in which they are given to run one."""


class KnownCell(nn.Module):
    """The maps of a GRU or an LSTM of one layer, as torch's own begin: U(-1/sqrt(w), 1/sqrt(w)).

    Args:
        kind: a name in `KNOWN`.
        width: of words and state.
    """

    def __init__(self, kind: str, width: int) -> None:
        super().__init__()
        self.from_words = nn.Linear(width, KNOWN[kind].gates * width)
        self.from_state = nn.Linear(width, KNOWN[kind].gates * width)


def run_gru(words: Tensor, state: Tensor, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(outputs, the state afterwards) of a window read by a GRU, as torch.nn.GRU has it.

    r = sigmoid(W_r x + U_r h), z = sigmoid(W_z x + U_z h), n = tanh(W_n x + r * (U_n h)), every map
    with a bias; then h is (1 - z) * n + z * h.

    Args:
        words: [n, steps, width].
        state: h [n, width].
        weights: as `WEIGHTS` names them; rows are those of r, z, n.
    """
    # torch.nn.GRU calls the same; a loop in a graph (torch's scan) does not take the module.
    outputs, after = torch.gru(
        words, state[None], list(weights), True, 1, 0.0, False, False, batch_first=True
    )
    return outputs, after[0]


def run_lstm(words: Tensor, state: Tensor, weights: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
    """(outputs, the state afterwards) of a window read by an LSTM, as torch.nn.LSTM has it.

    i, f, o = sigmoid(W x + U h) and g = tanh(W_g x + U_g h), every map with a bias; then c is
    f * c + i * g and h is o * tanh(c).

    Args:
        words: [n, steps, width].
        state: h and c side by side [n, 2 * width].
        weights: as `WEIGHTS` names them; rows are those of i, f, g, o.
    """
    before = tuple(part[None].contiguous() for part in state.chunk(2, dim=1))
    outputs, hidden, inside = torch.lstm(
        words, before, list(weights), True, 1, 0.0, False, False, batch_first=True
    )
    return outputs, torch.cat([hidden[0], inside[0]], dim=1)


class Known(NamedTuple):
    """What a known cell is.

    Attributes:
        gates: how many maps [width, width] the word has, and the state as many.
        states: how many vectors [width] it carries from word to word.
        run: words [n, steps, width], state [n, states * width], weights -> outputs and state.
    """

    gates: int
    states: int
    run: Callable[[Tensor, Tensor, Sequence[Tensor]], tuple[Tensor, Tensor]]


KNOWN: Mapping[str, Known] = {
    "gru": Known(3, 1, run_gru),
    "lstm": Known(4, 2, run_lstm),
}
"""By name."""
