"""How much texts carry of words and pairs of words; needs numpy only, so that it may leave."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np

_WORD = re.compile(r"\b\w\w+\b")
_ALL = 0xFFFFFFFF
_KNOWN_HASHES = 1 << 16


def words_and_pairs(text: str) -> Iterator[str]:
    """The words of at least two letters in a text, in lower case, and pairs that follow each other.

    They are those that scikit-learn's vectorizers count.
    """
    words = _WORD.findall(text.lower())
    yield from words
    yield from (f"{first} {second}" for first, second in pairwise(words))


def written_numbers(
    texts: Sequence[str],
    way: str,
    places: int,
    vocabulary: Sequence[str],
    weights: Sequence[float],
) -> np.ndarray:
    """The numbers of texts [n, places], from 0 to 1, as `WrittenModality` says."""
    if way == "hashed":
        found = hashed_words(texts, places)
    else:
        found = counted_words(texts, vocabulary, weights)
    # A sum of squares that is rounded may leave a value a hair above 1.
    return found.clip(0.0, 1.0)


def counted_words(
    texts: Sequence[str], vocabulary: Sequence[str], weights: Sequence[float]
) -> np.ndarray:
    """The tf-idf of texts, float64 [n, places], each text of length 1 or 0.

    Args:
        texts: Empty for missing.
        vocabulary: What each place counts.
        weights: The idf of each place.
    """
    places = {word: place for place, word in enumerate(vocabulary)}
    counts = np.zeros((len(texts), len(vocabulary)))
    for row, text in zip(counts, texts, strict=True):
        for word in words_and_pairs(text):
            place = places.get(word)
            if place is not None:
                row[place] += 1
    some = counts > 0
    counts[some] = np.log(counts[some]) + 1.0
    return _of_length_one(counts * np.asarray(weights))


def hashed_words(texts: Sequence[str], places: int) -> np.ndarray:
    """Counts of words at places by their hash, float64 [n, places], each text of length 1 or 0."""
    counts = np.zeros((len(texts), places))
    for row, text in zip(counts, texts, strict=True):
        for word in words_and_pairs(text):
            row[abs(_hash(word)) % places] += 1
    return _of_length_one(counts)


def _of_length_one(rows: np.ndarray) -> np.ndarray:
    lengths = np.sqrt((rows**2).sum(axis=1, keepdims=True))
    return np.divide(rows, lengths, out=rows, where=lengths > 0)


@lru_cache(maxsize=_KNOWN_HASHES)
def _hash(word: str) -> int:
    """MurmurHash3 of the word in UTF-8, 32 bits, signed, with seed 0."""
    found, data = 0, word.encode()
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        found ^= _mixed(int.from_bytes(data[start : start + 4], "little"))
        found = (_turned(found, 13) * 5 + 0xE6546B64) & _ALL
    found ^= _mixed(int.from_bytes(data[whole:], "little")) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        found = ((found ^ found >> shift) * factor) & _ALL
    found ^= found >> 16
    return found - (1 << 32) if found >> 31 else found


def _mixed(block: int) -> int:
    return (_turned((block * 0xCC9E2D51) & _ALL, 15) * 0x1B873593) & _ALL


def _turned(bits: int, by: int) -> int:
    return ((bits << by) | (bits >> (32 - by))) & _ALL
