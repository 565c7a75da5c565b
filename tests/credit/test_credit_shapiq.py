from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from meritnas import shapley_values
from meritnas.credit.game import Function
from meritnas.credit.shapiq_game import shapiq_game
from meritnas.errors import UsageError


def product(coalitions: np.ndarray) -> np.ndarray:
    """Players 0 and 1 are worth something together only; player 2 alone."""
    return 1.0 * (coalitions[:, 0] & coalitions[:, 1]) + 0.5 * coalitions[:, 2] + 0.25


def test_shapiq_finds_the_same_values_and_sees_who_needs_whom() -> None:
    shapiq = pytest.importorskip("shapiq", reason="the extra [explain] is not installed")
    game = shapiq_game(Function(product, 4), ["a", "b", "c", "d"])
    assert game.n_players == 4
    computer = shapiq.ExactComputer(game, n_players=4)
    values = computer("SV", 1).get_n_order_values(1)
    assert values == pytest.approx(shapley_values(product, 4, "exact").values)
    pairs = computer("k-SII", 2).get_n_order_values(2)
    assert pairs[0, 1] == pytest.approx(1.0)
    assert pairs[0, 2] == pytest.approx(0.0, abs=1e-12)
    estimate = shapiq.KernelSHAP(4, random_state=0).approximate(16, game)
    assert estimate.get_n_order_values(1) == pytest.approx(values, abs=1e-6)


def test_without_shapiq_people_are_told_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "shapiq":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(UsageError, match=r"pip install 'meritnas\[explain\]'"):
        shapiq_game(Function(product, 4))
