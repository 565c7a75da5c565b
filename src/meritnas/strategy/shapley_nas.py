"""Shapley-NAS (Xiao et al., 2022), and the two ablations of its paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from meritnas.errors import UsageError
from meritnas.settings.fields import shown
from meritnas.settings.spec import SpaceSpec, StrategySpec
from meritnas.strategy.options import (
    check_above_zero,
    check_policy_rate,
    check_within,
    drawn,
)

if TYPE_CHECKING:
    from meritnas.strategy.algorithms.shapley_estimate import Estimate
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy
    from meritnas.strategy.turns import Turns

_PERMUTATIONS = 10
_RELEASED_ROWS = 1024
_PATH_OPTIONS = ("game", "judged_paths", "judged_rows")


@dataclass(frozen=True)
class ShapleySpec(StrategySpec):
    """A strategy that estimates Shapley values of options.

    Attributes:
        estimator: How Shapley values are found.
        permutations: Orders in which options are taken away.
        truncation: Stop taking options away at this share of the whole score; 0 for never.
    """

    estimator: Literal["permutation", "regression"] = field(
        default="permutation", metadata=shown(metavar="NAME")
    )
    permutations: int | None = field(default=None, metadata=drawn())
    truncation: float | None = None

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        if self.truncation is not None:
            check_within("truncation", self.truncation)
            self._permutation_only("truncation")

    def _permutation_only(self, name: str) -> None:
        if self.estimator != "permutation":
            raise UsageError(f"{name} goes with estimator 'permutation', got '{self.estimator}'")


@dataclass(frozen=True)
class Shapley(ShapleySpec):
    """Shapley-NAS: all options at once, weighted by what their removal costs.

    The variant `released` is the authors' code and not their text: values are means minus one
    deviation, scaled to z-scores and averaged from small noise on, from single permutations on
    1,024 rows. Truncation is at half the score unless it is given, and 0 is for none; confidence 0
    never ends an estimate early. Unless permutations are given, they are the paper's 10 after
    every epoch where that takes at most 6 evaluations for each weight step, and else fewer or less
    often: a cell of DARTS has 196 players, and a short search no time for 1,960 evaluations.

    The game `path` asks what single networks score that are drawn from some of the options, and
    never empties a decision. Weights are trained on uniform feasible networks, and values found
    once, when that is done, from judged ones: 20 for each option unless `judged_paths` says
    otherwise, but no more than there are weight steps after the warm-up. The paper has `mixture`.

    Attributes:
        game: What sets of options are judged by, their mixture or single networks.
        momentum: How long Shapley values are remembered.
        step: How far Shapley values move weights.
        normalisation: Over what Shapley values are scaled.
        weighing: How estimates count: as in the paper, the first most, or the newest most.
        variant: Of Shapley-NAS: its paper, or its code.
        antithetic: Whether each order is also taken backwards.
        judged_rows: Validation rows that options are judged on.
        confidence: End an estimate where ranks are this certain.
        judged_paths: Networks that are judged in the path game.
    """

    name: ClassVar[str] = "shapley"

    game: Literal["mixture", "path"] = field(default="mixture", metadata=shown(metavar="NAME"))
    momentum: float = 0.8
    step: float = 0.1
    normalisation: Literal["table", "edge", "global", "zscore"] | None = field(
        default=None, metadata=shown(metavar="NAME")
    )
    weighing: Literal["paper", "newest"] = field(default="paper", metadata=shown(metavar="NAME"))
    variant: Literal["paper", "released"] = field(default="paper", metadata=shown(metavar="NAME"))
    antithetic: bool = True
    judged_rows: int | None = field(default=None, metadata=drawn())
    confidence: float = 0.0
    judged_paths: int | None = field(default=None, metadata=drawn(least=2))

    def __post_init__(self) -> None:
        """Complain about values out of range, and about what does not go together."""
        super().__post_init__()
        if self.game == "path":
            for name in self.options():
                if name not in _PATH_OPTIONS:
                    raise UsageError(f"{name} goes with game 'mixture', got game 'path'")
        elif self.judged_paths is not None:
            raise UsageError(f"judged_paths goes with game 'path', got game '{self.game}'")
        check_within("momentum", self.momentum)
        check_above_zero("step", self.step)
        if self.weighing == "newest" and self.momentum == 1:
            raise UsageError(
                "weighing 'newest' has a momentum below 1, got 1, with which nothing is learnt"
            )
        if self._released and self.estimator != "permutation":
            raise UsageError(
                f"variant 'released' has estimator 'permutation', got '{self.estimator}'"
            )
        check_within("confidence", self.confidence)
        if self.confidence > 0:
            self._permutation_only("confidence")
        if not self.antithetic:
            self._permutation_only("no antithetic")

    @property
    def _released(self) -> bool:
        return self.variant == "released"

    def partial_channels(self, space: SpaceSpec) -> int:
        """A quarter of the channels on DARTS' spaces, as the paper has it; all for paths."""
        return 1 if self.game == "path" else space.usual_parts

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture, or paths before any was judged."""
        return self._paths(problem) if self.game == "path" else self._mixture(problem)

    def _paths(self, problem: Problem) -> Strategy:
        from meritnas.strategy.algorithms.path_shapley import PathShapley, affordable_paths
        from meritnas.strategy.algorithms.shapley_estimate import JUDGED_ROWS

        return PathShapley(
            problem.feasible,
            problem.rng(),
            self.judged_paths or affordable_paths(problem),
            self.judged_rows or JUDGED_ROWS,
            problem.seed,
        )

    def _mixture(self, problem: Problem) -> Strategy:
        import numpy as np

        from meritnas.strategy.algorithms.darts import INITIAL_SPREAD
        from meritnas.strategy.algorithms.shapley import ShapleyMixture
        from meritnas.strategy.algorithms.shapley_step import NewestStep, ShapleyStep, blocks_of

        estimate, most = self._estimate(problem)
        scaled = self.normalisation or ("zscore" if self._released else "table")
        players = estimate.players
        tables = problem.tables or (tuple(range(len(problem.feasible.space.decisions))),)
        blocks = blocks_of(scaled, players.decisions, tables)
        make_step = NewestStep if self.weighing == "newest" else ShapleyStep
        step = make_step(blocks, self.momentum, self.step, scaled == "zscore")
        rng, size = problem.rng(), len(players.names)
        logits = INITIAL_SPREAD * rng.standard_normal(size)
        average = INITIAL_SPREAD * rng.standard_normal(size) if self._released else np.zeros(size)
        return ShapleyMixture(
            problem.feasible, estimate, step, rng, logits, average, most_moves=most
        )

    def _estimate(self, problem: Problem) -> tuple[Estimate, int | None]:
        """(how values are found, how often at most)."""
        from meritnas.strategy.algorithms.shapley_estimate import (
            JUDGED_ROWS,
            affordable,
            make_estimate,
        )

        most, count = None, self.permutations
        if count is None:
            most, count = affordable(problem)
        estimate = make_estimate(
            problem,
            self.estimator,
            count,
            self.truncation,
            self.judged_rows or (_RELEASED_ROWS if self._released else JUDGED_ROWS),
            self.confidence,
            antithetic=self.antithetic and not self._released,
            lower=1.0 if self._released else 0.0,
        )
        return estimate, most


@dataclass(frozen=True)
class DartsShapley(ShapleySpec):
    """DARTS that ranks its options by Shapley values at the end.

    Attributes:
        policy_rate: Learning rate of the policy.
    """

    name: ClassVar[str] = "darts-shapley"

    permutations: int = field(default=_PERMUTATIONS, metadata=drawn())
    policy_rate: float | None = None

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)

    def make(self, problem: Problem) -> Strategy:
        """DARTS' almost equal mixture."""
        from meritnas.strategy.turns import WITH_WEIGHTS

        return _ranked_at_the_end(self, problem, self.policy_rate, WITH_WEIGHTS)


