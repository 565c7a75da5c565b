"""Games for the library shapiq."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from meritnas.credit.game import Counted, Game
from meritnas.errors import UsageError

if TYPE_CHECKING:
    import shapiq


def shapiq_game(game: Game, names: Sequence[str] | None = None) -> shapiq.Game:
    """The same game for the library shapiq: its estimators and interaction indices work on it.

    The game is renewed once, now: every coalition is judged on the same batch.

    Args:
        game: any.
        names: of the players; numbers if None.
    """
    try:
        import shapiq
    except ImportError as missing:
        raise UsageError(
            "the package shapiq is not installed; install it with pip install 'meritnas[explain]'"
        ) from missing

    class Adapter(shapiq.Game):
        """Our game under shapiq's name for it."""

        def value_function(self, coalitions: np.ndarray) -> np.ndarray:
            """Booleans [coalitions, players] -> scores [coalitions]."""
            return counted.value(np.asarray(coalitions, dtype=bool))

    counted = Counted(game)
    game.renew()
    nobody = np.zeros((1, game.players), dtype=bool)
    return Adapter(
        n_players=game.players,
        player_names=None if names is None else list(names),
        normalize=True,
        normalization_value=float(counted.value(nobody)[0]),
    )
