"""What every strategy can do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from meritnas.errors import UsageError, told

if TYPE_CHECKING:
    import numpy as np

    from meritnas.clock import Clock
    from meritnas.space.architecture import Architecture
    from meritnas.strategy.turns import Turns
    from meritnas.supernet.gates import Gates
    from meritnas.supernet.probe import Probe


@dataclass(frozen=True)
class Learnt:
    """What one update was based on, for the run's record.

    Attributes:
        values: numbers by name: mean reward, how many draws were used.
    """

    values: Mapping[str, float]


class Strategy(Protocol):
    """Owns the beliefs about a space and moves them; sees the supernet through a probe only."""

    @property
    def turns(self) -> Turns:
        """When `update` is called."""
        ...

    def sample(self, clock: Clock) -> Gates:
        """The gates of the next weight step."""
        ...

    def update(self, probe: Probe, clock: Clock) -> Learnt | None:
        """Ask the probe and move the beliefs; None when there was nothing to learn from."""
        ...

    def beliefs(self) -> list[np.ndarray]:
        """How probable each option is now: a row for each decision."""
        ...

    def leader(self) -> Architecture:
        """The feasible architecture that the beliefs favour now."""
        ...

    def derive(self, probe: Probe) -> list[Architecture]:
        """The final choice, best first; each one is feasible."""
        ...

    def state_dict(self) -> dict[str, Any]:
        """All state, as tensors, numbers, strings, lists and dictionaries of them."""
        ...

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        ...


def as_strategy(made: Any, name: str) -> Strategy:
    """What a spec has made; complains where it is no strategy.

    Args:
        made: by the spec.
        name: of the strategy that was asked for.
    """
    lacks = [member for member in _MEMBERS if not hasattr(made, member)]
    if lacks:
        raise UsageError(
            f"{name} must make a strategy, and made {told(made)}, which has no {lacks[0]}; see "
            "meritnas.strategy.strategy for what one can do"
        )
    strategy: Strategy = made
    return strategy


_MEMBERS = (
    *("turns", "sample", "update", "beliefs", "leader", "derive"),
    *("state_dict", "load_state_dict"),
)


def rng_state(rng: np.random.Generator) -> str:
    """A generator's state as text."""
    return json.dumps(rng.bit_generator.state)


def set_rng_state(rng: np.random.Generator, state: str) -> None:
    """The inverse of `rng_state`."""
    rng.bit_generator.state = json.loads(state)
