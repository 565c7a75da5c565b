"""The program of a language model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from meritnas.data.texts.encoder import TextEncoder
from meritnas.errors import MeritNASError
from meritnas.exporting.alone.program import Loaded
from meritnas.prediction.writer import write_on


class Predictor(Loaded):
    """A language model: a text -> what follows it."""

    @torch.no_grad()
    def outputs(self, text: str) -> Tensor:
        """The scores of what follows each word of a text [words, vocabulary]."""
        words = TextEncoder.from_json(self.encoder).read(text)
        network: Any = self.network
        scores: Tensor = network.advance(words.unsqueeze(0))[0][0]
        return scores

    @torch.no_grad()
    def write(
        self, prompt: str = "", words: int = 50, temperature: float = 1.0, seed: int = 0
    ) -> str:
        """A text and what follows it.

        Args:
            prompt: What the text begins with.
            words: How many words, or characters, to add.
            temperature: Below 1 for the likely, above for the surprising; 0 for the most likely.
            seed: Same seed, same text.
        """
        encoder = TextEncoder.from_json(self.encoder)
        return write_on(encoder, self.network, prompt, words, temperature, seed)


def write_words(program: type[Predictor], arguments: Sequence[str] | None = None) -> int:
    """The command: what a language model goes on with.

    Returns:
        0; 2 if the model cannot go on.
    """
    parser = argparse.ArgumentParser(description="What this language model goes on with.")
    parser.add_argument("--prompt", default="", help="what the text begins with")
    parser.add_argument("--words", type=int, default=50, help="how many words it adds")
    parser.add_argument("--temperature", type=float, default=1.0, help="below 1 for likely words")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same text")
    parser.add_argument("--out", type=Path, help="a text file; usual: standard output")
    asked = parser.parse_args(arguments)
    try:
        text = program().write(asked.prompt, asked.words, asked.temperature, asked.seed)
    except (MeritNASError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    written = (text + "\n").encode("utf-8", "backslashreplace")
    if asked.out is None:
        sys.stdout.buffer.write(written)
    else:
        asked.out.write_bytes(written)
    return 0
