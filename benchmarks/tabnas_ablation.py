"""TabNAS' ablations on a real table: which part of the search earns its place?

The space is so small that every feasible network is trained alone, more than once, before any
search. That table (kept in `--ground FILE`, so that a stopped run goes on) says what each network
is worth, and a search costs only itself: what it chose is looked up. Rank 1 is the best network;
regret is the mean stand-alone validation loss above the best one's, ± over the seeds of a search.
All searches share split, limit, training recipe and number of weight steps. What is varied:

- P(V), the chance that a draw fits (section 4.3): conditional sampling, our default; the paper's
  rejection with exact P(V) and with P(V) from N samples (appendix E.3); P(V) left out. A P(V) that
  is not differentiated (appendix F) gives the very gradient of one that is left out, as
  `meritnas.policy.laws.Uncorrected` says and a test shows, so they are one row here.
- weight steps on feasible networks only (section 4.3), with P(V) and without (appendix F).
- the policy's rate (appendix E.2) and the strength beta of TuNAS' Abs reward, over the paper's grid
  (appendix B.2.3).
- random, evolutionary and Bayesian search by one-shot loss at equal passes (table 4). A space this
  small is kind to them: they can judge most of it.
- the final choice, all three from each policy: the `mode` within the limit, the `largest` draws
  (the paper's algorithm 3), and `ranked` by one-shot loss (our default). Passes and seconds are
  those of a search without it; test loss and what was found are of `ranked`.

Figure 7 is here the agreement of one-shot and stand-alone loss over all feasible networks, for
weights trained on uniform paths as in the paper, and for those of two policies.

    python benchmarks/tabnas_ablation.py connect_4.tsv.gz --target target --embedding 2 \
        --max-params 5000 --ground ground.json --json ablation.json --figures figures/
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy import stats

from meritnas.cli.values import parse_widths
from meritnas.data.bundle import Bundle
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.engine.loop import Search
from meritnas.engine.start import make_search
from meritnas.errors import UsageError
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import Ground, make_ground
from meritnas.settings.recipe import TrainRecipe, default_batch_size
from meritnas.settings.settings import SearchSettings
from meritnas.space.architecture import Architecture
from meritnas.strategy.algorithms.final_choice import FinalChoice, Largest, Mode, Ranked
from meritnas.strategy.algorithms.policy_gradient import PolicyGradient
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.tabnas import Tabnas
from meritnas.training.train import outputs_of, train_child
from scoreboard import Target, arguments, finish, show


@dataclass(frozen=True)
class Variant:
    """One way to search."""

    group: str
    label: str
    strategy: str = "tabnas"
    options: Mapping[str, Any] = field(default_factory=dict)


OURS = "conditional (our default)"
PAPERS = "rejection, P(V) from N = 3,072"
FEASIBLE_WEIGHTS = "conditional, weights of feasible only"
UNIFORM = "uniform paths"
WEIGHTS = {"random": UNIFORM, OURS: "the policy's paths", FEASIBLE_WEIGHTS: "feasible paths"}
"""Searches whose supernets are compared with stand-alone training, and what trained them."""
RATES = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)
BETAS = (-0.0005, -0.001, -0.005, -0.01, -0.05, -0.1, -0.5, -0.75, -1.0, -1.25, -1.5, -2.0, -3.0)
FINALS = ("mode", "largest", "ranked")


def variants() -> Iterator[Variant]:
    yield Variant("P(V)", OURS)
    yield Variant("P(V)", "rejection, exact P(V)", options={"sampling": "rejection"})
    for n in (8, 64, 512, 3072, 32768):
        drawn = {"sampling": "monte-carlo", "mc_samples": n}
        yield Variant("P(V)", f"rejection, P(V) from N = {n:,}", options=drawn)
    without = {"sampling": "uncorrected"}
    yield Variant("P(V)", "P(V) left out, or not differentiated", options=without)
    only = {"weight_draws": "feasible"}
    yield Variant("weights", FEASIBLE_WEIGHTS, options=only)
    yield Variant("weights", "P(V) left out, weights of feasible only", options=without | only)
    for rate in RATES:
        yield Variant("rate", f"conditional, rate {rate:g}", options={"policy_rate": rate})
    for beta in BETAS:
        yield Variant("beta", f"Abs reward, beta {beta:g}", "abs-reward", {"beta": beta})
    for name in ("random", "evolution", "bayesian"):
        yield Variant("black box", name, name)


@dataclass(frozen=True)
class Bench:
    """What all searches and trainings share; only the seed differs."""

    bundle: Bundle
    ground: Ground
    settings: SearchSettings
    weight_steps: int

    def networks(self) -> list[Architecture]:
        """All that are feasible, in the order of the space."""
        space = self.ground.feasible.space
        picks = np.array(list(np.ndindex(*space.sizes)))
        return [space.architecture(row) for row in picks[self.ground.feasible.contains(picks)]]

    def params(self, text: str) -> int:
        return self.ground.family.cost(text)


@dataclass(frozen=True)
class Truth:
    """Stand-alone losses of every feasible network, one for each training."""

    valid: Mapping[str, list[float]]
    test: Mapping[str, list[float]]

    @cached_property
    def means(self) -> dict[str, float]:
        """The mean validation loss of each network."""
        return {text: float(np.mean(losses)) for text, losses in self.valid.items()}

    @cached_property
    def order(self) -> list[str]:
        """The best network first."""
        return sorted(self.means, key=self.means.__getitem__)

    @property
    def noise(self) -> float:
        """The standard deviation of one network's loss from training to training."""
        if len(self.valid[self.order[0]]) < 2:
            return float("nan")
        return float(np.sqrt(np.mean([np.var(own, ddof=1) for own in self.valid.values()])))

    def regret(self, text: str) -> float:
        return self.means[text] - self.means[self.order[0]]

    def about(self, text: str) -> dict[str, Any]:
        return {
            "architecture": text,
            "valid loss": self.means[text],
            "test loss": float(np.mean(self.test[text])),
            "rank": self.order.index(text) + 1,
            "regret": self.regret(text),
        }


