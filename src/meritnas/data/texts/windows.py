"""A text cut into pieces that continue each other."""

from __future__ import annotations

from torch import Tensor

from meritnas.errors import DataError


def continuing(numbers: Tensor, columns: int, steps: int) -> tuple[Tensor, Tensor]:
    """A text in equal stretches side by side, cut into pieces that continue each other.

    Piece k + columns goes on where piece k ends, so that batches of `columns` pieces in order are
    windows that move along all stretches at once.

    Args:
        numbers: Int64 [n], the text.
        columns: How many stretches; fewer for a text with fewer words.
        steps: Words of a piece; fewer where a stretch is shorter.

    Returns:
        Words and the words that follow them: two tensors int64 [pieces, steps].
    """
    columns = min(columns, len(numbers) - 1)
    if columns < 1:
        raise DataError(f"a text of {len(numbers)} words has none to predict; give at least 2")
    length = (len(numbers) - 1) // columns
    steps = min(steps, length)
    used = length - length % steps

    def cut(first: int) -> Tensor:
        stretches = numbers[first : first + columns * length].view(columns, length)[:, :used]
        return stretches.reshape(columns, -1, steps).transpose(0, 1).reshape(-1, steps)

    return cut(0), cut(1)
