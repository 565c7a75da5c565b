"""Which tool finds the best small network for a table, at the same limit and in the same time?

For every seed, which decides the train, validation and test rows, each of these has `--minutes` of
wall-clock time and at most MAXPARAMS parameters:

- `meritnas`: `NASClassifier` or `NASRegressor` as a user calls it, in the space `--space`.
- `optuna`: Optuna's TPE over the same space (a whole number for each decision, so that it knows the
  order of widths), every network trained alone by the recipe and for the epochs that MeritNAS
  trains its choice with by default. Dropout and the scaling of numbers, which MeritNAS leaves to
  the validation rows, are two more things to decide. Networks above the limit are pruned before
  training; TPE is told by how much they are above.
- `mlp`: scikit-learn's MLP on one-hot and standardised features under random search: 1 to 3 layers
  of the same widths drawn from those below the limit, alpha and learning rate log-uniform; after
  each epoch the validation rows decide whether it is the best so far.
- `plain`: the largest network of equal widths, by the same recipe, with one seed after another.

All but the first keep what has the smallest validation loss; a training that the end of the time
cuts off counts with its epochs so far (`mlp`) or not at all (`optuna` and `plain`, unless it is the
first). The clock includes encoding the table, not reading it, nor imports, nor scoring the test
rows. On a machine that does other things as well, `--processor-time` counts time of the processor.

- `small-realmlp`: pytabkit's RealMLP with three layers as wide as the limit allows, for
  `--realmlp-epochs`, however long they take. It has no row where none fits.

For reference, without a limit: `hgb`, scikit-learn's gradient boosted trees, a few configurations,
the best number of trees by the validation rows; `realmlp`, pytabkit's RealMLP with its defaults but
`--realmlp-epochs` (its own 256 take a quarter of an hour for 30,000 rows with one thread).
A tool that is not installed is left out: `pip install "meritnas[peers]"`.

The target for each table: MeritNAS is best under the limit or within the spread of the best. That
is, with means and standard deviations (n - 1) over the seeds of the main metric (accuracy, r2):
the best limited method's mean is above MeritNAS' by at most the larger one of the standard
deviations of these two methods.

    python benchmarks/tabular_peers.py adult.csv.gz:income:4000 houses.tsv.gz:target:2000 \
        --seeds 3 --minutes 1 --json peers.json

`--continue` leaves out what the JSON file already has for the same table, limit, minutes and seed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import islice, pairwise, product
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import check_random_state
from torch import Tensor, nn

from meritnas import NASClassifier, NASRegressor
from meritnas.data.bundle import Bundle, Outline, Part
from meritnas.data.tables.bundle import encode_table, outline_table
from meritnas.data.tables.source import Source, load_source
from meritnas.data.task import Task
from meritnas.errors import DivergedError
from meritnas.families.built.family import BuiltSpace
from meritnas.families.catalogue import space_spec
from meritnas.families.tabular.spec import Tabular
from meritnas.families.widths import PAPER_WIDTHS
from meritnas.settings.recipe import (
    TRIED_DROPOUT,
    TrainRecipe,
    default_batch_size,
    default_train_epochs,
)
from meritnas.training.metrics import main_metric, score
from meritnas.training.threads import limited_threads
from meritnas.training.train import outputs_of, train_child
from scoreboard import Target, arguments, finish, show

_SHOWN = ("accuracy", "log_loss", "roc_auc", "r2", "rmse")
_LEAST_CHANCE = 1e-15
_MOST_CATEGORIES = 255
"""Of a column that scikit-learn's trees take as categories."""


class OutOfTimeError(Exception):
    """Stops a training."""


class Clock:
    """Runs from its making."""

    def __init__(self, seconds: float) -> None:
        self._begin = time.perf_counter()
        self._seconds = seconds

    @property
    def spent(self) -> float:
        return time.perf_counter() - self._begin

    @property
    def is_over(self) -> bool:
        return self.spent >= self._seconds

    def check(self, _epoch: int) -> None:
        if self.is_over:
            raise OutOfTimeError