def train_alone(bench: Bench, network: Architecture, epochs: int, seed: int) -> tuple[float, float]:
    """(validation loss, test loss) of one training."""
    data, task = bench.bundle, bench.bundle.task
    module = bench.ground.family.child(network, seed)
    recipe = bench.settings.recipe
    trained = train_child(module, data.train, data.valid, task.loss, recipe, epochs, seed)
    test = task.loss(outputs_of(trained.module, data.test.inputs), data.test.target)
    return trained.valid_loss, float(test)


def ground_truth(
    bench: Bench, about: dict[str, Any], epochs: int, trainings: int, file: Path | None
) -> Truth:
    """Train every feasible network; what the file knows already is not trained again."""
    known: dict[str, Any] = {"about": about, "valid": {}, "test": {}}
    if file is not None and file.exists():
        known = json.loads(file.read_text())
        if known["about"] != about:
            raise UsageError(
                f"{file} is about {known['about']}, but asked for is {about}; "
                "name another file, or ask for the same"
            )
    networks = bench.networks()
    missing = [network for network in networks if network.text not in known["test"]]
    begin = time.perf_counter()
    for done, network in enumerate(missing, start=1):
        losses = [train_alone(bench, network, epochs, seed) for seed in range(trainings)]
        known["valid"][network.text] = [valid for valid, _ in losses]
        known["test"][network.text] = [test for _, test in losses]
        if file is not None:
            draft = file.with_name(f"{file.name}.new")
            draft.write_text(json.dumps(known, indent=1) + "\n")
            draft.replace(file)
        left = (time.perf_counter() - begin) / done * (len(missing) - done)
        if done % 10 == 0 or done == len(missing):
            tell(f"trained alone: {done} of {len(missing)} networks, about {left:.0f} s left")
    own = [network.text for network in networks]
    return Truth({t: known["valid"][t] for t in own}, {t: known["test"][t] for t in own})


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def search(bench: Bench, variant: Variant, seed: int) -> tuple[Search, dict[str, Any]]:
    """A search without its final choice, and what it took."""
    spec = strategy_spec(variant.strategy, variant.options)
    settings = replace(bench.settings, strategy=spec, seed=seed)
    begin = time.perf_counter()
    running = make_search(settings, bench.ground, bench.bundle, None, bench.weight_steps)
    strategy = running.strategy
    used = updates = 0
    for clock in running.plan.clocks(0):
        if clock.phase == strategy.turns.phase:
            learnt = strategy.update(running.probe, clock)
            if learnt is not None:
                used, updates = used + int(learnt.values["used"]), updates + 1
        if clock.phase != "frozen":
            running.weight_step(clock)
    effort: dict[str, Any] = {
        "passes": running.probe.passes,
        "seconds": time.perf_counter() - begin,
    }
    if isinstance(strategy, PolicyGradient):
        effort["used"] = used / max(1, updates * strategy.samples)
        rows = strategy.policy.rows()
        effort["P(V)"] = bench.ground.searched_feasible.probability(rows)
    return running, effort


