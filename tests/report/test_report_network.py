from __future__ import annotations

import pytest

from meritnas.families.darts.family import darts_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.network_names import network_lines, short_network

CELL = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"


def drawn(space: str) -> str:
    families = {
        "nasbench201": nasbench201_space(),
        "darts": darts_space(channels=4, cells=3),
        "darts-s4": darts_space(channels=4, cells=3, variant="s4"),
        "darts-unique": darts_space(channels=4, cells=2, variant="unique"),
    }
    family = families[space]
    sizes = family.space.sizes
    return str(family.feasible().sample([[0.0] * size for size in sizes], n=1, seed=3)[0])


@pytest.mark.parametrize("space", ["nasbench201", "darts", "darts-s4", "darts-unique"])
def test_a_long_network_is_many_short_lines_that_say_the_same(space: str) -> None:
    text = drawn(space)
    lines = network_lines(text)
    assert "".join(lines) == text
    assert len(lines) >= 3
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("space", ["nasbench201", "darts", "darts-s4", "darts-unique"])
def test_a_network_in_a_few_words_fits_into_a_line(space: str) -> None:
    assert len(short_network(drawn(space))) <= 40


def test_nodes_of_a_genotype_are_lines() -> None:
    lines = [line.strip() for line in network_lines(drawn("darts"))]
    assert lines[0] == "Genotype(normal=["
    assert all(line.count("('") == 2 for line in lines if line.startswith("("))
    assert sum(line.startswith("(") for line in lines) == 8


def test_a_few_words_say_what_matters() -> None:
    assert short_network(CELL) == "3x3|skip none|avg 1x1 3x3"
    assert short_network("|tanh~0|+|zero~0|identity~1|") == "tanh|zero iden"
    pairs = "('sep_conv_3x3', 0), ('dil_conv_5x5', 1), ('max_pool_3x3', 0), ('avg_pool_3x3', 1)"
    text = f"Genotype(normal=[{pairs}], normal_concat=[2, 3, 4, 5])"
    assert short_network(text) == "2 pool, 1 sep, 1 dil"


def test_widths_are_as_they_are() -> None:
    assert network_lines("32-144-24") == ["32-144-24"]
    assert short_network("32-144-24") == "32-144-24"