@dataclass(frozen=True)
class Ground:
    """The table, the seed and the budget that all methods share."""

    source: Source
    limit: int
    seed: int
    seconds: float
    threads: int
    realmlp_epochs: int
    trees: int
    space: str = "tabular"

    @cached_property
    def outline(self) -> Outline:
        return outline_table(self.source, self.seed)

    @property
    def task(self) -> Task:
        return self.outline.task

    def rows(self, part: str) -> tuple[pd.DataFrame, pd.Series]:
        """The columns and the target of `train`, `valid` or `test`, as they are in the file."""
        frame = self.source.frame.iloc[getattr(self.outline.split, part)]
        return frame.drop(columns=self.source.target), frame[self.source.target]

    def bundle(self, scaling: Literal["standard", "quantile"] = "standard") -> Bundle:
        """The encoded table; made anew each time, because every method's clock includes it."""
        return encode_table(self.source, self.outline, scaling)


@dataclass(frozen=True)
class Found:
    """What a method came up with: outputs on the test rows, and what it took.

    `trials` counts what was trained to the end (`mlp`: begun); MeritNAS' supernet is not counted.
    """

    outputs: Tensor
    params: int | None
    seconds: float
    trials: int
    config: str


def by_meritnas(ground: Ground, scored: str = "test") -> Found:
    train, valid = ground.rows("train"), ground.rows("valid")
    regression = ground.task.kind == "regression"
    clock = Clock(ground.seconds)
    model = (NASRegressor if regression else NASClassifier)(
        max_params=ground.limit,
        minutes=ground.seconds / 60.0,
        random_state=ground.seed,
        verbose=0,
        test_fraction=0.0,
        space=ground.space,
    ).fit(*train, eval_set=valid)
    seconds = clock.spent
    columns = ground.rows(scored)[0]
    if regression:
        outputs = from_numbers(ground.task, model.predict(columns))
    else:
        known = pd.Index(ground.task.classes, dtype=object)
        positions = known.get_indexer(pd.Index(model.classes_, dtype=object))
        outputs = from_chances(ground.task, model.predict_proba(columns), positions)
    trained = sum(event["kind"] == "training" for event in model.history_)
    text = f"{model.architecture_} {model.scaling_}"
    return Found(outputs, model.n_params_, seconds, trained, text)


def by_optuna(ground: Ground) -> Found | None:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Experimental in version 4, to be spelled otherwise from version 7 on.
    warnings.filterwarnings("ignore", message=".*constraints_func")
    # Without constraints TPE takes pruned networks for an example and may never fit a limit.
    sampler = optuna.samplers.TPESampler(
        seed=ground.seed, constraints_func=lambda trial: trial.user_attrs["excess"]
    )
    study = optuna.create_study(sampler=sampler)  # imports half of Optuna
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    # What MeritNAS leaves to the validation rows by default is left to Optuna here.
    bundles = {"standard": bundle}
    if bundle.encoder.numbers:
        bundles["quantile"] = ground.bundle("quantile")
    limits = {"params": ground.limit}
    family = space_spec(ground.space).build(bundle.encoder.inputs, bundle.task.outputs, limits)
    family.feasible(max_params=ground.limit)  # complains where asking would never end
    recipe, epochs = default_training(bundle)
    best: tuple[float, str, nn.Module, Tensor] | None = None
    asked = trained = 0
    while not clock.is_over:
        trial = study.ask()
        asked += 1
        picks = [trial.suggest_int(d.name, 0, len(d.options) - 1) for d in family.space.decisions]
        if isinstance(family, BuiltSpace):  # TPE decides also what does not arise
            picks = list(family.origin.plan.canonical(picks))
        architecture = family.space.architecture(picks)
        excess = family.cost(architecture) - ground.limit
        trial.set_user_attr("excess", [excess])
        if excess > 0:
            study.tell(trial, state=optuna.trial.TrialState.PRUNED)
            continue
        dropout = trial.suggest_categorical("dropout", (0.0, TRIED_DROPOUT))
        scaling = trial.suggest_categorical("scaling", tuple(bundles))
        text = f"{architecture} dropout {dropout} {scaling}"
        seed = ground.seed * 1000 + trained
        module = family.child(architecture, seed, dropout)
        try:
            loss = train_until(clock, module, bundles[scaling], recipe, epochs, seed)
        except DivergedError:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        if loss is not None:
            trained += 1
            study.tell(trial, loss)
            if best is None or loss < best[0]:
                best = (loss, text, module, bundles[scaling].test.inputs)
        elif best is None:
            best = (float("inf"), f"{text}, cut off", module, bundles[scaling].test.inputs)
    seconds = clock.spent
    if best is None:
        return None
    params = sum(weights.numel() for weights in best[2].parameters())
    outputs = outputs_of(*best[2:])
    return Found(outputs, params, seconds, trained, f"{best[1]}, {asked} asked")


