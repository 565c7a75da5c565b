"""Robust networks for several modalities: what `--robust` gains under noise, and what it costs.

    python benchmarks/robust.py --mfeat mfeat.npz --seeds 0,1,2,3,4 --json rows.json

On the data sets of `multimodal.py`, cut as there: the same search with and without `--robust`, with
as many epochs and finalists each and no limit on time. The winner is scored on test samples as they
are; with Gaussian noise of SM-ShapNAS' three levels on all modalities, and impulse noise of the
last, which no training has; and with one modality missing from three in ten samples, and from all.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from torch import Tensor

from meritnas.data.bundle import Bundle
from meritnas.data.modalities.bundle import encode_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import LEVELS, add_noise, drop_modalities
from meritnas.data.modalities.reading import ModalityReading
from meritnas.training.train import outputs_of
from multimodal import CASES, Case, Sizes, outline_of, searched, settings_for
from nasbench201 import workers
from scoreboard import Target, arguments, finish, keep, show

_DRAWN_BY = 7919
"""The noise of tests is that of no training and no validation."""


def disturbed(bundle: Bundle[ModalityEncoder], seed: int) -> dict[str, Tensor]:
    inputs, layout, drawn = bundle.test.inputs, bundle.encoder.layout, _DRAWN_BY + seed
    everyone = range(len(layout.names))
    return {
        "clean": inputs,
        **{
            f"gaussian {level:g}": add_noise(inputs, layout, everyone, "gaussian", level, drawn)
            for level in LEVELS
        },
        "impulse 0.1": add_noise(inputs, layout, everyone, "impulse", LEVELS[-1], drawn),
        "missing 0.3": drop_modalities(inputs, layout, 0.3, drawn),
        "missing 1": drop_modalities(inputs, layout, 1.0, drawn),
    }


def compare(case: Case, path: Path, seed: int, sizes: Sizes) -> list[dict[str, Any]]:
    """The same search twice, with one seed."""
    torch.set_num_threads(1)
    source, outline = outline_of(case, path, seed, sizes)
    bundle = encode_modalities(source, outline)
    tests, rows = disturbed(bundle, seed), []
    for robust in (False, True):
        settings = settings_for(source, outline, seed, sizes)
        settings = replace(settings, reading=ModalityReading(robust=robust))
        module, params, seconds, text = searched(settings, source, outline)
        for name, inputs in tests.items():
            score = float(bundle.task.score(outputs_of(module, inputs), bundle.test.target))
            rows.append(
                {
                    **{"data": case.name, "method": "robust" if robust else "usual", "seed": seed},
                    **{"test": name, "score": round(score, 4), "params": params},
                    **{"seconds": round(seconds, 1), "architecture": text},
                }
            )
    return rows


def summary(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for data, method in dict.fromkeys((row["data"], row["method"]) for row in rows):
        own = [row for row in rows if (row["data"], row["method"]) == (data, method)]
        line: dict[str, Any] = {"data": data, "method": method}
        for test in dict.fromkeys(row["test"] for row in own):
            scores = [100 * row["score"] for row in own if row["test"] == test]
            spread = f" ± {stdev(scores):.1f}" if len(scores) > 1 else ""
            line[test] = f"{mean(scores):.1f}{spread}"
        line["params"] = round(mean(row["params"] for row in own))
        line["seconds"] = round(mean(row["seconds"] for row in own), 1)
        found.append(line)
    return found


def targets(rows: list[dict[str, Any]]) -> list[Target]:
    """Ahead in the mean over all disturbed tests, and at most a point behind on clean ones."""
    found = []
    for data in dict.fromkeys(row["data"] for row in rows):
        for clean, behind in ((False, 0.0), (True, 0.01)):
            usual, robust = (
                mean(
                    row["score"]
                    for row in rows
                    if (row["data"], row["method"]) == (data, method)
                    and (row["test"] == "clean") == clean
                )
                for method in ("usual", "robust")
            )
            when = "clean, at most a point behind" if clean else "disturbed, ahead"
            measured = f"{100 * robust:.1f} against {100 * usual:.1f}"
            found.append(Target(f"{data}: {when}", measured, robust > usual - behind))
    return found


def main() -> int:
    parser = arguments(__doc__)
    for name in CASES:
        parser.add_argument(f"--{name}", type=Path, help="the file of this data set")
    parser.add_argument("--seeds", default="0,1,2,3,4")
    parser.add_argument("--epochs", type=int, help="of a search")
    parser.add_argument("--retrain-epochs", type=int)
    parser.add_argument("--finalists", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    seeds = [int(seed) for seed in args.seeds.split(",")]
    sizes = Sizes(None, args.epochs, args.retrain_epochs, args.finalists)
    if args.quick:
        sizes, seeds = Sizes(40, 1, 1, 1), seeds[:1]
    given = {name: path for name in CASES if (path := getattr(args, name)) is not None}
    if not given:
        parser.error("name at least one data set: --mfeat, --spoken or --reviews")
    rows: list[dict[str, Any]] = []
    with workers(args.jobs, quick=args.quick) as pool:
        jobs = [
            pool.submit(compare, CASES[name], path, seed, sizes)
            for seed in seeds
            for name, path in given.items()
        ]
        for job in jobs:
            rows += job.result()
            print(f"{rows[-1]['data']} {rows[-1]['seed']}", flush=True)
            keep(rows, args)  # so that an interruption loses little
    show("scores on samples that nothing else has seen, in percent", summary(rows))
    return finish(rows, [] if args.quick else targets(rows), args)


if __name__ == "__main__":
    raise SystemExit(main())
