"""What the specs of strategies have in common that learn by the gradient of a loss."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.settings.spec import StrategySpec
from meritnas.strategy.options import check_policy_rate


@dataclass(frozen=True)
class GradientSpec(StrategySpec):
    """A strategy whose beliefs move against the gradient of a validation loss.

    Attributes:
        policy_rate: Learning rate of the policy.
    """

    policy_rate: float | None = None

    def __post_init__(self) -> None:
        """Complain about values out of range."""
        super().__post_init__()
        check_policy_rate(self.policy_rate)