def by_plain(ground: Ground) -> Found | None:
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    limits = {"params": ground.limit}
    family = Tabular().build(bundle.encoder.inputs, bundle.task.outputs, limits)
    recipe, epochs = default_training(bundle)
    best: tuple[float, nn.Module] | None = None
    trained = 0
    for architecture in family.plain(limits):
        while not clock.is_over:
            seed = ground.seed * 1000 + trained
            module = family.child(architecture, seed)
            loss = train_until(clock, module, bundle, recipe, epochs, seed)
            if loss is not None:
                trained += 1
            if best is None or (loss is not None and loss < best[0]):
                best = (float("inf") if loss is None else loss, module)
    seconds = clock.spent
    if best is None:
        return None
    outputs = outputs_of(best[1], bundle.test.inputs)
    params = sum(weights.numel() for weights in best[1].parameters())
    return Found(outputs, params, seconds, trained, f"{architecture}")


def train_until(
    clock: Clock, module: nn.Module, bundle: Bundle, recipe: TrainRecipe, epochs: int, seed: int
) -> float | None:
    """Train a network alone; its validation loss, or None where the time ended first."""
    train, valid, loss = bundle.train, bundle.valid, bundle.task.loss
    try:
        done = train_child(module, train, valid, loss, recipe, epochs, seed, clock.check)
    except OutOfTimeError:
        return None
    return done.valid_loss


