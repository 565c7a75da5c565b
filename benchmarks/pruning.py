"""A trained network pruned to an exact number of weights, beside Torch-Pruning.

A convolutional network is trained on images, or linear layers on a table, then made as small as 50,
25 and 10 % of its weights by both, and trained on for the same number of epochs by the same recipe;
the best epoch on the validation rows is kept, and judged on the test rows. MeritNAS
(`meritnas.nn.prunable`) looks at the networks that fit exactly: those that keep the most of the
weights' norms, found exactly, and random ones, each judged once on the validation rows with the
weights as they are. Torch-Pruning takes a ratio and no count: the ratio of its global magnitude
pruning is bisected to the largest network within the count.

    nice -n 19 python benchmarks/pruning.py mnist5k --json pruning.json
    nice -n 19 python benchmarks/pruning.py adult.csv.gz --target income

Needs torch-pruning (the extra `peers`).
"""

from __future__ import annotations

import copy
import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import meritnas.nn as mn
from meritnas import space_of
from meritnas.data.bundle import Bundle, Part
from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.source import load_images
from meritnas.data.rows import Rows
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import load_source
from meritnas.families.built.family import BuiltSpace
from meritnas.settings.recipe import TrainRecipe
from meritnas.supernet.gates import one_path
from meritnas.training.metrics import score
from meritnas.training.train import outputs_of, train_child
from scoreboard import Target, arguments, finish, show

SHARES = (0.5, 0.25, 0.1)
BEST, RANDOM = 32, 96
RECIPE = TrainRecipe(learning_rate=0.002, batch_size=64)


def network(inputs: tuple[int, ...], outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    before = inputs[0]
    if len(inputs) == 1:
        for width in (128, 128, 64):
            layers += [nn.Linear(before, width), nn.BatchNorm1d(width), nn.ReLU()]
            before = width
        return nn.Sequential(*layers, nn.Linear(before, outputs))
    for number, width in enumerate((32, 64, 64, 128)):
        layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)]
        layers += [nn.ReLU()]
        layers += [nn.MaxPool2d(2)] if number % 2 == 0 else []
        before = width
    return nn.Sequential(
        *layers,
        *(nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(4 * before, 64), nn.ReLU()),
        nn.Linear(64, outputs),
    )


def whole(rows: object) -> Part:
    """Rows that are all in memory."""
    assert isinstance(rows, Part)
    return rows


def weights(module: nn.Module) -> int:
    return sum(param.numel() for param in module.parameters())


def accuracy(module: nn.Module, bundle: Bundle[Any]) -> float:
    test = whole(bundle.test)
    return score(bundle.task, outputs_of(module, test.inputs), test.target)["accuracy"]


def images(name: str) -> Bundle[Any]:
    source = load_images(name)
    return encode_images(source, outline_images(source, 0))


def table(name: str, target: str) -> Bundle[Any]:
    """A table whose categories are a column each, so that there are numbers only."""
    bundle = make_bundle(load_source(name, target), 0)
    numbers, counts = bundle.encoder.numbers, bundle.encoder.cardinalities

    def spread(part: Rows) -> Part:
        rows = whole(part)
        codes = rows.inputs[:, numbers:].long().unbind(1)
        columns = [F.one_hot(own, count) for own, count in zip(codes, counts, strict=True)]
        return replace(rows, inputs=torch.cat([rows.inputs[:, :numbers], *columns], 1))

    train, valid, test = map(spread, (bundle.train, bundle.valid, bundle.test))
    return replace(bundle, train=train, valid=valid, test=test)


def space(trained: nn.Module, bundle: Bundle[Any], shares: int) -> tuple[BuiltSpace, nn.Module]:
    """The network's widths as decisions, and the network itself, its units in order."""
    example = whole(bundle.train).inputs[:2]
    ready = mn.prunable(trained, example, kept=[k / shares for k in range(1, shares + 1)])
    return space_of(ready, tuple(example.shape[1:]), bundle.task.outputs), ready


