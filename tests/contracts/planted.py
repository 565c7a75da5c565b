"""Small instances of every space whose right answer is known, because it was planted.

An architecture is drawn: the answer. Then a supernet of the space is taught, on data with plain
labels, to answer right in the measure that its gates are: of paths and mixtures that have a share
s of the answer, s of what is learnt is the label and 1 - s is a wrong one. So each decision has
one option that is plainly right, whatever the others do, and the more of them are right the
smaller is the loss. Searches begin with these weights and leave them as they are: what they find
is what their credit finds.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn import functional as F

from meritnas.clock import Clock
from meritnas.data.bundle import Bundle
from meritnas.data.images.bundle import encode_images, outline_images
from meritnas.data.images.source import load_images
from meritnas.data.kinds import kind_of
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.source import load_modalities
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.source import load_source
from meritnas.data.texts.bundle import encode_text
from meritnas.data.texts.source import TextSource
from meritnas.engine.loop import Search, run_search
from meritnas.engine.plan import Plan
from meritnas.engine.start import make_search, make_supernet
from meritnas.families.darts.spec import Darts
from meritnas.families.family import Family
from meritnas.families.fusion.spec import Fusion
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import Ground, make_ground
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture
from meritnas.space.rule import ABSENT
from meritnas.strategy.catalogue import strategy_spec
from meritnas.supernet.gates import Gates, mixture, one_path
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Supernet, module_of

ROWS, CLASSES, WORDS = 240, 3, 8
LABELS = np.arange(ROWS) % CLASSES
BATCH = 32
KNOWN_CELLS = "recurrent with known cells"
"""Where a GRU or an LSTM may take the place of the cell whose edges are planted."""


def blobs(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """A point for each class, and noise as large: [rows, *shape]."""
    centres: np.ndarray = rng.normal(size=(CLASSES, *shape))
    return centres[LABELS] + rng.normal(size=(ROWS, *shape))


@functools.cache
def bundle_of(space: str) -> Bundle[Any]:
    """Data on which a network of any shape finds something to learn."""
    rng = np.random.default_rng(0)
    if space == "tabular":
        frame = pd.DataFrame(blobs(rng, 6), columns=list("abcdef"))
        frame["y"] = np.array(["p", "q", "r"])[LABELS]
        return make_bundle(load_source(frame, "y"), seed=0)
    if space in ("recurrent", KNOWN_CELLS):
        follows, numbers = rng.permutation(WORDS), [0]
        while len(numbers) < 1600:
            known = rng.random() < 0.8
            numbers.append(int(follows[numbers[-1]] if known else rng.integers(WORDS)))
        words = [f"w{number}" for number in numbers]
        parts = words[:1000], words[1000:1500], words[1500:]
        return encode_text(TextSource("made up", *parts, "word", True, "", ""), 8, 5)
    if space == "fusion":
        views = {name: blobs(rng, 4) for name in ("one", "two", "three")}
        source = load_modalities({**views, "y": LABELS}, "y")
        return encode_modalities(source, outline_modalities(source, 0))
    pixels = (128 + 30 * blobs(rng, 6, 6, 3)).clip(0, 255).astype(np.uint8)
    pictures = load_images((pixels, LABELS))
    return encode_images(pictures, outline_images(pictures, 0))


def spec_of(space: str, partial: int) -> SpaceSpec:
    """As small as a space can be and still have all that makes it one."""
    sizes = {"channels": 4, "supernet_channels": 4, "partial_channels": partial}
    found: Mapping[str, SpaceSpec] = {
        "tabular": Tabular(layers=3, widths=((2, 4, 8),) * 3),
        "nasbench201": Nasbench201(cells=1, supernet_cells=1, **sizes),
        "darts": Darts(cells=3, supernet_cells=3, **sizes),
        "recurrent": Recurrent(width=8, nodes=3, known_cells=False),
        KNOWN_CELLS: Recurrent(width=8, nodes=3),
        "fusion": Fusion(channels=8, length=2, cells=2, steps=1, new_inputs=False, heads=False),
    }
    return found[space]


_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "nasbench201": ("none", "nor_conv_1x1", "nor_conv_3x3"),
    "darts": ("none", "sep_conv_3x3", "dil_conv_3x3"),
    "recurrent": ("relu", "tanh", "zero"),
    KNOWN_CELLS: ("relu", "tanh", "zero", "cell", "gru", "lstm"),
    "fusion": ("none", "x", "y", "glu", "concat", "se"),
}
"""What decisions choose from here: two that do something and, on edges, nothing at all."""

_NOTHING = ("none", "zero", "2")
"""No answers where each decision is free: what they leave out could not be told."""

_EDGES = 14
_FIRST_TWO = (0, 1, 2, 3, 5, 6, 9, 10)
"""Of DARTS' edges, those from the two cells before."""


