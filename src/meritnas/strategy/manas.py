"""MANAS (Carlucci et al., 2019): an agent for each decision, in the forms of its paper."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

from meritnas.errors import UsageError
from meritnas.settings.fields import shown
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import check_policy_rate, check_within, drawn

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem
    from meritnas.strategy.strategy import Strategy

JudgedBy = Literal["loss", "error"]
Compared = Literal["none", "average"]
Final = Literal["mode", "draw"]
Pooling = Literal["shrinkage", "none"]
Interactions = Literal["none", "pairs"]


@dataclass(frozen=True)
class Manas(StrategySpec):
    """MANAS: an agent for each decision, by EXP3.

    Step and exploration follow from the number of rounds. Losses are divided by that of chance,
    or are error rates. With a baseline it learns faster and is no longer EXP3. The choice at the
    end is the least blamed network, or (`draw`, algorithm 1's last line) a draw. For it agents with
    the same operations pool what they know, as much as evidence says, unless `pooling` is `none`,
    as in the paper. There is no warm-up, as in the paper, unless one is asked for.

    Attributes:
        policy_rate: Learning rate of the policy.
        exploration: How often MANAS' agents choose anything.
        judged_by: What MANAS' agents are blamed for.
        baseline: What rewards are compared with.
        final: How the final network is chosen.
        pooling: Whether agents with the same operations learn from each other.
    """

    name: ClassVar[str] = "manas"
    usual_warmup: ClassVar[float | None] = 0.0

    policy_rate: float | None = None
    exploration: float | None = field(default=None, metadata=shown(usual="by rounds"))
    judged_by: JudgedBy = "loss"
    baseline: Compared = "none"
    final: Final = "mode"
    pooling: Pooling = "shrinkage"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        _check_exp3(self.policy_rate, self.exploration)

    def make(self, problem: Problem) -> Strategy:
        """Agents that blame nothing yet."""
        from meritnas.strategy.algorithms.agent_strategy import exp3
        from meritnas.strategy.algorithms.manas import blamed_agents

        sampling = exp3(problem, problem.joint_steps, self.policy_rate, self.exploration)
        return blamed_agents(
            problem, sampling, self.judged_by, self.baseline, self.final, self.pooling
        )


@dataclass(frozen=True)
class ManasCoordinatedZipf(StrategySpec):
    """An agent for each decision, who draws by the ranks of cumulative losses.

    Attributes:
        judged_by: What MANAS' agents are blamed for.
        baseline: What rewards are compared with.
        final: How the final network is chosen.
        pooling: Whether agents with the same operations learn from each other.
    """

    name: ClassVar[str] = "manas-coordinated-zipf"
    usual_warmup: ClassVar[float | None] = 0.0

    judged_by: JudgedBy = "loss"
    baseline: Compared = "none"
    final: Final = "mode"
    pooling: Pooling = "shrinkage"

    def make(self, problem: Problem) -> Strategy:
        """Agents that blame nothing yet."""
        from meritnas.policy.agents import Zipf
        from meritnas.strategy.algorithms.manas import blamed_agents

        return blamed_agents(
            problem, Zipf(), self.judged_by, self.baseline, self.final, self.pooling
        )


@dataclass(frozen=True)
class ManasLs(StrategySpec):
    """MANAS-LS: an agent for each decision, who draws by the ranks of a regression.

    Attributes:
        samples: Networks for each policy step.
        memory: How much a regression counts in the next one.
        final: How the final network is chosen.
        interactions: Of options that a regression knows beside their own effects.
    """

    name: ClassVar[str] = "manas-ls"

    samples: int | None = field(default=None, metadata=drawn())
    memory: float = 0.0
    final: Final = "mode"
    interactions: Interactions = "none"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        _check_memory(self.memory, self.interactions)

    def make(self, problem: Problem) -> Strategy:
        """Agents before their first estimate."""
        from meritnas.policy.agents import Zipf
        from meritnas.strategy.algorithms.manas_linear import (
            affordable_estimates,
            regressed_agents,
        )

        estimates = affordable_estimates(problem, self.samples)
        return regressed_agents(
            *(problem, Zipf(), estimates, self.memory, self.final),
            adds_up=False,
            pairs=self.interactions == "pairs",
        )


@dataclass(frozen=True)
class ManasLinearSoftmax(StrategySpec):
    """An agent for each decision, by EXP3 on the coefficients of a regression.

    Attributes:
        policy_rate: Learning rate of the policy.
        exploration: How often MANAS' agents choose anything.
        samples: Networks for each policy step.
        memory: How much a regression counts in the next one.
        final: How the final network is chosen.
        interactions: Of options that a regression knows beside their own effects.
    """

    name: ClassVar[str] = "manas-linear-softmax"

    policy_rate: float | None = None
    exploration: float | None = field(default=None, metadata=shown(usual="by rounds"))
    samples: int | None = field(default=None, metadata=drawn())
    memory: float = 0.0
    final: Final = "mode"
    interactions: Interactions = "none"

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        _check_exp3(self.policy_rate, self.exploration)
        _check_memory(self.memory, self.interactions)

    def make(self, problem: Problem) -> Strategy:
        """Agents before their first estimate."""
        from meritnas.strategy.algorithms.agent_strategy import exp3
        from meritnas.strategy.algorithms.manas_linear import (
            affordable_estimates,
            regressed_agents,
        )

        estimates = affordable_estimates(problem, self.samples)
        sampling = exp3(problem, estimates.rounds, self.policy_rate, self.exploration)
        return regressed_agents(
            *(problem, sampling, estimates, self.memory, self.final),
            adds_up=True,
            pairs=self.interactions == "pairs",
        )


def _check_exp3(policy_rate: float | None, exploration: float | None) -> None:
    check_policy_rate(policy_rate)
    if exploration is not None:
        check_within("exploration", exploration)


def _check_memory(memory: float, interactions: str) -> None:
    if not 0 <= memory < 1:
        raise UsageError(f"memory must be at least 0 and below 1, got {memory}")
    if memory > 0 and interactions != "none":
        raise UsageError(f"memory goes with interactions 'none', got '{interactions}'")
