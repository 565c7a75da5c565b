from __future__ import annotations

import ast
import random
import re
from pathlib import Path

import pytest
from darts_facts import PUBLISHED, genotype, pairs
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.errors import SpaceError
from meritnas.families.darts.child import EDGES
from meritnas.families.darts.family import OPERATIONS, darts_space
from meritnas.families.darts.genotype import CellsText, GenotypeText

TEXT = GenotypeText()
NORMAL = "sep3<-1 sep3<-0 | skip<-0 sep3<-1 | skip<-0 sep3<-1 | sep3<-0 skip<-2"
GOOD = genotype(NORMAL, NORMAL)


def test_a_cell_has_14_edges_node_by_node_with_sources_ascending() -> None:
    assert len(EDGES) == 14
    assert EDGES[:5] == ((0, 0), (0, 1), (1, 0), (1, 1), (1, 2))
    assert list(EDGES) == sorted(EDGES)
    assert all(source < node + 2 for node, source in EDGES)


def test_a_genotype_names_the_present_edges() -> None:
    found = TEXT.parse(
        genotype(NORMAL, "max<-0 max<-1 | skip<-2 max<-0 | dil3<-3 avg<-1 | sep5<-4 dil5<-0")
    )
    sep, skip = "sep_conv_3x3", "skip_connect"
    absent = "none"
    assert found[:14] == (
        *(sep, sep),
        *(skip, sep, absent),
        *(skip, sep, absent, absent),
        *(sep, absent, skip, absent, absent),
    )
    assert found[14:] == (
        *("max_pool_3x3", "max_pool_3x3"),
        *("max_pool_3x3", absent, skip),
        *(absent, "avg_pool_3x3", absent, "dil_conv_3x3"),
        *("dil_conv_5x5", absent, absent, absent, "sep_conv_5x5"),
    )


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_genotypes_lead_back(name: str) -> None:
    space = darts_space().space
    architecture = space.parse(PUBLISHED[name].text)
    assert space.parse(str(architecture)) == architecture
    assert TEXT.format(TEXT.parse(PUBLISHED[name].text)) == str(architecture)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_the_order_of_pairs_within_a_node_says_nothing(seed: int) -> None:
    space = darts_space().space
    architecture = space.random(seed)
    rng = random.Random(seed)
    normal, reduce = (
        ast.literal_eval(part) for part in re.findall(r"=(\[\(.*?\)\])", str(architecture))
    )
    for cell in (normal, reduce):
        for node in range(4):
            pair = cell[2 * node : 2 * node + 2]
            rng.shuffle(pair)
            cell[2 * node : 2 * node + 2] = pair
    written = (
        f"Genotype(normal={normal}, normal_concat=range(2, 6), reduce={reduce}, "
        "reduce_concat=range(2, 6))"
    )
    assert space.parse(written) == architecture


@pytest.mark.parametrize(
    "written",
    [
        GOOD.replace("[2, 3, 4, 5]", "range(2, 6)"),
        GOOD.replace("[2, 3, 4, 5]", "range(2,6)"),
        GOOD.replace("[2, 3, 4, 5]", "(2, 3, 4, 5)"),
        GOOD.replace(", normal_concat=[2, 3, 4, 5]", ""),
        "  \n" + GOOD.replace(", ", " ,\n   ") + " \n",
        GOOD.replace("'", '"'),
        GOOD.replace("Genotype", "genotypes.Genotype"),
        GOOD.replace("[(", "[[").replace("), (", "], [").replace(")]", "]]"),
    ],
)
def test_other_ways_to_write_the_same_genotype(written: str) -> None:
    assert written != GOOD
    assert TEXT.parse(written) == TEXT.parse(GOOD)


