"""What rewards are compared with."""

from __future__ import annotations

from typing import Protocol


class Baseline(Protocol):
    """What a reward is compared with."""

    def signals(self, rewards: list[float]) -> list[float]:
        """How much better than expected each reward of one update is."""
        ...

    def state_dict(self) -> dict[str, float]:
        """What it remembers."""
        ...

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Continue from a saved state."""
        ...


class Paired:
    """Each reward against the mean of the others of the same update.

    The draws of an update are judged on one batch, so a hard or easy batch moves all of them
    alike and cancels here, where it would pass for merit against a moving average. The signal
    stays unbiased, because the others are drawn independently of the one they judge. A draw that
    is alone in its update gives no signal.
    """

    def signals(self, rewards: list[float]) -> list[float]:
        """(r - mean) * n / (n - 1), which is r minus the mean of the others."""
        n = len(rewards)
        if n < 2:
            return [0.0] * n
        mean = sum(rewards) / n
        return [(reward - mean) * n / (n - 1) for reward in rewards]

    def state_dict(self) -> dict[str, float]:
        """Nothing is remembered."""
        return {}

    def load_state_dict(self, state: dict[str, float]) -> None:
        """Nothing to restore."""
        del state


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
