"""How sparse the codes of sparse operations are, how near the optimum, and what they take.

    nice -n 19 python benchmarks/sparse_codes.py --seeds 0,1,2 --json codes.json

Two halves of handwritten digits (bundled with scikit-learn) are joined by a network of two cells
with sparse operations, which is trained by the recipe of `--preset quick`, once for each number of
FISTA steps and each lambda_1. Told of its codes on the test rows: the share of exact zeros, the
distance to the optimum |z - z*| / |z*| (z* by 2,000 steps), the share of zeros at the optimum, and
what the objective is above its minimum; of the network: test accuracy, clean and with Gaussian
noise (mean of three levels); milliseconds of a training step of 256 rows.
"""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import product
from statistics import mean
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

from meritnas.data.bundle import Bundle, Part
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import LEVELS, add_noise
from meritnas.data.modalities.source import load_modalities
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.fusion.sparse_coding import (
    SparseCoding,
    fista,
    largest_eigenvalue,
    objective,
    unit_atoms,
)
from meritnas.families.presets.modalities import fusion_recipe
from meritnas.training.metrics import score
from meritnas.training.train import outputs_of, train_child
from scoreboard import arguments, finish, show

NETWORK = (
    "cell1(upper.0, lower.0): step1 = sparse_concat(x, y) + "
    "cell2(lower.0, cell1): step1 = sparse_glu(x, y)"
)
_NEAR = 2000
"""Steps that come to the optimum."""


def digits(seed: int) -> Bundle[ModalityEncoder]:
    """The upper and the lower half of each digit."""
    images, label = load_digits(return_X_y=True)
    halves = {"upper": images[:, :32], "lower": images[:, 32:], "label": label}
    source = load_modalities({name: np.asarray(part) for name, part in halves.items()}, "label")
    return encode_modalities(source, outline_modalities(source, seed))


def codes_of(network: nn.Module, rows: Tensor) -> list[tuple[SparseCoding, Tensor, Tensor]]:
    """Each sparse-coding layer with what it read and the code that it gave."""
    found: list[tuple[SparseCoding, Tensor, Tensor]] = []

    def seen(layer: nn.Module, read: tuple[Tensor, ...], gave: Tensor) -> None:
        assert isinstance(layer, SparseCoding)
        found.append((layer, read[0], gave))

    hooks = [
        layer.register_forward_hook(seen)
        for layer in network.modules()
        if isinstance(layer, SparseCoding)
    ]
    with torch.no_grad():
        network.eval()(rows)
    for hook in hooks:
        hook.remove()
    return found


def about_codes(network: nn.Module, rows: Tensor) -> dict[str, float]:
    """Means over the network's sparse-coding layers, computed in double precision."""
    told: dict[str, list[float]] = {"zeros": [], "off": [], "zeros at best": [], "above": []}
    for layer, signals, codes in codes_of(network, rows):
        read, given = signals.double(), codes.double()
        atoms = unit_atoms(layer.weight.detach().double())
        step = 0.9 / largest_eigenvalue(atoms, read.shape[2])
        best = fista(read, atoms, step, _NEAR, layer.l1, layer.l2, layer.positive)
        reached, least = (float(objective(read, z, atoms, layer.l1)) for z in (given, best))
        told["zeros"].append(float((given == 0).double().mean()))
        told["zeros at best"].append(float((best == 0).double().mean()))
        told["off"].append(float((given - best).norm() / best.norm().clamp_min(1e-12)))
        told["above"].append(reached / max(least, 1e-12) - 1)
    return {name: mean(values) for name, values in told.items()}


def milliseconds(family: FusionSpace, rows: Tensor, target: Tensor, turns: int) -> float:
    """The median time of a training step."""
    network = family.child(NETWORK)
    spent = []
    for _ in range(turns):
        begun = time.perf_counter()
        nn.functional.cross_entropy(network(rows), target).backward()
        spent.append(1000 * (time.perf_counter() - begun))
    return float(np.median(spent))


def row(bundle: Bundle[ModalityEncoder], seed: int, steps: int, l1: float, quick: bool) -> Any:
    """One training, and what is told of it."""
    layout = bundle.encoder.layout
    shapes = bundle.encoder.inputs.modalities
    family = fusion_space(
        shapes, bundle.task.outputs, channels=32, length=4, l1=l1, fista_steps=steps
    )
    train = bundle.train
    assert isinstance(train, Part)
    recipe = fusion_recipe("quick", len(train.target))
    trained = train_child(
        *(family.child(NETWORK, seed=seed, dropout=0.2), train, bundle.valid),
        *(bundle.task.loss, replace(recipe.retrain, dropout=0.2)),
        *(1 if quick else recipe.retrain_epochs, seed),
    )
    test, said = bundle.test, {}
    every = range(len(layout.names))
    for level in (0.0, *LEVELS):
        inputs = add_noise(test.inputs, layout, every, "gaussian", level, seed)
        found = score(bundle.task, outputs_of(trained.module, inputs), test.target)
        said[level] = found["accuracy"]
    rows, target = train.inputs[:256], train.target[:256]
    return {
        "steps": steps,
        "lambda": l1,
        "seed": seed,
        **about_codes(trained.module, test.inputs),
        "clean": said[0.0],
        "noise": mean(said[level] for level in LEVELS),
        "ms": milliseconds(family, rows, target, 3 if quick else 40),
    }


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--steps", default="1,2,5,10,20")
    parser.add_argument("--sparsities", default="0.1,0.3,1.0")
    parser.add_argument("--seeds", default="0,1,2")
    args = parser.parse_args()
    torch.set_num_threads(1)
    tried = list(product(map(int, args.steps.split(",")), map(float, args.sparsities.split(","))))
    seeds = list(map(int, args.seeds.split(",")))
    if args.quick:
        tried, seeds = tried[:1], seeds[:1]
    rows = []
    for seed in seeds:
        bundle = digits(seed)
        rows += [row(bundle, seed, steps, l1, args.quick) for steps, l1 in tried]
    means = [
        {
            name: mean(one[name] for one in rows if (one["steps"], one["lambda"]) == pair)
            for name in rows[0]
            if name != "seed"
        }
        for pair in tried
    ]
    show(f"codes of trained networks, means over {len(seeds)} seeds", means)
    return finish(rows, [], args)


if __name__ == "__main__":
    raise SystemExit(main())