def by_mlp(ground: Ground) -> Found | None:
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    task = bundle.task
    scale = OneHotFeatures.fit(bundle)
    train, valid = scale(bundle.train.sample), scale(bundle.valid)
    target, truth = plain_target(task, bundle.train.sample), plain_target(task, bundle.valid)
    sizes = hidden_sizes(train.shape[1], task.outputs, ground.limit)
    if not sizes:
        return None
    rng = np.random.default_rng([ground.seed, 11])
    recipe, epochs = default_training(bundle)
    patience = max(10, epochs // 10)
    best_loss, best_model, best_weights, best_text = float("inf"), None, None, ""
    tried = 0
    while not clock.is_over:
        model, text = draw_mlp(task, sizes, recipe.batch_size, rng)
        own_loss, own_epoch = float("inf"), 0
        tried += 1
        for epoch in range(1, epochs + 1):
            train_epoch(model, train, target, len(task.classes))
            loss = plain_loss(task, plain_answers(model, valid), truth)
            if loss < own_loss:
                own_loss, own_epoch = loss, epoch
            if loss < best_loss:
                best_loss, best_model, best_text = loss, model, f"{text} epoch {epoch}"
                best_weights = [weights.copy() for weights in (*model.coefs_, *model.intercepts_)]
            if clock.is_over or epoch - own_epoch >= patience or not np.isfinite(loss):
                break
    seconds = clock.spent
    if best_model is None or best_weights is None:
        return None
    layers = len(best_model.coefs_)
    best_model.coefs_, best_model.intercepts_ = best_weights[:layers], best_weights[layers:]
    params = sum(weights.size for weights in best_weights)
    answers = plain_answers(best_model, scale(bundle.test))
    return Found(from_plain(task, answers, best_model), params, seconds, tried, best_text)


def by_hgb(ground: Ground) -> Found | None:
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    task, encoder = bundle.task, bundle.encoder
    numbers = encoder.numbers
    categorical = [False] * numbers + [n <= _MOST_CATEGORIES for n in encoder.cardinalities]
    kind = HistGradientBoostingRegressor if task.outputs == 1 and not task.classes else None
    kind = kind or HistGradientBoostingClassifier
    train, valid, test = (
        p.inputs.numpy() for p in (bundle.train.sample, bundle.valid, bundle.test)
    )
    target, truth = plain_target(task, bundle.train.sample), plain_target(task, bundle.valid)
    best: tuple[float, int, Any, str] | None = None
    tried = 0
    for rate, leaves in product((0.1, 0.05), (31, 15)):
        if clock.is_over:
            break
        model = kind(
            learning_rate=rate,
            max_leaf_nodes=leaves,
            max_iter=ground.trees,
            categorical_features=categorical,
            early_stopping=False,
            random_state=ground.seed,
        ).fit(train, target)
        tried += 1
        losses = [plain_loss(task, answers, truth) for answers in staged_answers(model, valid)]
        at = int(np.argmin(losses))
        if best is None or losses[at] < best[0]:
            best = (losses[at], at, model, f"rate {rate} leaves {leaves} trees {at + 1}")
    seconds = clock.spent
    assert best is not None
    answers = next(islice(staged_answers(best[2], test), best[1], None))
    return Found(from_plain(task, answers, best[2]), None, seconds, tried, best[3])


def by_realmlp(ground: Ground) -> Found | None:
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    return _realmlp(ground, bundle, clock)


def by_small_realmlp(ground: Ground) -> Found | None:
    """Widths are tried on few rows for an epoch: pytabkit makes a network when it is fitted."""
    clock = Clock(ground.seconds)
    bundle = ground.bundle()
    fitting = [width for width in PAPER_WIDTHS if _realmlp_params(bundle, width) <= ground.limit]
    if not fitting:
        return None
    return _realmlp(ground, bundle, clock, hidden_sizes=[max(fitting)] * 3)


def _realmlp_params(bundle: Bundle, width: int) -> int:
    model = _realmlp_model(bundle.task, n_epochs=1, hidden_sizes=[width] * 3)
    few = bundle.train.sample.slice(0, 64)
    model.fit(typed_frame(bundle, few), plain_target(bundle.task, few))
    return _weights_of(model)


def _realmlp(ground: Ground, bundle: Bundle, clock: Clock, **sizes: Any) -> Found:
    task = bundle.task
    model = _realmlp_model(
        task,
        random_state=ground.seed,
        n_epochs=ground.realmlp_epochs,
        n_threads=ground.threads,
        **sizes,
    )
    model.fit(
        typed_frame(bundle, bundle.train.sample),
        plain_target(task, bundle.train.sample),
        typed_frame(bundle, bundle.valid),
        plain_target(task, bundle.valid),
    )
    seconds = clock.spent
    answers = plain_answers(model, typed_frame(bundle, bundle.test))
    text = f"{ground.realmlp_epochs} epochs {sizes.get('hidden_sizes', '')}".strip()
    return Found(from_plain(task, answers, model), _weights_of(model), seconds, 1, text)


def _realmlp_model(task: Task, **settings: Any) -> Any:
    from pytabkit import RealMLP_TD_Classifier, RealMLP_TD_Regressor

    for name in list(logging.root.manager.loggerDict):
        if "lightning" in name:
            logging.getLogger(name).setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="pytorch_lightning|pytabkit")
    kind = RealMLP_TD_Regressor if task.kind == "regression" else RealMLP_TD_Classifier
    return kind(device="cpu", **settings)


def _weights_of(model: Any) -> int:
    return sum(weights.numel() for weights in model.alg_interface_.model.parameters())


@dataclass(frozen=True)
class Method:
    """A way to find a network."""

    run: Callable[[Ground], Found | None]
    limited: bool
    package: str | None = None


METHODS = {
    "meritnas": Method(by_meritnas, True),
    "optuna": Method(by_optuna, True, "optuna"),
    "mlp": Method(by_mlp, True),
    "plain": Method(by_plain, True),
    "small-realmlp": Method(by_small_realmlp, True, "pytabkit"),
    "hgb": Method(by_hgb, False),
    "realmlp": Method(by_realmlp, False, "pytabkit"),
}


