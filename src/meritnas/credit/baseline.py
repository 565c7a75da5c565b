from __future__ import annotations


class MovingAverage:
    """A debiased exponential moving average of rewards, used before it is updated.

    TabNAS' algorithm 1, line 18 as printed divides by the wrong sum; numerator and denominator
    are kept apart here, so that a constant reward is its own average from the first step on. The
    first signal is 0.
    """

    def __init__(self, decay: float = 0.9) -> None:
        self.decay = decay
        self._numerator = 0.0
        self._denominator = 0.0

    def signals(self, rewards: list[float]) -> list[float]:
        """Each reward minus the average before them; then the average takes them in, in order."""
        before = self.value if self._denominator else (rewards[0] if rewards else 0.0)
        for reward in rewards:
            self._numerator = self.decay * self._numerator + (1 - self.decay) * reward
            self._denominator = self.decay * self._denominator + (1 - self.decay)
        return [reward - before for reward in rewards]

    @property
    def value(self) -> float:
        """The average; 0 before the first reward."""
        return self._numerator / self._denominator if self._denominator else 0.0

    def state_dict(self) -> dict[str, float]:
        """The two sums."""
        return {"numerator": self._numerator, "denominator": self._denominator}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Continue from a saved state."""
        self._numerator, self._denominator = state["numerator"], state["denominator"]