@dataclass(frozen=True)
class DartsShapleyFrozen(ShapleySpec):
    """An equal mixture that never learns, ranked by Shapley values at the end."""

    name: ClassVar[str] = "darts-shapley-frozen"
    believes: ClassVar[bool] = False

    permutations: int = field(default=_PERMUTATIONS, metadata=drawn())

    def make(self, problem: Problem) -> Strategy:
        """An almost equal mixture, which it stays."""
        from meritnas.strategy.turns import Turns

        return _ranked_at_the_end(self, problem, None, Turns("frozen", each_epoch=0))


def _ranked_at_the_end(
    spec: DartsShapley | DartsShapleyFrozen, problem: Problem, rate: float | None, turns: Turns
) -> Strategy:
    from meritnas.strategy.algorithms.darts import softmax_weights
    from meritnas.strategy.algorithms.dense import Dense
    from meritnas.strategy.algorithms.ranked_by_shapley import RankedByShapley
    from meritnas.strategy.algorithms.shapley_estimate import make_estimate

    rng = problem.rng()
    searched = Dense(problem.feasible, softmax_weights(problem, "darts", rate, rng), turns=turns)
    estimate = make_estimate(problem, spec.estimator, spec.permutations, spec.truncation)
    return RankedByShapley(searched, problem.feasible, estimate, rng)