def default_training(bundle: Bundle) -> tuple[TrainRecipe, int]:
    """How MeritNAS trains its choice unless told otherwise, and for how many epochs."""
    rows = len(bundle.train)
    recipe = TrainRecipe(batch_size=default_batch_size(rows))
    return recipe, default_train_epochs(rows, recipe.batch_size)


@dataclass(frozen=True)
class OneHotFeatures:
    """Standardised numbers and one-hot categories, float32 [n, features]."""

    numbers: int
    scaler: StandardScaler | None
    coder: OneHotEncoder | None

    @staticmethod
    def fit(bundle: Bundle) -> OneHotFeatures:
        inputs, numbers = bundle.train.sample.inputs.numpy(), bundle.encoder.numbers
        coder = OneHotEncoder(handle_unknown="ignore", sparse_output=False, dtype=np.float32)
        return OneHotFeatures(
            numbers,
            StandardScaler().fit(inputs[:, :numbers]) if numbers else None,
            coder.fit(inputs[:, numbers:]) if inputs.shape[1] > numbers else None,
        )

    def __call__(self, part: Part) -> np.ndarray:
        inputs = part.inputs.numpy()
        blocks = []
        if self.scaler is not None:
            blocks.append(self.scaler.transform(inputs[:, : self.numbers]))
        if self.coder is not None:
            blocks.append(self.coder.transform(inputs[:, self.numbers :]))
        return np.hstack(blocks).astype(np.float32)


def typed_frame(bundle: Bundle, part: Part) -> pd.DataFrame:
    """Number columns and category columns, which pandas' types tell apart."""
    inputs, numbers = part.inputs.numpy(), bundle.encoder.numbers
    columns: dict[str, Any] = {f"number{i}": inputs[:, i] for i in range(numbers)}
    for i, count in enumerate(bundle.encoder.cardinalities, start=numbers):
        columns[f"category{i}"] = pd.Categorical(inputs[:, i].astype(int), range(count))
    return pd.DataFrame(columns)


def hidden_sizes(inputs: int, outputs: int, limit: int) -> list[list[tuple[int, ...]]]:
    """For each number of layers that has any, the hidden sizes that keep the limit."""

    def cost(hidden: tuple[int, ...]) -> int:
        return sum((a + 1) * b for a, b in pairwise((inputs, *hidden, outputs)))

    every = ([h for h in product(PAPER_WIDTHS, repeat=n) if cost(h) <= limit] for n in (1, 2, 3))
    return [sizes for sizes in every if sizes]


def draw_mlp(
    task: Task, sizes: list[list[tuple[int, ...]]], batch: int, rng: np.random.Generator
) -> tuple[Any, str]:
    depth = sizes[rng.integers(len(sizes))]
    hidden = depth[rng.integers(len(depth))]
    alpha, rate = 10.0 ** rng.uniform(-6, -1), 10.0 ** rng.uniform(-3.5, -1.5)
    kind = MLPRegressor if task.kind == "regression" else MLPClassifier
    model = kind(
        hidden_layer_sizes=hidden,
        alpha=alpha,
        learning_rate_init=rate,
        batch_size=batch,
        # Not a number: with that every partial_fit would shuffle alike.
        random_state=check_random_state(int(rng.integers(2**31))),
    )
    return model, f"{'-'.join(map(str, hidden))} alpha {alpha:.1e} rate {rate:.1e}"


def train_epoch(model: Any, inputs: np.ndarray, target: np.ndarray, classes: int) -> None:
    if classes:
        model.partial_fit(inputs, target, classes=np.arange(classes))
    else:
        model.partial_fit(inputs, target)


def plain_target(task: Task, part: Part) -> np.ndarray:
    """Class numbers, or standardised values."""
    kind = np.float32 if task.kind == "regression" else np.int64
    return part.target.numpy().astype(kind)


def plain_answers(model: Any, inputs: np.ndarray | pd.DataFrame) -> np.ndarray:
    """Chances [n, classes], or values [n]."""
    ask = getattr(model, "predict_proba", None) or model.predict
    return np.asarray(ask(inputs))


