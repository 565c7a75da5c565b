"""What untrained networks tell about NAS-Bench-201's cells: agreement with the table, and regret.

    python benchmarks/witnesses.py --images cifar10.npz --table nb201.csv.gz --json rows.json

Every live cell is looked at once, untrained, as deep as the benchmark's own networks but with fewer
channels on smaller images. The table's validation accuracies are the truth: Spearman's correlation
over all cells and in their better half, and the mean regret over a ladder of limits if the vote of
these witnesses, at these weights, chose among all cells that keep a limit.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.stats import spearmanr

from meritnas import nasbench201_space, nasbench201_table
from meritnas.data.bundle import Part
from meritnas.data.images.source import load_images
from meritnas.witness.untrained import Looks, gradients, patterns, some_rows
from meritnas.witness.vote import rank_sums
from nasbench201_limits import LADDER
from scoreboard import Target, arguments, finish, show

WEIGHTS: tuple[dict[str, float], ...] = (
    {"size": 1.0},
    {"patterns": 1.0},
    {"gradients": 1.0},
    {"patterns": 1.0, "size": 1.0},
    {"patterns": 1.0, "size": 1.0, "gradients": 0.25},
    {"patterns": 1.0, "size": 1.0, "gradients": 0.5},
    {"patterns": 1.0, "size": 1.0, "gradients": 1.0},
    {"patterns": 1.0, "size": 2.0, "gradients": 0.5},
)


def looks_at(
    images: Path, size: int, channels: int, cells: int, seed: int, picks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What both witnesses say about cells [n, edges]."""
    torch.set_num_threads(1)
    source = load_images(images, size)
    pixels = torch.from_numpy(source.images).permute(0, 3, 1, 2).float()
    means, spreads = pixels.mean((0, 2, 3), keepdim=True), pixels.std((0, 2, 3), keepdim=True)
    codes = torch.from_numpy(source.labels.astype("category").cat.codes.to_numpy().copy()).long()
    part = Part(((pixels - means) / spreads).contiguous(), codes, None)
    family = nasbench201_space(int(codes.max()) + 1, channels, cells, image=(3, size, size))

    def loss(outputs: torch.Tensor, target: torch.Tensor, _: torch.Tensor | None) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(outputs, target)

    looks = Looks(family, some_rows(part), loss, seed)
    return patterns(looks).judge(picks), gradients(looks).judge(picks)


def judged(
    said: Mapping[str, np.ndarray],
    weights: Mapping[str, float],
    truth: np.ndarray,
    params: np.ndarray,
) -> dict[str, Any]:
    """How well a vote agrees with the truth, and what it would choose under each limit."""
    chosen = {name: said[name] for name in weights}
    vote = -rank_sums(chosen, weights)
    better = truth > np.median(truth)
    regrets = []
    for limit in LADDER:
        fits = np.flatnonzero(params <= 1000 * limit) if limit else np.arange(len(params))
        own = {name: values[fits] for name, values in chosen.items()}
        first = fits[np.argmin(rank_sums(own, weights))]
        regrets.append(float(truth[fits].max() - truth[first]))
    return {
        "weights": ", ".join(f"{name} {weight:g}" for name, weight in weights.items()),
        "spearman": round(float(spearmanr(vote, truth)[0]), 3),
        "better half": round(float(spearmanr(vote[better], truth[better])[0]), 3),
        "mean regret": round(float(np.mean(regrets)), 2),
        **{str(limit or "none"): round(x, 1) for limit, x in zip(LADDER, regrets, strict=True)},
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--images", type=Path, required=True, help="CIFAR-10 images")
    parser.add_argument("--table", type=Path, required=True, help="NAS-Bench-201's table as CSV")
    parser.add_argument("--size", type=int, default=16, help="pixels each way")
    parser.add_argument("--channels", type=int, default=8)
    parser.add_argument("--cells", type=int, default=5, help="in each stage")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    table = nasbench201_table(args.table)
    family = nasbench201_space().useful
    known = set(table.architectures)
    texts = [str(one) for one in every(family.feasible())]
    texts = [text for text in texts if text in known][: 6 if args.quick else None]
    picks = np.array([family.space.picks(family.space.parse(text)) for text in texts])
    sizes = args.size, args.channels, 1 if args.quick else args.cells, args.seed
    begun = time.perf_counter()
    if args.quick:
        found = [looks_at(args.images, *sizes, picks)]
    else:
        with ProcessPoolExecutor(args.jobs, mp_context=get_context("spawn")) as pool:
            shares = np.array_split(picks, args.jobs)
            jobs = [pool.submit(looks_at, args.images, *sizes, share) for share in shares]
            found = [job.result() for job in jobs]
    seconds = time.perf_counter() - begun
    truth = np.array([table.accuracy(text, "cifar10", "valid") for text in texts])
    params = np.array([table.params(text) for text in texts])
    said = {
        "patterns": np.concatenate([both[0] for both in found]),
        "gradients": np.concatenate([both[1] for both in found]),
        "size": params.astype(float),
    }
    rows = [judged(said, weights, truth, params) for weights in WEIGHTS]
    print(f"{len(texts)} cells, {1000 * args.jobs * seconds / len(texts):.0f} ms each on one core")
    show("untrained witnesses against validation accuracy", rows)
    best = min(float(row["mean regret"]) for row in rows)
    aim = Target("mean regret of at most 1.0 untrained", f"{best:.2f}", best <= 1.0)
    return finish(rows, [aim], args)


def every(feasible: Any) -> Iterator[Any]:
    """All architectures of a small set."""
    yield from feasible.k_best([np.zeros(size) for size in feasible.space.sizes], feasible.count())


if __name__ == "__main__":
    raise SystemExit(main())
