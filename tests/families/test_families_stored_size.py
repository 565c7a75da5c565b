from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flat_search import search
from meritnas import InfeasibleError, TableInputs, TabularSpace, UsageError, tabular_space
from meritnas.families.stored_size import BYTES_A_WEIGHT
from meritnas.settings.limits import Limits
from meritnas.store.run_store import RunStore

INPUTS = st.builds(
    TableInputs,
    st.integers(1, 300),
    st.lists(st.integers(1, 400), max_size=5).map(tuple),
)
LAYERS = st.lists(
    st.lists(st.integers(2, 200), min_size=1, max_size=4, unique=True).map(
        lambda widths: tuple(sorted(widths))
    ),
    min_size=1,
    max_size=5,
)


def stored(family: TabularSpace, text: str, folder: Path) -> int:
    """The bytes of the file that a run with this network has."""
    weights = dict(family.child(text).state_dict())
    place = folder / text
    with RunStore.create(place, {}) if not place.exists() else RunStore.take(place) as store:
        store.write_weights("model.safetensors", weights, {"architecture": text})
    return (place / "model.safetensors").stat().st_size


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(INPUTS, st.integers(1, 12), LAYERS, st.integers(0, 2**31))
def test_a_file_has_at_most_the_promised_bytes_and_not_much_less(
    tmp_path: Path, inputs: TableInputs, outputs: int, widths: list[tuple[int, ...]], seed: int
) -> None:
    family = tabular_space(inputs, outputs, len(widths), widths)
    for architecture in (family.random(seed), family.parse("-".join(str(w[0]) for w in widths))):
        promised = family.cost(architecture, "size")
        real = stored(family, architecture.text, tmp_path)
        assert real <= promised <= real + max(200, real // 10)
        assert promised > BYTES_A_WEIGHT * family.cost(architecture, "params")


@example(1001)
@given(st.integers(1, 10**7))
def test_a_limit_in_users_units_loses_nothing(amount: int) -> None:
    limits = Limits(max_size_kb=amount / 1000, max_latency_ms=amount / 1000)
    assert limits.by_cost() == {"size": amount, "latency": amount}


def test_limits_in_users_units_are_rounded_down() -> None:
    limits = Limits(max_size_kb=1.9999, max_latency_ms=0.0019)
    assert limits.by_cost() == {"size": 1999, "latency": 1}
    assert Limits().by_cost() == {}
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UsageError, match="max_size_kb must be above 0 and finite"):
            Limits(max_size_kb=wrong)
        with pytest.raises(UsageError, match="max_latency_ms must be above 0 and finite"):
            Limits(max_latency_ms=wrong)


def test_a_space_and_its_parts_agree_on_the_size() -> None:
    """Else a search would keep another limit than the run was asked for."""
    family = tabular_space(TableInputs(3, (12,)), 2, 3, (2, 8, 16, 128, 1024))
    feasible = family.feasible(max_size_kb=1.5)
    smaller = family.restrict(feasible.reachable())
    assert smaller.space.count() < family.space.count()
    assert smaller.feasible(max_size_kb=1.5).count() == feasible.count()
    assert smaller.restrict([[0], [0], [0]]).cost("2-2-2", "size") == family.cost("2-2-2", "size")


QUICK: dict[str, Any] = {
    "widths": (2, 4, 16, 64),
    "epochs": 2,
    "retrain_epochs": 1,
    "retrain_seeds": 1,
    "finalists": 2,
    "scaling": "standard",
}


@pytest.mark.parametrize("kilobytes", [1.3, 2.0, 20.0])
def test_the_file_of_a_run_keeps_the_limit(tmp_path: Path, kilobytes: float) -> None:
    frame = pd.DataFrame(
        {
            "n": [0.1 * (i % 37) for i in range(200)],
            "c": [f"c{i % 23}" for i in range(200)],
            "y": [f"k{i % 3}" for i in range(200)],
        }
    )
    result = search(frame, "y", max_size_kb=kilobytes, out=tmp_path / "run", **QUICK)
    real = (result.run / "model.safetensors").stat().st_size
    assert real <= result.summary["costs"]["size"] <= 1000 * kilobytes
    assert result.summary["limits"] == {"size": int(1000 * kilobytes)}
    assert result.predict(frame).shape == (200,)


def test_a_limit_below_the_cheapest_names_it(tmp_path: Path) -> None:
    with pytest.raises(InfeasibleError, match=r"limit of 0\.300 kB.*2-2-2 with \d\.\d{3}"):
        search("wine", max_size_kb=0.3, out=tmp_path / "run", **QUICK)
    least = tabular_space(13, 3, 3, (2, 4, 16, 64)).cost("2-2-2", "size")
    run = tmp_path / "least"
    found = search("wine", max_size_kb=least / 1000, out=run, **QUICK)
    assert found.architecture.text == "2-2-2"
