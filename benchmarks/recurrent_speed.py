"""Words a second of a found language model against torch's LSTM with as many weights.

    python benchmarks/recurrent_speed.py --json speed.json

Both have the same vocabulary and embedding width; the LSTM is as wide as gives it the number of
weights that is nearest to the child's. Training steps (forward, back, clipped SGD) and scoring
without gradients, on windows of 35 words, in turns and on one thread, so that both sides see the
same noise. The cell has an activation on every edge.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas import recurrent_space
from scoreboard import Target, arguments, finish, show

GOAL = 0.25
CELL = "|tanh~0|+|relu~0|sigmoid~1|+|identity~0|tanh~1|relu~2|"
CLIP = 0.25


class Lstm(nn.Module):
    """Embedding, one LSTM layer, linear output."""

    def __init__(self, vocabulary: int, embedding: int, width: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(embedding, width, batch_first=True)
        self.output = nn.Linear(width, vocabulary)

    def forward(self, inputs: Tensor) -> Tensor:
        """Words [n, steps] -> scores [n, steps, vocabulary]."""
        scores: Tensor = self.output(self.lstm(self.words(inputs))[0])
        return scores


def weights(module: nn.Module) -> int:
    return sum(param.numel() for param in module.parameters())


def lstm_like(vocabulary: int, embedding: int, most: int) -> Lstm:
    """The LSTM whose number of weights is nearest."""

    def size(width: int) -> int:
        return vocabulary * (embedding + width + 1) + 4 * width * (embedding + width + 2)

    width = min(range(1, 4 * embedding), key=lambda one: abs(size(one) - most))
    return Lstm(vocabulary, embedding, width)


def training(module: nn.Module, words: Tensor) -> Callable[[], None]:
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        scores = module(words[:, :-1])
        F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten()).backward()
        nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        optimizer.step()

    return step


def scoring(module: nn.Module, words: Tensor) -> Callable[[], None]:
    def step() -> None:
        with torch.no_grad():
            module(words[:, :-1])

    return step


def compare(
    work: str, sides: dict[str, Callable[[], None]], words: int, rounds: int
) -> dict[str, Any]:
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for step in sides.values():
        step()  # the first makes room
    for _ in range(rounds):
        for name, step in sides.items():
            begun = time.perf_counter()
            step()
            spent[name].append(time.perf_counter() - begun)
    ratios = [lstm / child for lstm, child in zip(spent["lstm"], spent["child"], strict=True)]
    return {
        "work": work,
        "child words a second": round(words / median(spent["child"])),
        "lstm words a second": round(words / median(spent["lstm"])),
        "ratio": round(median(ratios), 3),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--width", type=int, default=300)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=35, help="words of a window")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    if args.quick:
        args.vocabulary, args.width, args.batch, args.steps, args.rounds = 50, 8, 2, 4, 2
    torch.set_num_threads(args.threads)
    child = recurrent_space(args.vocabulary, args.width).child(CELL)
    lstm = lstm_like(args.vocabulary, args.width, weights(child))
    words = torch.randint(args.vocabulary, (args.batch, args.steps + 1))
    sides = {"child": child, "lstm": lstm}
    rows = [
        compare(
            name,
            {side: make(module, words) for side, module in sides.items()},
            args.batch * args.steps,
            args.rounds,
        )
        for name, make in (("training", training), ("scoring", scoring))
    ]
    rows = [{**row, "child weights": weights(child), "lstm weights": weights(lstm)} for row in rows]
    show(f"batch {args.batch}, width {args.width}, {args.vocabulary} words", rows)
    targets = [
        Target(
            f"{row['work']}: at least {GOAL} of the LSTM's speed",
            f"{row['ratio']:.2f}",
            row["ratio"] >= GOAL,
        )
        for row in rows
    ]
    return finish(rows, targets, args)


if __name__ == "__main__":
    raise SystemExit(main())