def ours(
    family: BuiltSpace, ready: nn.Module, bundle: Bundle[Any], limit: int, seed: int
) -> nn.Module:
    """The network within the count that answers best, of those that look best and random ones."""
    feasible = family.feasible(max_params=limit)
    tried = {str(one): one for one in feasible.k_best(kept_norms(family, ready), BEST)}
    flat = [np.zeros(size) for size in family.space.sizes]
    # Half of them rather wide: most networks that fit are far smaller than they may be.
    wide = [np.linspace(0.0, 2.0, size) for size in family.space.sizes]
    for law in (flat, wide):
        tried |= {str(one): one for one in feasible.sample(law, RANDOM // 2, seed)}
    supernet, valid = family.supernet(), whole(bundle.valid)
    losses = {}
    with torch.no_grad():
        for text, one in tried.items():
            outputs = supernet(valid.inputs, one_path(family.space.picks(one)))
            losses[text] = float(bundle.task.loss(outputs, valid.target))
    return family.child(min(losses, key=lambda text: losses[text]))


def kept_norms(family: BuiltSpace, ready: nn.Module) -> list[np.ndarray]:
    """For each decision and width the logarithm of the share of the weights' norm it keeps."""
    named = dict(ready.named_modules())
    rows = []
    for decision in family.space.decisions:
        weight = named[f"{decision.name}.layer"].weight
        assert isinstance(weight, Tensor)
        kept = weight.detach().flatten(1).square().sum(1).cumsum(0)
        numbers = [int(option.name) for option in decision.options]
        rows.append(np.log(np.array([float(kept[n - 1] / kept[-1]) for n in numbers])))
    return rows


def theirs(trained: nn.Module, bundle: Bundle[Any], limit: int) -> nn.Module:
    """Global magnitude pruning at the largest ratio of units whose network is within the count."""
    import torch_pruning  # of the extra [peers]

    example = whole(bundle.train).inputs[:2]
    low, high, found = 0.0, 0.99, None
    for _ in range(12):
        ratio = (low + high) / 2
        module = copy.deepcopy(trained)
        pruner = torch_pruning.pruner.MagnitudePruner(
            module,
            example,
            importance=torch_pruning.importance.MagnitudeImportance(p=2),
            global_pruning=True,
            pruning_ratio=ratio,
            ignored_layers=[module[-1]],  # type: ignore[index]
        )
        pruner.step()
        if weights(module) <= limit:
            found, high = module, ratio
        else:
            low = ratio
    assert found is not None
    return found


def rows_of(bundle: Bundle[Any], seed: int, epochs: int, shares: int) -> list[dict[str, Any]]:
    inputs = tuple(whole(bundle.train).inputs.shape[1:])
    torch.manual_seed(seed)
    module = network(inputs, bundle.task.outputs)
    loss = bundle.task.loss
    train_child(module, bundle.train, bundle.valid, loss, RECIPE, epochs, seed)
    first: dict[str, Any] = {
        "seed": seed,
        "share": 1.0,
        "method": "whole",
        "limit": weights(module),
    }
    rows = [{**first, "weights": weights(module), "accuracy": accuracy(module, bundle)}]
    begin = time.perf_counter()
    family, ready = space(module, bundle, shares)
    assert family.cost(family.space.architecture([n - 1 for n in family.space.sizes])) > 0
    rows[0] |= {"choosing_s": time.perf_counter() - begin}
    for share in SHARES:
        limit = int(share * weights(module))
        for method in ("meritnas", "torch-pruning"):
            begin = time.perf_counter()
            if method == "meritnas":
                pruned = ours(family, ready, bundle, limit, seed)
            else:
                pruned = theirs(module, bundle, limit)
            choosing = time.perf_counter() - begin
            begin = time.perf_counter()
            pruned.train()  # a copy of what was judged is in evaluation mode
            train_child(pruned, bundle.train, bundle.valid, loss, RECIPE, epochs, seed)
            found: dict[str, Any] = {"seed": seed, "share": share, "method": method, "limit": limit}
            found |= {"weights": weights(pruned), "accuracy": accuracy(pruned, bundle)}
            found |= {"choosing_s": choosing, "training_s": time.perf_counter() - begin}
            rows.append(found)
    return rows


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="bundled images by name, images by path, or a table")
    parser.add_argument("--target", help="the column to predict, of a table")
    parser.add_argument("--seeds", default="0,1,2", help="of training, at commas")
    parser.add_argument("--epochs", type=int, default=8, help="of each training")
    args = parser.parse_args()
    torch.set_num_threads(1)
    bundle = table(args.data, args.target) if args.target else images(args.data)
    seeds = [0] if args.quick else [int(seed) for seed in args.seeds.split(",")]
    if args.quick:
        few = np.arange(64)
        part = whole(bundle.train).rows(torch.from_numpy(few))
        bundle = replace(bundle, train=part, valid=part, test=part)
    epochs, shares = (1, 8) if args.quick else (args.epochs, 16)
    rows = [row for seed in seeds for row in rows_of(bundle, seed, epochs, shares)]
    show("pruned to a share of the weights and trained on", rows)
    targets = []
    own = [row for row in rows if row["method"] == "meritnas"]
    kept = sum(row["weights"] <= row["limit"] for row in own)
    targets.append(Target(f"the count kept in all of {len(own)}", str(kept), kept == len(own)))
    for share in SHARES:
        mean = {
            method: float(
                np.mean(
                    [r["accuracy"] for r in rows if (r["method"], r["share"]) == (method, share)]
                )
            )
            for method in ("meritnas", "torch-pruning")
        }
        met = mean["meritnas"] >= mean["torch-pruning"]
        said = f"{mean['meritnas']:.4f} and {mean['torch-pruning']:.4f}"
        targets.append(Target(f"at {share:.0%} as good as Torch-Pruning at least", said, met))
    return finish(rows, targets, args)


if __name__ == "__main__":
    sys.exit(main())
