from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.data.kinds import KINDS
from meritnas.families.catalogue import space_specs
from meritnas.settings.fields import first_line, settings_of, shown
from meritnas.settings.limits import Limits
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.training import Retraining, Training
from meritnas.strategy.catalogue import strategy_specs

OWNERS = [
    *space_specs().values(),
    *strategy_specs().values(),
    *(kind.reading for kind in KINDS),
    *(Limits, Training, Retraining, RunOptions, Request),
]


@dataclass(frozen=True)
class Base:
    """What several have.

    Attributes:
        first: Said by the base.
        second: Said by the base, and said
            again below.
    """

    first: int = 1
    second: str | None = None


@dataclass(frozen=True)
class Own(Base):
    """One line about it.

    More lines: that are no entries.

    Attributes:
        second: Said anew.
        third: One of two.
        fourth: Hidden.
    """

    third: Literal["a", "b"] = "a"
    fourth: float | None = field(default=None, metadata=shown(flag="fo", usual="five", hidden=True))


def test_fields_say_what_they_are() -> None:
    first, second, third, fourth = settings_of(Own)
    assert (first.name, first.kind, first.default, first.help) == (
        "first",
        int,
        1,
        "Said by the base.",
    )
    assert (second.kind, second.help) == (str, "Said anew.")
    assert settings_of(Base)[1].help == "Said by the base, and said again below."
    assert third.choices == ("a", "b")
    assert (fourth.flag, fourth.usual, fourth.hidden, fourth.kind) == ("fo", "five", True, float)
    assert first_line(Own) == "One line about it."


def test_functions_have_settings_too() -> None:
    def recipe(problem: object, *, samples: int = 3, deep: bool | None = None) -> None:
        """A recipe.

        Args:
            problem: what it is about.
            samples: How many.
        """

    samples, deep = settings_of(recipe)
    assert (samples.name, samples.kind, samples.default, samples.help) == (
        "samples",
        int,
        3,
        "How many.",
    )
    assert (deep.kind, deep.help) == (bool, "")


@pytest.mark.parametrize("owner", OWNERS, ids=lambda owner: owner.__name__)
def test_every_setting_has_a_line_of_help(owner: type) -> None:
    for setting in settings_of(owner):
        assert setting.help, setting.name
        assert setting.flag == setting.flag.lower().replace("_", "-")
    assert first_line(owner).endswith(".")


@given(
    st.integers(0, 10**12) | st.none(),
    st.integers(0, 10**12) | st.none(),
    st.floats(1e-3, 1e9) | st.none(),
    st.floats(1e-3, 1e9) | st.none(),
)
def test_limits_in_users_units_are_never_more_than_was_asked_for(
    params: int | None, flops: int | None, size: float | None, latency: float | None
) -> None:
    limits = Limits(params, flops, size, latency)
    costs = limits.by_cost()
    assert costs.get("params") == params
    assert costs.get("flops") == flops
    for cost, asked in (("size", size), ("latency", latency)):
        if asked is None:
            assert cost not in costs
        else:
            assert costs[cost] <= asked * 1000 * (1 + 1e-9)
            assert costs[cost] > asked * 1000 - 1 - 1e-3
    assert Limits.from_costs(costs).by_cost() == costs