def with_pair(position: int, pair: str) -> str:
    cell = [repr(one) for one in pairs(NORMAL)]
    cell[position] = pair
    return GOOD.replace(str(pairs(NORMAL)), f"[{', '.join(cell)}]", 1)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (with_pair(2, "('sep_conv_7x7', 0)"), "'sep_conv_7x7' is no option of .* 'normal3<-0'"),
        (with_pair(0, "('none', 1)"), "exactly 2 of the edges into each node must be present"),
        (with_pair(0, "('sep_conv_3x3', 2)"), "pair 1 of normal names state 2, .* states 0 to 1"),
        (with_pair(7, "('sep_conv_3x3', 5)"), "pair 8 of normal names state 5, .* states 0 to 4"),
        (with_pair(3, "('sep_conv_3x3', -1)"), "names state -1"),
        (with_pair(3, "('skip_connect', 0)"), "node 3 of normal reads state 0 twice"),
        (with_pair(1, "('sep_conv_3x3', 1)"), "node 2 of normal reads state 1 twice"),
        (with_pair(4, "('sep_conv_3x3',)"), r"pair 5 of normal must be like \('sep_conv_3x3', 0\)"),
        (with_pair(4, "'ab'"), "pair 5 of normal must be like"),
        (with_pair(4, "7"), "pair 5 of normal must be like"),
        (with_pair(4, "('sep_conv_3x3', [0])"), "pair 5 of normal must be like"),
        (with_pair(4, "(0, 'sep_conv_3x3')"), "pair 5 of normal must be like"),
        (GOOD.replace("[2, 3, 4, 5]", "[3, 4, 5]", 1), r"normal_concat must be \[2, 3, 4, 5\]"),
        (GOOD.replace("[2, 3, 4, 5]", "5", 1), "normal_concat must be"),
        (GOOD.replace("reduce_concat=[2, 3, 4, 5]", "reduce_concat=range(2, 5)"), "is no genotype"),
        (GOOD.replace("reduce=", "reduced="), r"a genotype needs reduce=\[...\]"),
        (with_pair(0, "('sep_conv_3x3', 1), ('sep_conv_3x3', 1)"), "with 8 .operation, state. "),
        ("", "is no genotype of DARTS"),
        ("Genotype", "is no genotype of DARTS"),
        ("Genotype()", r"a genotype needs normal=\[...\]"),
        ("Genotype([1, 2])", "is no genotype of DARTS"),
        ("32-144-24", "is no genotype of DARTS"),
        ("Genotype(normal=", "is no genotype of DARTS"),
        ("Genotype(normal={[]: 1})", "is no genotype of DARTS"),
        ("\0", "is no genotype of DARTS"),
        ("(" * 5000, "is no genotype of DARTS"),
        ("Genotype(normal=" + "-" * 20_000 + "1)", "is no genotype of DARTS"),
    ],
)  # fmt: skip
def test_a_text_that_is_no_genotype_is_explained(text: str, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        darts_space().space.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('pathlib').Path('{path}').touch()",
        "Genotype(normal=__import__('pathlib').Path('{path}').touch())",
        "__import__('pathlib').Path('{path}').touch(mode=438)",
        "Genotype(**__import__('pathlib').Path('{path}').touch())",
        "Genotype(normal=[x for x in [open('{path}', 'w')]])",
        "open('{path}', mode='w')",
    ],
)
def test_a_text_is_never_run(text: str, tmp_path: Path) -> None:
    path = tmp_path / "touched"
    with pytest.raises(SpaceError):
        darts_space().space.parse(text.replace("{path}", str(path)))
    assert not path.exists()


def test_cells_of_their_own_are_written_one_after_the_other() -> None:
    space = darts_space(cells=3, channels=4, variant="unique").space
    assert space.count() == len(OPERATIONS) ** 42
    architecture = space.random(0)
    cells = str(architecture).split(" / ")
    assert len(cells) == 3
    assert [node.count("~") for node in cells[0].split("+")] == [2, 3, 4, 5]
    assert cells[0].startswith(f"|{architecture.options[0]}~0|{architecture.options[1]}~1|+|")
    assert space.parse(str(architecture)) == architecture
    assert space.parse(f"  {architecture}\n".replace(" / ", "/")) == architecture


ONE_CELL = CellsText(1).format(["skip_connect"] * 14)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{ONE_CELL} / {ONE_CELL}", "1 cells with ' / ' between them are needed, got 2 cells"),
        ("", "cell 1 must name its 14 edges"),
        (ONE_CELL.replace("~4", "~3"), "cell 1 must name its 14 edges"),
        (ONE_CELL.replace("~4", ""), "cell 1 must name its 14 edges"),
        (ONE_CELL.replace("|skip_connect~4", ""), "cell 1 must name its 14 edges"),
        (ONE_CELL.replace("skip_connect~4", "skip~connect~4"), "cell 1 must name its 14 edges"),
        (ONE_CELL.replace("+", ""), "cell 1 must name its 14 edges"),
        (
            ONE_CELL.replace("skip_connect~4", "sep~4"),
            "'sep' is no option of decision 'cell1.5<-4'",
        ),
    ],
)
def test_a_text_that_is_no_row_of_cells_is_explained(text: str, says: str) -> None:
    with pytest.raises(SpaceError, match=says):
        darts_space(cells=1, channels=4, variant="unique").space.parse(text)
