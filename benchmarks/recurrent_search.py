"""Recurrent cells found by several strategies, after equal training; LSTM and GRU beside them.

    python benchmarks/recurrent_search.py book.txt --json rows.json

Each strategy searches the cell of a language model on the same words for the same number of passes,
in AdvantageNAS' space, without known cells; what it found is trained from scratch, all by one
recipe. `random` judges uniform cells by one-shot loss. An LSTM and a GRU with as many weights as
the cell with an activation on every edge are trained the same way. Perplexity on validation and
test words, as AdvantageNAS' table 3.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

import meritnas
from meritnas.data.texts.reading import TextReading
from meritnas.data.texts.source import load_text
from meritnas.families.family import seeded
from meritnas.families.recurrent.spec import Recurrent
from meritnas.run.begin import begin
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining
from meritnas.strategy.catalogue import strategy_spec
from meritnas.training.metrics import scores_on
from meritnas.training.train import train_child
from nasbench201 import workers
from scoreboard import Target, arguments, finish, show

STRATEGIES = "advantage,reinforce,gdas,proxyless,parsec,random"
KNOWN = ("lstm", "gru")
PROCESS_BEST = ("reinforce", "gdas")
"""What AdvantageNAS' comparison chooses by the best network that was seen."""

FULL = "|tanh~0|+|tanh~0|tanh~1|+|tanh~0|tanh~1|tanh~2|"


@dataclass(frozen=True)
class Sizes:
    """Of all searches and trainings."""

    text: Path
    words: int
    vocabulary: int
    width: int
    epochs: int
    retrain_epochs: int


class Known(nn.Module):
    """A language model with a cell that everybody knows.

    Args:
        kind: `lstm` or `gru`.
        words: of the vocabulary.
        embedding: their width.
        width: of the state.
        dropout: on embeddings and outputs.
    """

    def __init__(self, kind: str, words: int, embedding: int, width: int, dropout: float) -> None:
        super().__init__()
        self.words = nn.Embedding(words, embedding)
        cell = nn.LSTM if kind == "lstm" else nn.GRU
        self.cell = cell(embedding, width, batch_first=True)
        self.output = nn.Linear(width, words)
        self.dropout = nn.Dropout(dropout)

    def forward(self, inputs: Tensor) -> Tensor:
        """Words [n, steps] -> scores [n, steps, words]."""
        return self.advance(inputs)[0]

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """(scores, the state after the last word, an LSTM's two side by side)."""
        embedded = self.dropout(self.words(inputs))
        given: Any = None
        if state is not None:
            parts = [part[None].contiguous() for part in state.split(self.cell.hidden_size, dim=1)]
            given = tuple(parts) if isinstance(self.cell, nn.LSTM) else parts[0]
        outputs, after = self.cell(embedded, given)
        kept = torch.cat(after, dim=2)[0] if isinstance(after, tuple) else after[0]
        return self.output(self.dropout(outputs)), kept


def known_like(kind: str, words: int, embedding: int, params: int, dropout: float) -> Known:
    """The one whose number of weights is nearest."""

    def count(width: int) -> int:
        gates = 4 if kind == "lstm" else 3
        return words * (embedding + width + 1) + gates * width * (embedding + width + 2)

    width = min(range(1, 6 * embedding), key=lambda one: abs(count(one) - params))
    return Known(kind, words, embedding, width, dropout)


def shortened(sizes: Sizes, folder: Path) -> Path:
    """A folder with the first words of a text in three parts, as a corpus that is split already."""
    source = load_text(sizes.text)
    share = min(1.0, sizes.words / len(source.train))
    for name in ("train", "valid", "test"):
        words = getattr(source, name)
        kept = words[: max(2, int(share * len(words)))]
        text = " ".join(kept).replace("<eos>", "\n")
        (folder / f"{name}.txt").write_text(text + "\n")
    return folder


def run_search(sizes: Sizes, strategy: str, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    options = {"final": "process-best"} if strategy in PROCESS_BEST else {}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "text").mkdir()
        found = meritnas.search(
            shortened(sizes, place / "text"),
            space=Recurrent(width=sizes.width, known_cells=False),
            strategy=strategy_spec(strategy, options),
            epochs=sizes.epochs,
            reading=TextReading(vocabulary=sizes.vocabulary),
            retraining=Retraining(epochs=sizes.retrain_epochs, seeds=1, finalists=1, plain=False),
            seed=seed,
            out=place / "run",
            run=RunOptions(threads=1),
        )
        valid = json.loads((place / "run" / "retrain.json").read_text())["results"][0]["valid_loss"]
    return {
        "model": strategy,
        "seed": seed,
        "cell": str(found.architecture),
        "params": found.summary["params"],
        "valid_perplexity": round(float(np.exp(valid)), 2),
        "test_perplexity": round(found.test["perplexity"], 2),
        "minutes": round((time.perf_counter() - begun) / 60, 2),
    }