def staged_answers(model: Any, inputs: np.ndarray) -> Iterator[np.ndarray]:
    """The same after each tree."""
    ask = getattr(model, "staged_predict_proba", None) or model.staged_predict
    yield from ask(inputs)


def plain_loss(task: Task, answers: np.ndarray, truth: np.ndarray) -> float:
    """Log loss or mean squared error."""
    if task.kind == "regression":
        return float(np.mean((answers - truth) ** 2))
    chances = answers[np.arange(len(truth)), truth]
    return float(-np.mean(np.log(np.clip(chances, _LEAST_CHANCE, 1.0))))


def from_plain(task: Task, answers: np.ndarray, model: Any) -> Tensor:
    if task.kind == "regression":
        return torch.from_numpy(answers.reshape(-1, 1).astype(np.float64))
    return from_chances(task, answers, np.asarray(model.classes_, dtype=np.int64))


def from_chances(task: Task, chances: np.ndarray, positions: np.ndarray) -> Tensor:
    """The network outputs [n, outputs] that stand for chances of the classes at `positions`."""
    every = np.zeros((len(chances), len(task.classes)))
    every[:, positions] = chances
    logs = torch.from_numpy(np.log(np.clip(every, _LEAST_CHANCE, 1.0)))
    return logs[:, 1:] - logs[:, :1] if task.kind == "binary" else logs


def from_numbers(task: Task, values: np.ndarray) -> Tensor:
    """The network outputs [n, 1] that stand for values on the original scale."""
    return torch.from_numpy((np.asarray(values, dtype=np.float64) - task.mean) / task.scale)[
        :, None
    ]


class Ledger:
    """The rows so far, written after each method so that an interrupted run keeps them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._path = args.json
        self.rows: list[dict[str, Any]] = []
        if args.keep and self._path is not None and self._path.exists():
            self.rows = json.loads(self._path.read_text())

    def of(self, **keys: Any) -> list[dict[str, Any]]:
        """The rows with these entries."""
        return [row for row in self.rows if all(row[key] == keys[key] for key in keys)]

    def add(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        if self._path is not None:
            fresh = self._path.with_name(self._path.name + ".new")
            fresh.write_text(json.dumps(self.rows, indent=1) + "\n")
            fresh.replace(self._path)


def measure(ground: Ground, name: str) -> dict[str, Any] | None:
    """Scores on the test rows of what a method finds, or None where it finds nothing."""
    values = ground.rows("test")[1]
    with limited_threads(ground.threads):
        found = METHODS[name].run(ground)
    if found is None:
        return None
    return {
        "params": found.params,
        **score(ground.task, found.outputs, ground.task.encode(values)),
        "seconds": round(found.seconds, 2),
        "trials": found.trials,
        "config": found.config,
    }


def run(ground: Ground, names: list[str], ledger: Ledger) -> None:
    """Every method on one table and seed."""
    for name in names:
        keys = {
            "data": ground.source.name,
            "method": name,
            "seed": ground.seed,
            "limited": METHODS[name].limited,
            "limit": ground.limit,
            "minutes": ground.seconds / 60.0,
            "space": ground.space,
        }
        where = f"{ground.source.name} seed {ground.seed} {name}"
        if ledger.of(**keys):
            tell(f"{where}: already in the file")
            continue
        row = measure(ground, name)
        if row is None:
            tell(f"{where}: no network below the limit was found in time")
            continue
        ledger.add({**keys, **row})
        shown = ", ".join(f"{key} {row[key]:.4f}" for key in _SHOWN if key in row)
        spent = f"{row['seconds']:.1f} s, {row['trials']} trials"
        tell(f"{where}: {shown}, {spent}, {row['config']}")


def summarise(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A line for each method: means and standard deviations over the seeds."""
    table = []
    for name in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == name]
        line: dict[str, Any] = {"method": name, "limited": METHODS[name].limited, "n": len(own)}
        for metric in _SHOWN:
            if all(metric in row for row in own):
                mean, spread = mean_and_spread(own, metric)
                line[metric] = f"{mean:.4f} ± {spread:.4f}"
        for key in ("params", "trials"):
            values = [row[key] for row in own if row[key] is not None]
            line[key] = round(float(np.mean(values))) if values else "-"
        line["seconds"] = float(np.mean([row["seconds"] for row in own]))
        line["found"] = "; ".join(row["config"] for row in own)
        table.append(line)
    return table


