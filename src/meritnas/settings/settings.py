from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.plugins import importable_name
from meritnas.settings.recipe import TrainRecipe

WARMUP_SHARE = 0.25
"""TabNAS section 3.1: the first quarter of the weight steps is warm-up."""

PAPER_WIDTHS = (8, 16, 24, 32, *range(48, 257, 16), 384, 512)
"""The 20 sizes of TabNAS' Criteo and Volkert 4-layer spaces (appendix B.2)."""

SCALINGS = ("auto", "standard", "quantile")


@dataclass(frozen=True)
class CellSettings:
    """What a user decides about networks of cells and their supernet.

    Attributes:
        preset: where the values that nobody gave come from.
        channels: of the child's first cells.
        cells: of the child: in each stage, or in all (`darts`).
        zero: whether an edge may be left out (`nasbench201`).
        stem: `cifar` or `imagenet` (`darts`).
        supernet_channels: of the supernet's first cells.
        supernet_cells: of the supernet.
        partial_channels: K of PC-DARTS; 1 for all channels.
    """

    preset: str
    channels: int
    cells: int
    zero: bool
    stem: str
    supernet_channels: int
    supernet_cells: int
    partial_channels: int

    def __post_init__(self) -> None:
        for name in (
            "channels",
            "cells",
            "supernet_channels",
            "supernet_cells",
            "partial_channels",
        ):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))


@dataclass(frozen=True)
class TextSettings:
    """What a user decides about a text and its language models.

    Attributes:
        preset: where the values that nobody gave come from.
        level: what a text is made of, `word` or `character`.
        vocabulary: the most words that are told apart.
        window: words as far as gradients go back.
        width: of embeddings, state and nodes.
        nodes: intermediate nodes of the cell.
        predecessors: 1 for one edge into each node, None for all.
    """

    preset: str
    level: Literal["word", "character"]
    vocabulary: int
    window: int
    width: int
    nodes: int
    predecessors: int | None = None

    def __post_init__(self) -> None:
        for name, least in (("vocabulary", 2), ("window", 1), ("width", 1), ("nodes", 1)):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), least))
        if self.level not in ("word", "character"):
            raise UsageError(f"the level must be word or character, got '{self.level}'")


@dataclass(frozen=True)
class FusionSettings:
    """What a user decides about networks that join several modalities.

    Attributes:
        preset: where the values that nobody gave come from.
        channels: of every joined state.
        length: positions of every joined state.
        cells: fusion cells.
        steps: inner steps of a cell.
        operations: what steps choose from: `all`, `normal`, `sparse` or `bm-nas`.
        shared: whether both inputs of a cell are the same mixture while searching, as in BM-NAS.
        unimodal_only: whether cells join features only, and not what earlier cells gave.
        new_inputs: whether each cell reads a feature that no cell before it reads, as long as
            there is one, as in BM-NAS.
        sparsity: lambda_1 of sparse operations.
        text_form: how texts become numbers, `counted` or `hashed`.
        text_columns: how many numbers.
        backbones: networks that read a modality first and are trained along, by its name: `conv`,
            or what makes one, `module:function`.
        frozen_backbones: the same of networks that are not trained, whose features are computed
            once; they are no part of the network that is searched.
    """

    preset: str
    channels: int
    length: int
    cells: int
    steps: int
    operations: Literal["all", "normal", "sparse", "bm-nas"] = "all"
    shared: bool = False
    unimodal_only: bool = False
    new_inputs: bool = False
    sparsity: float = 0.1
    text_form: Literal["counted", "hashed"] = "counted"
    text_columns: int = 1024
    backbones: dict[str, str] = field(default_factory=dict)
    frozen_backbones: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("backbones", "frozen_backbones"):
            given = getattr(self, name)
            named = {each: importable_name(own, "backbone") for each, own in given.items()}
            object.__setattr__(self, name, named)
        twice = sorted(set(self.backbones) & set(self.frozen_backbones))
        if twice:
            raise UsageError(
                f"the backbone of '{twice[0]}' is either trained along or frozen; give one of them"
            )
        for name in ("channels", "length", "cells", "steps", "text_columns"):
            object.__setattr__(self, name, whole_number(name, getattr(self, name), 1))
        if not 0 <= self.sparsity < math.inf:
            raise UsageError(f"sparsity must be at least 0 and finite, got {self.sparsity}")
        if self.text_form not in ("counted", "hashed"):
            raise UsageError(f"text_form must be counted or hashed, got '{self.text_form}'")


