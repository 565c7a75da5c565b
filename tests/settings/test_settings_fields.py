from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.data.kinds import KINDS
from meritnas.errors import UsageError
from meritnas.families.catalogue import space_specs
from meritnas.families.fusion.spec import Fusion
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.tabular.spec import Tabular
from meritnas.settings.fields import first_line, settings_of, shown
from meritnas.settings.limits import Limits
from meritnas.settings.preset import Facts
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.spec import SpaceSpec, StrategySpec
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
    st.booleans(),
)
def test_limits_in_users_units_are_never_more_than_was_asked_for(
    params: int | None, flops: int | None, size: float | None, latency: float | None, int8: bool
) -> None:
    int8 = int8 and size is not None
    limits = Limits(params, flops, size, latency, size_of="int8" if int8 else "float32")
    costs = limits.by_cost()
    assert costs.get("params") == params
    assert costs.get("flops") == flops
    counted = "size-int8" if int8 else "size"
    assert not {"size", "size-int8"} - {counted} & costs.keys()
    for cost, asked in ((counted, size), ("latency", latency)):
        if asked is None:
            assert cost not in costs
        else:
            assert costs[cost] <= asked * 1000 * (1 + 1e-9)
            assert costs[cost] > asked * 1000 - 1 - 1e-3
    again = Limits.from_costs(costs)
    assert again.by_cost() == costs
    assert again.size_of == limits.size_of


def test_a_file_of_no_limit_is_refused() -> None:
    with pytest.raises(UsageError, match="which file max_size_kb is about; give that too"):
        Limits(9, size_of="int8")
    with pytest.raises(UsageError, match="size_of must be one of float32, int8, got 'int4'"):
        Limits(max_size_kb=1.0, size_of="int4")  # type: ignore[arg-type]


@dataclass(frozen=True)
class Bare(SpaceSpec):
    """A space that says nothing."""


@dataclass(frozen=True)
class Idle(StrategySpec):
    """A strategy that does nothing."""


def test_specs_that_lack_what_they_need_say_so() -> None:
    with pytest.raises(UsageError, match=r"Bare has no preset\(name, .*\), which it needs"):
        Bare().preset(None, Facts("table", 9), 1)
    with pytest.raises(UsageError, match=r"Bare has no build\(inputs, .*\), which it needs"):
        Bare().build(None, 1, {})
    with pytest.raises(UsageError, match=r"Idle has no make\(problem\), which it needs"):
        Idle().make(None)


TABLE = Facts("table", 10_000, (4,))
OTHERS = {
    "images": (Nasbench201(), Facts("images", 1_000, (3, 32, 32))),
    "texts": (Recurrent(), Facts("text", 50_000, window=35)),
    "modalities": (Fusion(), Facts("modalities", 1_000, parts=3)),
}


def usual(owner: type, name: str) -> str:
    return next(setting.usual for setting in settings_of(owner) if setting.name == name)


@pytest.mark.parametrize("name", ["learning_rate", "optimizer", "schedule", "weight_decay"])
def test_what_help_says_about_training_is_what_a_table_gets(name: str) -> None:
    recipe = Tabular().preset(None, TABLE, 1).search
    assert usual(Training, name).split(";")[0] == str(getattr(recipe, name))


def test_what_help_says_about_lengths_is_what_there_is() -> None:
    preset = Tabular().preset(None, TABLE, 1)
    assert usual(Training, "warmup").split(";")[0] == str(preset.warmup)
    assert preset.search.clip is None
    assert usual(Training, "clip").startswith("no bound;")
    assert usual(Retraining, "averaging").split(";")[0] == str(preset.search.averaging)
    first, second = preset.search.dropouts
    assert usual(Retraining, "dropout").startswith(f"{first:g} and {second:g} are tried")
    assert usual(Request, "epochs").startswith(f"{preset.search_epochs}, more on small tables")
    assert usual(Retraining, "epochs").startswith(f"{preset.retrain_epochs}, more on small tables")
    others = {name: spec.preset(None, facts, 1) for name, (spec, facts) in OTHERS.items()}
    assert usual(Retraining, "seeds") == f"{preset.retrain_seeds}; others: 1"
    assert {other.retrain_seeds for other in others.values()} == {1}
    fewer = [name for name, other in others.items() if other.finalists == 2]
    assert usual(Retraining, "finalists") == f"{preset.finalists}; {', '.join(fewer)}: 2"
    assert others["modalities"].finalists == preset.finalists


def test_what_help_says_about_spaces_and_strategies_is_what_kinds_of_data_get() -> None:
    table, images, text, modalities = KINDS
    assert usual(Request, "space") == f"{table.space}; images: {images.space}"
    assert usual(Request, "strategy") == (
        f"{table.strategy}; images: {images.strategy}; texts: {text.strategy}; "
        f"{modalities.space}: {modalities.strategy}"
    )
