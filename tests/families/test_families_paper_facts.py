"""What TabNAS' paper prints, and what follows from its formulas."""

from __future__ import annotations

import numpy as np
import pytest

from meritnas import TableInputs, TabularSpace, tabular_space
from meritnas.families.tabular.family import PAPER_WIDTHS

NINE_LAYER_WIDTHS = PAPER_WIDTHS[:12]


def criteo(layers: int) -> TabularSpace:
    return tabular_space(1027, 1, layers)


def volkert(layers: int) -> TabularSpace:
    return tabular_space(180, 10, layers, PAPER_WIDTHS if layers == 4 else NINE_LAYER_WIDTHS)


def test_the_paper_has_twenty_widths_and_twelve_for_nine_layers() -> None:
    assert len(PAPER_WIDTHS) == 20
    assert NINE_LAYER_WIDTHS == (8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160)


@pytest.mark.parametrize(
    ("space", "text", "params"),
    [
        (criteo(3), "32-144-24", 41_153),
        (criteo(4), "48-128-16-112", 59_697),
        (criteo(5), "48-240-24-256-8", 75_353),
        (criteo(5), "64-80-48-8-8", 75_353),
        (criteo(5), "48-144-96-16-192", 75_329),
        (criteo(5), "64-96-8-32-64", 75_273),
        (volkert(4), "48-160-32-144", 27_882),
        (volkert(9), "144-128-112-16-16-48-144-24-160", 78_114),
        (volkert(9), "160-80-160-24-80-16-80-64-128", 78_114),
        (volkert(9), "144-96-80-80-48-64-96-80-32", 78_170),
        (volkert(9), "112-144-32-32-24-24-24-128-32", 51_890),
        (tabular_space(128, 1000, 4), "64-192-48-32", 64_568),
    ],
)
def test_parameter_counts_of_the_paper(space: TabularSpace, text: str, params: int) -> None:
    assert space.cost(text, "params") == params
    assert space.cost(space.parse(text), "params-paper") == params


@pytest.mark.parametrize(
    ("space", "limit", "count", "total"),
    [
        (criteo(3), 41_153, 856, 8_000),
        (criteo(3), 42_000, 874, 8_000),
        (criteo(4), 59_697, 17_762, 160_000),
        (criteo(5), 75_353, 340_590, 3_200_000),
        (criteo(5), 75_352, 340_554, 3_200_000),
        (volkert(4), 27_882, 16_886, 160_000),
        (volkert(9), 78_114, 3_916_221_381, 5_159_780_352),
        (tabular_space(64, 10, 3), 4_000, 146, 8_000),
    ],
)
def test_feasible_counts(space: TabularSpace, limit: int, count: int, total: int) -> None:
    feasible = space.feasible(max_params=limit)
    assert feasible.exact
    assert feasible.count() == count
    assert space.space.count() == total
    uniform = [np.zeros(size) for size in space.space.sizes]
    assert feasible.probability(uniform) == pytest.approx(count / total, rel=1e-12)
    assert feasible.share() == pytest.approx(count / total, rel=1e-12)


@pytest.mark.parametrize(
    ("space", "least", "most"),
    [
        (criteo(3), 8_377, 1_052_161),
        (criteo(5), 8_521, 1_577_473),
        (volkert(9), 2_114, 236_650),
    ],
)
def test_ranges(space: TabularSpace, least: int, most: int) -> None:
    assert space.feasible(max_params=least).count() == 1
    everything = space.space.count()
    assert space.feasible(max_params=most).count() == everything
    assert space.feasible(max_params=most - 1).count() == everything - 1


def test_the_toy_example() -> None:
    toy = tabular_space(2, 1, 2, (2, 3, 4))
    table = [[toy.cost(f"{a}-{b}") for b in (2, 3, 4)] for a in (2, 3, 4)]
    assert table == [[15, 19, 23], [20, 25, 30], [25, 31, 37]]
    assert toy.feasible(max_params=25).count() == 6


def test_connect_4_embeddings_count_in_params_but_not_in_the_papers_count() -> None:
    space = tabular_space(TableInputs(0, (3,) * 42, embedding=2), 3, 4)
    text = "32-24-8-8"
    assert space.inputs.width == 84
    assert space.cost(text, "params") - space.cost(text, "params-paper") == 42 * 3 * 2
    assert space.cost(text, "params-paper") == tabular_space(84, 3, 4).cost(text)
