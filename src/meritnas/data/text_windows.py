from __future__ import annotations

from torch import Tensor

from meritnas.errors import DataError


def windows(numbers: Tensor, steps: int) -> tuple[Tensor, Tensor]:
    """A text in pieces that stand for themselves: (words, the words that follow them).

    Args:
        numbers: Int64 [n], the text.
        steps: Words of a piece. The last words that fill no piece are left out; a text that is
            shorter than a piece is one.

    Returns:
        Two tensors int64 [pieces, steps].
    """
    steps = min(steps, len(numbers) - 1)
    if steps < 1:
        raise DataError(f"a text of {len(numbers)} words has none to predict; give at least 2")
    pieces = (len(numbers) - 1) // steps
    used = pieces * steps
    return numbers[:used].view(pieces, steps), numbers[1 : used + 1].view(pieces, steps)


def columns(numbers: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """A text in equal stretches, side by side: (words, the words that follow them).

    Args:
        numbers: Int64 [n], the text.
        count: How many stretches; fewer for a text with fewer words.

    Returns:
        Two tensors int64 [count, length].
    """
    count = min(count, len(numbers) - 1)
    if count < 1:
        raise DataError(f"a text of {len(numbers)} words has none to predict; give at least 2")
    length = (len(numbers) - 1) // count
    used = count * length
    return numbers[:used].view(count, length), numbers[1 : used + 1].view(count, length)