def smaller(space: str, family: Family) -> Family:
    """Three options for each decision; of DARTS' cells only the normal one is searched."""
    kept = []
    for i, names in enumerate(family.space.names):
        wanted = _OPTIONS.get(space, tuple(names))
        if space == "darts" and i >= _EDGES:
            wanted = ("none", "sep_conv_3x3") if i - _EDGES in _FIRST_TWO else ("none",)
        kept.append(np.array([k for k, name in enumerate(names) if name in wanted]))
    return family.restrict(kept)


@dataclass(frozen=True)
class Planted:
    """A space, data, and the answer.

    Attributes:
        space: its name.
        ground: the space, without a limit.
        weights: of the supernet that was taught.
        answer: what was planted.
        picks: the same as numbers of options.
    """

    space: str
    ground: Ground
    weights: Mapping[str, Tensor]
    answer: Architecture
    picks: tuple[int, ...]

    @functools.cached_property
    def chances(self) -> np.ndarray:
        """How often a random network has each decision of the answer, exactly."""
        feasible = self.ground.searched_feasible
        rows = feasible.condition([np.zeros(size) for size in feasible.space.sizes]).marginals()
        return np.array([row[pick] for row, pick in zip(rows, self.picks, strict=True)])

    @property
    def open(self) -> list[int]:
        """The decisions that a network may miss."""
        return [i for i, chance in enumerate(self.chances) if chance < 1.0]

    def ranks(self, beliefs: Sequence[np.ndarray]) -> list[tuple[float, int]]:
        """(Place of the answer from 0, ties shared, number of options) of each open decision.

        An edge that a node may leave out is absent where others are stronger, so that absence
        has no place of its own, in DARTS' mixtures not even a say.
        """
        found = []
        for i in self.open:
            options = self.ground.searched.space.decisions[i].options
            there = [k for k, option in enumerate(options) if ABSENT not in option.tags]
            if self.picks[i] not in there or len(there) < 2:
                continue
            row, own = beliefs[i][there], beliefs[i][self.picks[i]]
            place = float((row > own).sum() + 0.5 * ((row == own).sum() - 1))
            found.append((place, len(there)))
        return found


def settings_for(
    space: str, strategy: str, options: Mapping[str, Any], seed: int, limits: Mapping[str, int]
) -> SearchSettings:
    partial = 2 if strategy == "pc-darts" else 1
    return SearchSettings(
        space=spec_of(space, partial),
        strategy=strategy_spec(strategy, options),
        reading=kind_of(bundle_of(space).encoder).reading(),
        limits=limits,
        recipe=TrainRecipe(batch_size=BATCH),
        seed=seed,
    )


@functools.cache
def planted(space: str, seed: int, kept: Path, strategy: str = "random") -> Planted:
    """An answer and a supernet that was taught it; `strategy` as far as supernets differ by it.

    What it was taught is kept in a folder, where other processes find it.
    """
    settings = settings_for(space, strategy, {}, seed, {})
    bundle = bundle_of(space)
    ground = make_ground(smaller(space, make_family(settings, bundle.encoder, bundle.task)), {})
    rng = np.random.default_rng([seed, 7])
    answer = ground.searched.random(rng)
    while ground.searched.space.rule is None and set(answer.options) & set(_NOTHING):
        answer = ground.searched.random(rng)
    if space in ("nasbench201", KNOWN_CELLS):  # whose rules are about other things
        while set(answer.options) & set(_NOTHING):
            answer = ground.searched.random(rng)
    picks = ground.searched.space.picks(answer)
    taught = kept / f"{space}-{seed}-{strategy}.safetensors"
    if not taught.exists():
        supernet = make_supernet(settings, ground.searched)
        _teach(supernet, bundle, ground, picks, rng, _LESSONS.get(space, 300))
        mine = taught.with_suffix(f".{os.getpid()}")
        save_file(module_of(supernet).state_dict(), mine)
        mine.replace(taught)
    return Planted(space, ground, load_file(taught), answer, picks)


_LESSONS: Mapping[str, int] = {"recurrent": 60, KNOWN_CELLS: 150, "nasbench201": 400}
"""How long supernets are taught; 300 where it is not said.

The recurrent one for so short a time since after more lessons even the gradient of a gate over a
whole edge, highway included, points the right way.
"""