def mean_and_spread(rows: list[dict[str, Any]], metric: str) -> tuple[float, float]:
    values = [row[metric] for row in rows]
    return float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def judge(data: str, limit: int, metric: str, rows: list[dict[str, Any]]) -> Target | None:
    """The target as the module says; None where there is nothing to compare MeritNAS with."""
    own_rows = {
        name: [row for row in rows if row["method"] == name]
        for name in dict.fromkeys(row["method"] for row in rows if row["limited"])
    }
    found = {name: mean_and_spread(own, metric) for name, own in own_rows.items()}
    if "meritnas" not in found or len(found) < 2:
        return None
    own, (best, spread) = found["meritnas"], max(found.values())
    seconds = {name: mean_and_spread(rows, "seconds")[0] for name, rows in own_rows.items()}
    return Target(
        f"{data}, at most {limit:,} parameters: MeritNAS is best under the limit or within the "
        f"spread of the best ({metric})",
        ", ".join(
            f"{name} {mean:.4f} ± {std:.4f} in {seconds[name]:.0f} s"
            for name, (mean, std) in found.items()
        ),
        best - own[0] <= max(own[1], spread),
    )


def chosen_methods(args: argparse.Namespace) -> list[str]:
    names = [name for name in args.methods.split(",") if name]
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise SystemExit(f"no method {', '.join(unknown)}; there are {', '.join(METHODS)}")
    chosen = []
    for name in names:
        package = METHODS[name].package
        if not (METHODS[name].limited or args.references):
            continue
        if package is not None and find_spec(package) is None:
            tell(f"{name} is left out: {package} is not installed")
            continue
        chosen.append(name)
    return chosen


def parse_data(text: str) -> tuple[Source, int]:
    parts = text.rsplit(":", 2)
    if len(parts) != 3 or not parts[2].isdigit():
        raise SystemExit(f"'{text}' is not of the form FILE:TARGET:MAXPARAMS")
    return load_source(parts[0], parts[1] or None), int(parts[2])


def tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    parser = arguments(__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("data", nargs="+", metavar="FILE:TARGET:MAXPARAMS")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--minutes", type=float, default=1.0, help="for each limited method")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--space", default="tabular", help="of `meritnas` and `optuna`")
    parser.add_argument("--processor-time", action="store_true", help="not that of the clock")
    parser.add_argument("--references", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--realmlp-epochs", type=int, default=32)
    parser.add_argument("--continue", action="store_true", dest="keep", help="skip rows in --json")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    trees = 400
    if args.processor_time:
        time.perf_counter = time.process_time  # which all of the package goes by
    if args.quick:
        args.seeds, args.minutes, args.realmlp_epochs, trees = 1, 0.02, 2, 20
    tables = [parse_data(text) for text in args.data]
    torch.optim.Adam([torch.zeros(1)])  # the first one imports for seconds, which nobody pays for
    names, ledger, targets = chosen_methods(args), Ledger(args), []
    for source, limit in tables:
        for seed in range(args.seeds):
            seconds = 60.0 * args.minutes
            references = args.realmlp_epochs, trees
            ground = Ground(source, limit, seed, seconds, args.threads, *references, args.space)
            run(ground, names, ledger)
        rows = [
            row
            for row in ledger.of(
                data=source.name, limit=limit, minutes=ground.seconds / 60.0, space=args.space
            )
            if row["seed"] < args.seeds
        ]
        show(
            f"{source.name}, at most {limit:,} parameters, {args.minutes:g} minutes, "
            f"{args.seeds} seeds",
            summarise(rows),
        )
        targets.append(judge(source.name, limit, main_metric(ground.task), rows))
    return finish(ledger.rows, [target for target in targets if target], args)


if __name__ == "__main__":
    sys.exit(main())
