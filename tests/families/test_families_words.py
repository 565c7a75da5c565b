from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from meritnas.families.darts.family import darts_space
from meritnas.families.family import Family
from meritnas.families.fusion.family import fusion_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.families.recurrent.family import recurrent_space
from meritnas.families.tabular.family import tabular_space

CELL = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"
RECORDED = json.loads(Path(__file__).with_name("recorded_words.json").read_text())
"""What reports drew and wrote before families did, for random architectures."""

MODALITIES = {"image": [(2, 9, 7)], "video": [(5, 7), (3,)], "map": [(3, 5, 4)], "table": [(6,)]}
FAMILIES: dict[str, Family] = {
    "tabular": tabular_space(7, 2, 3, (4, 8, 16)),
    "nasbench201": nasbench201_space(),
    "darts": darts_space(channels=4, cells=3),
    "darts-s4": darts_space(channels=4, cells=3, variant="s4"),
    "darts-unique": darts_space(channels=4, cells=3, variant="unique"),
    "recurrent": recurrent_space(9, 5, 4),
    "recurrent-one": recurrent_space(9, 5, 4, 1),
    "fusion": fusion_space(MODALITIES, 3, 2, 2, 10, 6, backbones={"image": "conv"}),
    "fusion-shared": fusion_space(MODALITIES, 3, 2, 1, 10, 6, shared=True, operations="bm-nas"),
}
CELLS = ["nasbench201", "darts", "darts-s4", "darts-unique"]


def drawn(space: str) -> str:
    family = FAMILIES[space]
    sizes = family.space.sizes
    return str(family.feasible().sample([[0.0] * size for size in sizes], n=1, seed=3)[0])


@pytest.mark.parametrize("space", RECORDED)
def test_words_and_graphs_are_as_they_were(space: str) -> None:
    family = FAMILIES[space]
    for row in RECORDED[space]:
        assert family.lines(row["text"]) == row["lines"]
        assert family.short(row["text"]) == row["short"]
        found = [asdict(drawing) for drawing in family.drawings(row["text"])]
        assert json.loads(json.dumps(found)) == row["drawings"]


@pytest.mark.parametrize("space", CELLS)
def test_a_long_network_is_many_short_lines_that_say_the_same(space: str) -> None:
    text = drawn(space)
    lines = FAMILIES[space].lines(text)
    assert "".join(lines) == text
    assert len(lines) >= 3
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("space", CELLS)
def test_a_network_in_a_few_words_fits_into_a_line(space: str) -> None:
    assert len(FAMILIES[space].short(drawn(space))) <= 40


def test_nodes_of_a_genotype_are_lines() -> None:
    lines = [line.strip() for line in FAMILIES["darts"].lines(drawn("darts"))]
    assert lines[0] == "Genotype(normal=["
    assert all(line.count("('") == 2 for line in lines if line.startswith("("))
    assert sum(line.startswith("(") for line in lines) == 8


def test_a_few_words_say_what_matters() -> None:
    assert nasbench201_space().short(CELL) == "3x3|skip none|avg 1x1 3x3"
    assert recurrent_space(9, nodes=2).short("|tanh~0|+|zero~0|identity~1|") == "tanh|zero iden"
    pairs = "('sep_conv_3x3', 0), ('dil_conv_5x5', 1), ('max_pool_3x3', 0), ('avg_pool_3x3', 1)"
    cell = f"[{pairs}, {pairs}]"
    assert darts_space().short(f"Genotype(normal={cell}, reduce={cell})") == "8 pool, 4 sep, 4 dil"
    alone = darts_space(cells=1, variant="unique")
    assert alone.short(alone.random(0)).count("|") == 3


def test_widths_are_as_they_are() -> None:
    assert tabular_space(4, 2, 3, (24, 32, 144)).lines("32-144-24") == ["32-144-24"]
    assert tabular_space(4, 2, 3, (24, 32, 144)).short("32-144-24") == "32-144-24"