def _teach(
    supernet: Supernet,
    bundle: Bundle[Any],
    ground: Ground,
    picks: Sequence[int],
    rng: np.random.Generator,
    lessons: int,
) -> None:
    """Three paths, then a mixture, and so on; each with a share of the answer."""
    module, part = module_of(supernet), bundle.train
    if bundle.task.kind == "language":
        with torch.no_grad():  # begins so small that activations are alike
            for param in module.parameters():
                param.mul_(10.0)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for lesson in range(lessons):
        make = _some_mixture if lesson % 4 == 3 else _some_path
        gates, share = make(ground, picks, rng)
        rows = torch.from_numpy(rng.integers(len(part), size=BATCH))
        outputs = supernet(part.inputs[rows], gates).flatten(0, -2)
        right = part.target[rows].flatten()
        wrong = (right + 1) % outputs.shape[1]
        loss = share * F.cross_entropy(outputs, right)
        loss = loss + (1.0 - share) * F.cross_entropy(outputs, wrong)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()


def _some_path(
    ground: Ground, picks: Sequence[int], rng: np.random.Generator
) -> tuple[Gates, float]:
    """A valid path, and its share of the answer; all shares come up."""
    share, rows = rng.uniform(0.05, 0.95), []
    for pick, size in zip(picks, ground.searched.space.sizes, strict=True):
        chances = np.full(size, (1.0 - share) / max(1, size - 1))
        chances[pick] = share
        rows.append(np.log(chances))
    found = ground.searched.space.picks(ground.searched_feasible.sample(rows, 1, rng)[0])
    return one_path(found), float(np.mean(np.equal(found, picks)))


def _some_mixture(
    ground: Ground, picks: Sequence[int], rng: np.random.Generator
) -> tuple[Gates, float]:
    """Weights for all options, and the mean weight of the answer."""
    share, rows = rng.random(), []
    for pick, size in zip(picks, ground.searched.space.sizes, strict=True):
        row = (1.0 - share) * rng.dirichlet(np.ones(size))
        row[pick] += share
        rows.append(row)
    weight = np.mean([row[pick] for row, pick in zip(rows, picks, strict=True)])
    return mixture([torch.tensor(row, dtype=torch.float32) for row in rows]), float(weight)


@dataclass(frozen=True)
class Found:
    """What a search has found.

    Attributes:
        right: how many of the open decisions are as planted.
        ranks: as `Planted.ranks`, by the beliefs at the end.
    """

    right: int
    ranks: list[tuple[float, int]]


class _Nowhere:
    """In place of a run's folder."""

    def append(self, event: dict[str, Any]) -> None:
        del event

    def write_checkpoint(self, state: dict[str, Any]) -> None:
        del state


def searched(
    plant: Planted, strategy: str, options: Mapping[str, Any], turns: int, seed: int, aims: bool
) -> Found:
    """One search with weights that rest.

    Args:
        plant: where.
        strategy: whose.
        options: of the strategy.
        turns: updates of the beliefs, or whole estimates of strategies that learn so.
        seed: of the search.
        aims: whether there is a limit to aim at, which then is what the answer costs.
    """
    cost = plant.ground.family.cost(plant.answer)
    limits = {"params": cost} if aims else {}
    settings = settings_for(plant.space, strategy, options, seed, limits)
    whole = plant.ground.searched  # with all its options, as it was taught
    ground = replace(
        plant.ground,
        feasible=plant.ground.family.useful.within(limits),
        searched_feasible=whole.within(limits),
    )
    search = make_search(settings, ground, bundle_of(plant.space), Plan(0, turns, 0), 0)
    module_of(search.supernet).load_state_dict(dict(plant.weights))
    _rest(search)
    when = search.strategy.turns
    if when.phase == "frozen":
        due = turns if when.each_epoch is None else turns * when.each_epoch
        search.plan = Plan(0, 1, due)
    ranked = run_search(search, _Nowhere(), lambda _: None)  # type: ignore[arg-type]
    found = plant.ground.searched.space.picks(ranked[0])
    right = sum(found[i] == plant.picks[i] for i in plant.open)
    return Found(right, plant.ranks(search.strategy.beliefs()))


def _rest(search: Search) -> None:
    """Weight steps draw their gates, as strategies expect, and train nothing."""

    def drawn(clock: Clock) -> Tensor:
        search.strategy.sample(clock)
        return torch.zeros(())

    search.weight_step = drawn  # type: ignore[method-assign]


def fresh_probe(plant: Planted) -> Probe:
    """What judges networks with the weights that were taught."""
    settings = settings_for(plant.space, "random", {}, 0, {})
    search = make_search(settings, plant.ground, bundle_of(plant.space), Plan(0, 1, 1), 0)
    module_of(search.supernet).load_state_dict(dict(plant.weights))
    return search.probe
