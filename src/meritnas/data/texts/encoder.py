"""Words, or characters, and their numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from meritnas.data.texts.words import END, UNKNOWN, Level, join_words, split_text
from meritnas.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class TextEncoder:
    """Words, or characters, and their numbers.

    Attributes:
        words: The vocabulary; a word's number is its place. `<unk>` comes first.
        level: What a text is made of.
        tokenised: Whether spaces set words and marks apart in a text.
    """

    kind: ClassVar[str] = "text"
    scalable: ClassVar[bool] = False

    words: tuple[str, ...]
    level: Level
    tokenised: bool = False

    @classmethod
    def fit(
        cls, train: Sequence[str], level: Level, most: int = 10_000, *, tokenised: bool = False
    ) -> TextEncoder:
        """The most frequent words of the training part, the earlier in the alphabet if equal.

        Args:
            train: Words in order.
            level: What they are.
            most: The largest vocabulary, `<unk>` included.
            tokenised: Whether spaces set words and marks apart in a text.
        """
        if most < 2:
            raise DataError(f"a vocabulary needs at least 2 words, <unk> and another, got {most}")
        counts = Counter(train)
        counts.pop(UNKNOWN, None)
        ranked = sorted(counts, key=lambda word: (-counts[word], word))
        return cls((UNKNOWN, *ranked[: most - 1]), level, tokenised)

    @property
    def inputs(self) -> int:
        """What comes into a network: how many words there are."""
        return len(self.words)

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word -> its number."""
        return {word: number for number, word in enumerate(self.words)}

    @property
    def beginning(self) -> int:
        """The number of what stands before a text: the end of another, where there is such."""
        return self.numbers.get(END if self.level == "word" else "\n", 1)

    def transform(self, words: Sequence[str]) -> Tensor:
        """Numbers int64 [n] of words; 0 for what the vocabulary does not have."""
        import torch  # here: a run's encoder is read, and shown, without it

        return torch.tensor([self.numbers.get(word, 0) for word in words], dtype=torch.int64)

    def read(self, text: str) -> Tensor:
        """Numbers of a text as someone types it; no `<eos>` at its end."""
        words = split_text(text, self.level, tokenised=self.tokenised)
        return self.transform(words[:-1] if self.level == "word" else words)

    def write(self, numbers: Sequence[int]) -> str:
        """The text that numbers stand for."""
        words = [self.words[number] for number in numbers]
        if not self.tokenised or self.level == "character":
            return join_words(words, self.level)
        return "\n".join(line.strip() for line in " ".join(words).split(END))

    @property
    def own_names(self) -> frozenset[str]:
        """What it has imported of a user's own: nothing."""
        return frozenset()

    @property
    def warnings(self) -> list[str]:
        """Nothing."""
        return []

    def to_json(self) -> dict[str, Any]:
        """Plain data for `from_json`."""
        return {
            "kind": "text",
            "words": list(self.words),
            "level": self.level,
            "tokenised": self.tokenised,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> TextEncoder:
        """The encoder that gave this data."""
        return cls(tuple(data["words"]), data["level"], data["tokenised"])
