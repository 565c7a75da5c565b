"""A text ready to train on: its pieces as numbers of words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from meritnas.data.bundle import Bundle, Outline, Part
from meritnas.data.split import Split
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.data.texts.source import TextSource
from meritnas.data.texts.windows import continuing

_COLUMNS = 10
"""Of validation and test texts, as DARTS and others read them: few, so that stretches are long."""


def encode_text(
    source: TextSource, columns: int, steps: int = 35, vocabulary: int = 10_000
) -> Bundle[TextEncoder]:
    """Encodes a text by the vocabulary of its training part.

    Pieces continue each other, so that a network that is trained or measured reads on with the
    state it has. Where a search compares networks it takes validation pieces for themselves, each
    from a fresh state.

    Args:
        source: The text.
        columns: Stretches of the training text that are read side by side: the batch size.
        steps: Words of a window, as far as gradients go back.
        vocabulary: The most words that are told apart, `<unk>` included.
    """
    encoder = TextEncoder.fit(source.train, source.level, vocabulary, tokenised=source.tokenised)
    task = Task("language", f"next {source.level}", words=len(encoder.words))
    return Bundle(
        source.name,
        _running(encoder, source.train, columns, steps),
        _running(encoder, source.valid, _few(source.valid, steps), steps),
        _running(encoder, source.test, _few(source.test, steps), steps),
        encoder,
        task,
    )


def outline_text(source: TextSource) -> Outline:
    """What is predicted, and which words are for what, in their order."""
    ends = np.cumsum([0, len(source.train), len(source.valid), len(source.test)])
    train, valid, test = (np.arange(first, last) for first, last in pairwise(ends.tolist()))
    return Outline(Task("language", f"next {source.level}"), Split(train, valid, test))


def _few(words: Sequence[str], steps: int) -> int:
    return min(_COLUMNS, max(1, len(words) // (2 * steps)))


def _running(encoder: TextEncoder, words: Sequence[str], columns: int, steps: int) -> Part:
    columns = min(columns, len(words) - 1)
    return Part(*continuing(encoder.transform(words), columns, steps), columns=columns)