@dataclass(frozen=True)
class SearchSettings:
    """Everything a user decides about a run; plain values, kept in the run's config.json.

    Attributes:
        space: the kind of network.
        strategy: how it is searched.
        strategy_options: by the strategy's own names.
        limits: cost name -> the most that the found network may cost.
        layers: number of hidden layers.
        widths: the widths to choose from, for each layer.
        embedding: the width of every category's embedding, or None for the rule.
        widest_embedding: the most that the rule may give; None for what the limits leave room for.
        epochs: passes of the supernet over the training part, or None for `minutes`.
        minutes: wall-clock time for search and retraining together.
        recipe: how weights are trained, in the supernet and after.
        child_recipe: how a network trained alone is trained, where that differs.
        warmup: the part of the search in which only weights are trained.
        cells: of networks for images; None for others.
        text: of language models; None for others.
        fusion: of networks for several modalities; None for others.
        finalists: how many of the search's favourites are trained from scratch to find the best.
        retrain_epochs: passes of the found network over the training part.
        retrain_seeds: how often the found network is trained from scratch.
        seed: where all randomness comes from.
        device: where tensors live.
        threads: CPU threads; part of what makes a run repeatable.
        task: "classification", "regression", or None to find out.
        scaling: of numbers: "standard", "quantile", or "auto" for what validation rows favour.
        class_weight: "balanced" for classes that count alike, or None.
        pareto: whether networks for a ladder of smaller limits are found as well.
    """

    space: str = "tabular"
    strategy: str = "tabnas"
    strategy_options: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, int] = field(default_factory=dict)
    layers: int = 3
    widths: tuple[tuple[int, ...], ...] = (PAPER_WIDTHS,) * 3
    embedding: int | None = None
    widest_embedding: int | None = None
    epochs: int | None = 60
    minutes: float | None = None
    recipe: TrainRecipe = field(default_factory=TrainRecipe)
    child_recipe: TrainRecipe | None = None
    warmup: float = WARMUP_SHARE
    cells: CellSettings | None = None
    text: TextSettings | None = None
    fusion: FusionSettings | None = None
    retrain_epochs: int | None = 60
    retrain_seeds: int = 3
    finalists: int = 3
    seed: int = 0
    device: str = "cpu"
    threads: int = 1
    task: str | None = None
    scaling: Literal["auto", "standard", "quantile"] = "auto"
    class_weight: str | None = None
    pareto: bool = False

    def __post_init__(self) -> None:
        counts = ("epochs", "retrain_epochs", "retrain_seeds", "finalists", "threads", "seed")
        for name in (*counts, "layers", "embedding"):
            value = getattr(self, name)
            if value is not None:
                least = 0 if name == "seed" else 1
                object.__setattr__(self, name, whole_number(name, value, least))
        if self.scaling not in SCALINGS:
            raise UsageError(
                f"the scaling must be {', '.join(SCALINGS[:-1])} or {SCALINGS[-1]}, "
                f"got '{self.scaling}'"
            )
        limits = {name: whole_number(f"max_{name}", most) for name, most in self.limits.items()}
        object.__setattr__(self, "limits", limits)
        if self.minutes is not None and not 0 < self.minutes < math.inf:
            raise UsageError(f"minutes must be above 0 and finite, got {self.minutes}")
        if (self.epochs is None) == (self.minutes is None):
            raise UsageError("give either epochs or minutes, not both")
        if not 0 <= self.warmup < 1:
            raise UsageError(f"warmup must be from 0 to below 1, got {self.warmup}")
        if self.seed >= 2**32:
            raise UsageError(f"seed must be below 2**32, got {self.seed}")

    @property
    def alone(self) -> TrainRecipe:
        """How a network is trained alone."""
        return self.child_recipe or self.recipe

    def to_json(self) -> dict[str, Any]:
        """Plain data that `from_json` turns back into equal settings."""
        return {**asdict(self), "widths": [list(row) for row in self.widths]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SearchSettings:
        """The inverse of `to_json`."""
        try:
            values = dict(data)
            values["recipe"] = TrainRecipe(**values["recipe"])
            if values.get("child_recipe") is not None:
                values["child_recipe"] = TrainRecipe(**values["child_recipe"])
            if values.get("cells") is not None:
                values["cells"] = CellSettings(**values["cells"])
            if values.get("text") is not None:
                values["text"] = TextSettings(**values["text"])
            if values.get("fusion") is not None:
                values["fusion"] = FusionSettings(**values["fusion"])
            values["widths"] = tuple(tuple(row) for row in values["widths"])
            return SearchSettings(**values)
        except (KeyError, TypeError) as error:
            raise StoreError(
                f"the run's settings are damaged ({error}); restore config.json or start a new run"
            ) from error
