"""What a language model goes on with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.texts.encoder import TextEncoder
from meritnas.errors import DataError, UsageError, whole_number
from meritnas.prediction.predictor import Predictor
from meritnas.settings.checks import check_arguments
from meritnas.training.train import Remembers

_MOST_WORDS = 1_000_000


@torch.no_grad()
def write_text(
    predictor: Predictor, prompt: str = "", words: int = 50, temperature: float = 1.0, seed: int = 0
) -> str:
    """What a language model goes on with.

    Words are drawn one by one, each by the network's probabilities for what follows. `<unk>` is
    never drawn: nobody could read it.

    Args:
        predictor: of a run on a text.
        prompt: what the text begins with.
        words: how many words, or characters, to add.
        temperature: scores are divided by it: below 1 for the likely, above for the surprising;
            0 for the most likely word always.
        seed: same seed, same text.

    Returns:
        The prompt, as the model reads it, and what follows.
    """
    encoder, module = predictor.encoder, predictor.module
    if not isinstance(encoder, TextEncoder) or not isinstance(module, Remembers):
        raise UsageError("only a network that was trained on a text goes on with a prompt")
    check_arguments(write_text, prompt=prompt, temperature=temperature)
    module.eval()
    return write_on(encoder, module, prompt, words, temperature, seed)


def write_on(
    encoder: TextEncoder, module: Any, prompt: str, words: int, temperature: float, seed: int
) -> str:
    """What `write_text` says, by the parts of a predictor; it leaves with exported networks.

    Args:
        encoder: words <-> numbers.
        module: in evaluation mode; it has `advance(words, state)`.
        prompt: what the text begins with.
        words: how many to add.
        temperature: what scores are divided by.
        seed: of what is drawn.
    """
    words = whole_number("words", words, 1, _MOST_WORDS)
    if not 0 <= temperature < np.inf:
        raise UsageError(f"temperature must be at least 0 and finite, got {temperature}")
    rng = np.random.default_rng(whole_number("seed", seed, 0))
    numbers = encoder.read(prompt).tolist() if prompt.strip() else [encoder.beginning]
    shown = 0 if prompt.strip() else 1
    scores, state = module.advance(torch.tensor([numbers]))
    for _ in range(words):
        following = _draw(scores[0, -1], temperature, rng)
        numbers.append(following)
        scores, state = module.advance(torch.tensor([[following]]), state)
    return encoder.write(numbers[shown:])


def _draw(scores: Tensor, temperature: float, rng: np.random.Generator) -> int:
    if not scores.isfinite().all():
        raise DataError(
            "the network's scores of the next word are no finite numbers, so that it cannot go on; "
            "train it anew with a smaller learning rate"
        )
    known = scores.double().numpy().copy()
    known[0] = -np.inf
    if temperature == 0:
        return int(known.argmax())
    chances = np.exp((known - known.max()) / temperature)
    return int(rng.choice(len(chances), p=chances / chances.sum()))