def choices(bench: Bench, running: Search) -> dict[str, Architecture]:
    """What each final choice makes of one search.

    What was found without a policy is a choice by one-shot loss, and stands under `ranked`.
    """
    strategy = running.strategy
    if not isinstance(strategy, PolicyGradient):
        return {"ranked": strategy.derive(running.probe)[0]}
    largest = Largest(bench.ground.searched.costs["params"])
    finals: dict[str, FinalChoice] = {
        "mode": Mode(),
        "largest": largest,
        "ranked": Ranked(largest),
    }
    feasible = bench.ground.searched_feasible
    return {
        name: final.ranked(strategy.policy, feasible, running.probe, copy.deepcopy(strategy.rng))[0]
        for name, final in finals.items()
    }


def search_rows(
    bench: Bench, truth: Truth, variant: Variant, seed: int
) -> tuple[Search, list[dict[str, Any]]]:
    """One search, and a row for each final choice."""
    running, effort = search(bench, variant, seed)
    head = {"what": "search", "group": variant.group, "variant": variant.label, "seed": seed}
    rows = []
    for final, network in choices(bench, running).items():
        found = {**truth.about(network.text), "params": bench.params(network.text)}
        rows.append({**head, "final": final, **found, **effort})
    return running, rows


def agreement(
    bench: Bench, truth: Truth, weights: str, seed: int, running: Search
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Figure 7 of one supernet: a row of correlations, and one for the best by one-shot loss."""
    space = bench.ground.searched.space
    one_shot = {
        text: running.probe.held_out_loss(np.array(space.picks(space.parse(text))))
        for text in truth.means
    }
    pair = list(one_shot.values()), list(truth.means.values())
    row = {
        "what": "correlation",
        "weights": weights,
        "seed": seed,
        "spearman": float(stats.spearmanr(*pair).statistic),
        "kendall": float(stats.kendalltau(*pair).statistic),
        "pearson": float(stats.pearsonr(*pair).statistic),
        "one-shot": one_shot,
    }
    best = min(one_shot, key=one_shot.__getitem__)
    head = {"what": "search", "group": "reference", "seed": seed, "final": "ranked"}
    label = f"all judged, weights of {weights}"
    return row, {**head, "variant": label, **truth.about(best), "params": bench.params(best)}


def references(bench: Bench, truth: Truth) -> list[dict[str, Any]]:
    """What no search is needed for: the mean feasible network, and the largest ones."""
    head = {"what": "search", "group": "reference", "final": "ranked"}
    params = {text: bench.params(text) for text in truth.means}
    most = max(params.values())
    rows = [
        {**head, "variant": "uniform feasible network", **truth.about(text), "params": cost}
        for text, cost in params.items()
    ]
    return rows + [
        {**head, "variant": "largest feasible network", **truth.about(text), "params": cost}
        for text, cost in params.items()
        if cost == most
    ]


def mean_and_spread(values: list[float]) -> tuple[float, float]:
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def of(rows: list[dict[str, Any]], variant: str, final: str, name: str) -> list[float]:
    return [
        float(row[name])
        for row in rows
        if row["what"] == "search" and (row["variant"], row["final"]) == (variant, final)
    ]


def quality_table(rows: list[dict[str, Any]], labels: list[str]) -> list[dict[str, Any]]:
    table = []
    for label in labels:
        line: dict[str, Any] = {"variant": label}
        for final in FINALS:
            regrets = of(rows, label, final, "regret")
            if regrets:
                mean, spread = mean_and_spread(regrets)
                rank = np.mean(of(rows, label, final, "rank"))
                line[final] = f"{mean:.4f} ± {spread:.4f} #{rank:.0f}"
        line["test loss"] = round(float(np.mean(of(rows, label, "ranked", "test loss"))), 4)
        table.append(line)
    return table


def effort_table(rows: list[dict[str, Any]], labels: list[str]) -> list[dict[str, Any]]:
    table = []
    for label in labels:
        own = [row for row in rows if (row.get("variant"), row.get("final")) == (label, "ranked")]
        line: dict[str, Any] = {"variant": label}
        for name in ("passes", "used", "P(V)", "seconds"):
            if name in own[0]:
                line[name] = float(np.mean([row[name] for row in own]))
        line["passes"] = round(line["passes"])
        line["found (ranked)"] = ", ".join(row["architecture"] for row in own)
        table.append(line)
    return table


def draw_correlation(folder: Path, truth: Truth, rows: list[dict[str, Any]], bench: Bench) -> None:
    """Stand-alone against one-shot loss of every feasible network, a panel for each seed."""
    from matplotlib import pyplot as plt

    found = [row for row in rows if row.get("weights") == UNIFORM]
    figure, axes = plt.subplots(
        1, len(found), figsize=(4.2 * len(found) + 1.0, 4.0), squeeze=False, layout="constrained"
    )
    texts = list(truth.means)
    params = [bench.params(text) for text in texts]
    means = [truth.means[text] for text in texts]
    below = [truth.means[text] - min(truth.valid[text]) for text in texts]
    above = [max(truth.valid[text]) - truth.means[text] for text in texts]
    for axis, row in zip(axes[0], found, strict=True):
        losses = [row["one-shot"][text] for text in texts]
        axis.errorbar(
            means, losses, xerr=[below, above], fmt="none", ecolor="0.8", linewidth=1, zorder=1
        )
        dots = axis.scatter(means, losses, c=params, cmap="viridis", s=24, zorder=2)
        axis.set_title(
            f"seed {row['seed']}: Spearman {row['spearman']:.2f}, Kendall {row['kendall']:.2f}",
            fontsize=10,
        )
        axis.set_xlabel("stand-alone validation loss")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("one-shot validation loss")
    figure.colorbar(dots, ax=axes[0].tolist(), label="parameters")
    figure.savefig(folder / "tabnas_ablation_correlation.png", dpi=130)
    plt.close(figure)


def draw_regret(folder: Path, rows: list[dict[str, Any]], labels: list[str]) -> None:
    """A line for each variant: faint dots are seeds, the marker their mean, the bar ± spread."""
    from matplotlib import pyplot as plt

    figure, axis = plt.subplots(figsize=(9.5, 1.6 + 0.34 * len(labels)), layout="constrained")
    groups = {row["variant"]: row["group"] for row in rows if row["what"] == "search"}
    for final, color, shift in zip(FINALS, ("C0", "C1", "C2"), (-0.22, 0.0, 0.22), strict=True):
        shown = [(k, of(rows, label, final, "regret")) for k, label in enumerate(labels)]
        shown = [(k, regrets) for k, regrets in shown if regrets]
        for k, regrets in shown:
            seeds = [k + shift] * len(regrets)
            axis.scatter(regrets, seeds, color=color, s=9, alpha=0.35, linewidths=0)
        summary = [mean_and_spread(regrets) for _, regrets in shown]
        axis.errorbar(
            [mean for mean, _ in summary],
            [k + shift for k, _ in shown],
            xerr=[spread for _, spread in summary],
            fmt="o",
            color=color,
            markersize=4.5,
            linewidth=1.2,
            label=f"final choice: {final}",
        )
    for k, (above, below) in enumerate(pairwise(labels)):
        if groups[above] != groups[below]:
            axis.axhline(k + 0.5, color="0.7", linewidth=0.8)
    uniform, _ = mean_and_spread(of(rows, "uniform feasible network", "ranked", "regret"))
    axis.axvline(uniform, color="0.4", linestyle="--", linewidth=1, label="mean feasible network")
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.set_xlabel("regret: stand-alone validation loss above the best feasible network's")
    axis.grid(axis="x", alpha=0.3)
    figure.legend(loc="outside upper center", ncols=4, fontsize=8)
    figure.savefig(folder / "tabnas_ablation_regret.png", dpi=130)
    plt.close(figure)


def make_bench(args: argparse.Namespace) -> tuple[Bench, dict[str, Any]]:
    """What is shared, and what the ground truth depends on."""
    source = load_source(args.data, args.target)
    bundle = make_bundle(source, 0)
    listed = [np.atleast_1d(row).tolist() for row in parse_widths(args.widths)]
    rows = listed if ";" in args.widths else [[row[0] for row in listed]] * 3
    recipe = TrainRecipe(batch_size=default_batch_size(len(bundle.train)))
    settings = SearchSettings(
        space=Tabular(len(rows), tuple(tuple(row) for row in rows), args.embedding),
        strategy=Tabnas(),
        reading=TableReading(),
        limits={"params": args.max_params},
        epochs=args.epochs,
        recipe=recipe,
    )
    ground = make_ground(make_family(settings, bundle.encoder, bundle.task), settings.limits)
    steps = args.epochs * max(1, len(bundle.train) // recipe.batch_size)
    about = {
        "data": source.fingerprint,
        "limit": args.max_params,
        "widths": rows,
        "embedding": args.embedding,
        "epochs": args.train_epochs,
        "trainings": args.train_seeds,
        "recipe": recipe.to_json(),
    }
    return Bench(bundle, ground, settings, steps), about


def run_all(bench: Bench, truth: Truth, seeds: int) -> tuple[list[dict[str, Any]], list[str]]:
    """All rows, and the labels of the searches in their order."""
    rows: list[dict[str, Any]] = []
    every = list(variants())
    begin = time.perf_counter()
    for done, (seed, variant) in enumerate([(s, v) for s in range(seeds) for v in every], 1):
        running, found = search_rows(bench, truth, variant, seed)
        rows += found
        if variant.label in WEIGHTS:
            rows += agreement(bench, truth, WEIGHTS[variant.label], seed, running)
        left = (time.perf_counter() - begin) / done * (seeds * len(every) - done)
        if done % 10 == 0:
            tell(f"searches: {done} of {seeds * len(every)}, about {left:.0f} s left")
    return rows, [variant.label for variant in every]


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("data", help="a table, or a bundled name")
    parser.add_argument("--target")
    parser.add_argument("--max-params", type=int, required=True)
    parser.add_argument("--embedding", type=int)
    parser.add_argument(
        "--widths", default="8,16,32,48,64,96,128", help='for all of 3 layers, or "8,16;16,32"'
    )
    parser.add_argument("--epochs", type=int, default=40, help="of a search")
    parser.add_argument("--train-epochs", type=int, default=15, help="of a network alone")
    parser.add_argument("--train-seeds", type=int, default=2, help="trainings of each network")
    parser.add_argument("--seeds", type=int, default=3, help="searches of each variant")
    parser.add_argument("--ground", type=Path, help="keep stand-alone losses here, and reuse them")
    parser.add_argument("--figures", type=Path, help="draw into this folder")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.quick:
        args.epochs, args.train_epochs, args.train_seeds, args.seeds = 4, 1, 2, 1
    begin = time.perf_counter()
    try:
        bench, about = make_bench(args)
        truth = ground_truth(bench, about, args.train_epochs, args.train_seeds, args.ground)
    except UsageError as error:
        parser.error(str(error))
    rows, labels = run_all(bench, truth, args.seeds)
    rows += references(bench, truth)
    alone = [{"what": "alone", **truth.about(t), "params": bench.params(t)} for t in truth.order]
    name, feasible = bench.bundle.name, bench.ground.searched_feasible
    show(f"the best of {len(truth.order)} feasible networks trained alone", alone[:5])
    every = list(dict.fromkeys(row["variant"] for row in rows if row["what"] == "search"))
    title = (
        f"{name}, at most {args.max_params:,} parameters ({feasible.count()} of "
        f"{feasible.space.count()} networks, P(V) {feasible.share():.2f} at first), {args.seeds} "
        f"seeds: regret by final choice, # mean rank; noise of one training ±{truth.noise:.4f}"
    )
    ordered = labels + [label for label in every if label not in labels]
    show(title, quality_table(rows, ordered))
    show("what it took", effort_table(rows, labels))
    agreed = [row for row in rows if row["what"] == "correlation"]
    hidden = ("what", "one-shot")
    show(
        "one-shot and stand-alone loss over all feasible networks",
        [{key: row[key] for key in row if key not in hidden} for row in agreed],
    )
    if args.figures is not None:
        os.environ["MPLBACKEND"] = "agg"  # files only, wherever this runs
        args.figures.mkdir(parents=True, exist_ok=True)
        draw_correlation(args.figures, truth, rows, bench)
        draw_regret(args.figures, rows, ordered)
    print(f"{time.perf_counter() - begin:.0f} seconds in all")
    ours, papers = (
        float(np.mean(of(rows, label, final, "regret")))
        for label, final in ((OURS, "ranked"), (PAPERS, "largest"))
    )
    target = Target(
        "our default chooses at least as well as the paper's (N = 3,072, largest), mean regret",
        f"{ours:.4f} against {papers:.4f}",
        ours <= papers,
    )
    return finish([{"data": name, **row} for row in [*alone, *rows]], [target], args)


if __name__ == "__main__":
    sys.exit(main())
