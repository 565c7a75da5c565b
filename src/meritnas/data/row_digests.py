"""Numbers that stand for encoded rows, by which rows that were trained on are known again."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_SEED = 23
_MOST = 1 << 16
"""Digests that are kept: of larger tables those that are smallest, which are a random part."""
_TOP = 1 << 64


def row_digests(inputs: np.ndarray, answers: np.ndarray) -> np.ndarray:
    """A number for each row [n], uint64: the same for the same inputs and answer.

    Args:
        inputs: encoded rows, float32 [n, width].
        answers: encoded targets [n] or [n, labels].
    """
    targets = answers.reshape(len(inputs), -1).astype(np.float32)
    whole = np.concatenate([inputs.astype(np.float32, copy=False), targets], axis=1)
    bits = np.ascontiguousarray(whole + np.float32(0)).view(np.uint32)  # no two kinds of zero
    raw = np.random.PCG64(_SEED).random_raw(bits.shape[1])
    factors = np.asarray(raw, dtype=np.uint64) | np.uint64(1)
    found = np.zeros(len(bits), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for place in range(bits.shape[1]):
            column = bits[:, place].astype(np.uint64) + np.uint64(1)
            found = _mixed(found + column * factors[place])
    return found


def _mixed(numbers: np.ndarray) -> np.ndarray:
    """Numbers in which every bit depends on every bit (splitmix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


@dataclass(frozen=True)
class KnownRows:
    """Rows that a network was trained on, or chosen by.

    Attributes:
        digests: of them, sorted, uint64 [at most 65,536].
        share: the part of all digests that would have been kept: 1 where all were.
    """

    digests: np.ndarray
    share: float

    @classmethod
    def of(cls, digests: np.ndarray) -> KnownRows:
        """Of the digests of all rows."""
        different = np.unique(digests)
        if len(different) <= _MOST:
            return cls(different, 1.0)
        kept = different[:_MOST]
        return cls(kept, float(kept[-1]) / _TOP)

    def among(self, digests: np.ndarray) -> int:
        """About how many of some rows are known ones; exact where all digests were kept."""
        return round(int(np.isin(digests, self.digests).sum()) / self.share)
