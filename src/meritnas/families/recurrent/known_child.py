"""A language model with a GRU or an LSTM."""

from __future__ import annotations

from torch import Tensor, nn

from meritnas.families.recurrent.child import make_output, make_words
from meritnas.families.recurrent.known_cells import KNOWN, WEIGHTS, KnownCell


class KnownNetwork(nn.Module):
    """A language model with a cell that everybody knows.

    Args:
        vocabulary: how many words there are.
        width: of embeddings and of each vector of the state.
        kind: `gru` or `lstm`.
        dropout: the rate on embeddings and on the cell's outputs while training.

    Attributes:
        width: of the state; that of an LSTM is two vectors, h and c.
    """

    def __init__(self, vocabulary: int, width: int, kind: str, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = KNOWN[kind].states * width
        self._kind = kind
        self.words = make_words(vocabulary, width)
        self.output = make_output(width, vocabulary)
        self.cell = KnownCell(kind, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        """Words [n, steps] from a fresh state -> scores [n, steps, vocabulary] of what follows."""
        return self.advance(inputs)[0]

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(scores [n, steps, vocabulary], the state after the last word)."""
        words = self.dropout(self.words(inputs))
        if state is None:
            state = words.new_zeros(len(inputs), self.width)
        weights = [self.cell.get_parameter(name) for name in WEIGHTS]
        outputs, state = KNOWN[self._kind].run(words, state, weights)
        return self.output(self.dropout(outputs)), state