def run_known(sizes: Sizes, kind: str, seed: int) -> dict[str, Any]:
    begun = time.perf_counter()
    torch.set_num_threads(1)
    asked = Request(
        space=Recurrent(width=sizes.width, known_cells=False),
        reading=TextReading(vocabulary=sizes.vocabulary),
    )
    with tempfile.TemporaryDirectory() as folder:
        job, _ = begin(shortened(sizes, Path(folder)), None, asked)
    bundle, recipe = job.bundle, job.settings.alone
    params = job.ground.family.cost(FULL)
    with seeded(seed):
        model = known_like(kind, bundle.task.outputs, sizes.width, params, recipe.dropout or 0.0)
    trained = train_child(
        model, bundle.train, bundle.valid, bundle.task.loss, recipe, sizes.retrain_epochs, seed
    )
    scores = scores_on(trained.module, bundle.task, bundle.test)
    return {
        "model": kind,
        "seed": seed,
        "cell": kind,
        "params": sum(param.numel() for param in model.parameters()),
        "valid_perplexity": round(float(np.exp(trained.valid_loss)), 2),
        "test_perplexity": round(scores["perplexity"], 2),
        "minutes": round((time.perf_counter() - begun) / 60, 2),
    }


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for model in dict.fromkeys(row["model"] for row in rows):
        own = [row for row in rows if row["model"] == model]
        tests = [row["test_perplexity"] for row in own]
        found.append(
            {
                "model": model,
                "valid perplexity": round(mean(row["valid_perplexity"] for row in own), 2),
                "test perplexity": round(mean(tests), 2),
                "spread": round(stdev(tests), 2) if len(tests) > 1 else 0.0,
                "params": round(mean(row["params"] for row in own)),
                "minutes": round(mean(row["minutes"] for row in own), 2),
            }
        )
    return sorted(found, key=lambda row: row["test perplexity"])


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw the best cell of each strategy: nodes in a row, an arc for every edge."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = [row for row in rows if row["model"] not in KNOWN]
    best: dict[str, dict[str, Any]] = {}
    for row in sorted(found, key=lambda row: row["test_perplexity"]):
        best.setdefault(row["model"], row)
    figure = Figure(figsize=(10, 2.1 * -(-len(best) // 2)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(-(-len(best) // 2), 2, squeeze=False).flatten()
    for axes in places:
        axes.set_axis_off()
    for axes, row in zip(places, best.values(), strict=False):
        _draw_cell(axes, row["cell"])
        axes.set_title(f"{row['model']}: test perplexity {row['test_perplexity']:.0f}", fontsize=10)
    figure.savefig(path)


def _draw_cell(axes: Any, cell: str) -> None:
    nodes = cell.split("+")
    axes.set_xlim(-0.5, len(nodes) + 0.5)
    axes.set_ylim(-0.7, 1.7)
    for number in range(len(nodes) + 1):
        text = "x, h" if number == 0 else str(number)
        axes.text(number, 0, text, ha="center", va="center", bbox={"boxstyle": "circle", "fc": "w"})
    for number, node in enumerate(nodes, start=1):
        for edge in node.strip("|").split("|"):
            name, _, source = edge.partition("~")
            reach = number - int(source)
            colour = "0.7" if name == "zero" else "C0"
            style = {"arrowstyle": "->", "color": colour, "shrinkA": 12, "shrinkB": 12}
            style["connectionstyle"] = f"arc3,rad={-0.55 if reach > 1 else 0}"
            axes.annotate("", (number, 0), (int(source), 0), arrowprops=style)
            middle = (number + int(source)) / 2
            height = 0.12 if reach == 1 else 0.31 * reach
            axes.text(middle, height, name, ha="center", va="bottom", fontsize=7, color=colour)


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("text", type=Path)
    parser.add_argument("--figure", type=Path, help="draw the best cells into this file")
    parser.add_argument("--strategies", default=STRATEGIES)
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--words", type=int, default=200_000, help="of the training part")
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--width", type=int, default=96)
    parser.add_argument("--epochs", type=int, default=4, help="of a search")
    parser.add_argument("--retrain-epochs", type=int, default=6)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    sizes = Sizes(
        args.text, args.words, args.vocabulary, args.width, args.epochs, args.retrain_epochs
    )
    if args.quick:
        sizes = Sizes(args.text, 2000, 50, 4, 1, 1)
    seeds = [int(seed) for seed in args.seeds.split(",")][: 1 if args.quick else None]
    names = args.strategies.split(",")[: 1 if args.quick else None]
    with workers(args.jobs, quick=args.quick) as pool:
        jobs = [pool.submit(run_search, sizes, name, seed) for seed in seeds for name in names]
        jobs += [pool.submit(run_known, sizes, kind, seed) for seed in seeds for kind in KNOWN]
        rows = []
        for job in jobs:
            rows.append(job.result())
            print({key: rows[-1][key] for key in ("model", "seed", "test_perplexity", "cell")})
    show("perplexity after equal training", summary(rows))
    if args.figure is not None:
        draw(rows, args.figure)
    return finish(rows, list(targets(rows)), args)


def targets(rows: list[dict[str, Any]]) -> Iterator[Target]:
    medians = {
        model: median(row["test_perplexity"] for row in rows if row["model"] == model)
        for model in dict.fromkeys(row["model"] for row in rows)
    }
    others = {
        m: value for m, value in medians.items() if m not in (*KNOWN, "advantage", "proxyless")
    }
    if "advantage" in medians and others:
        best = min(others, key=others.__getitem__)
        yield Target(
            "advantage leads all but proxyless, as in the paper's table 3",
            f"{medians['advantage']:.1f} against {others[best]:.1f} of {best}",
            medians["advantage"] <= others[best],
        )


if __name__ == "__main__":
    raise SystemExit(main())
