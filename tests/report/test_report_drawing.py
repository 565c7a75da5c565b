from __future__ import annotations

import re

import pytest

from meritnas.families.darts.family import darts_space
from meritnas.families.drawing import DEAD, Drawing
from meritnas.families.fusion.family import fusion_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.charts.lines import Series, line_chart
from meritnas.report.charts.network import graph_picture, layers_picture
from meritnas.report.charts.shares import share_chart
from meritnas.report.charts.svg import ticks

GENOTYPE = (
    "Genotype(normal=[('sep_conv_3x3', 0), ('skip_connect', 1), ('max_pool_3x3', 0), "
    "('dil_conv_5x5', 2), ('skip_connect', 1), ('sep_conv_5x5', 3), ('avg_pool_3x3', 2), "
    "('sep_conv_3x3', 4)], normal_concat=[2, 3, 4, 5], reduce=[('sep_conv_3x3', 0), "
    "('skip_connect', 1), ('max_pool_3x3', 0), ('dil_conv_5x5', 2), ('skip_connect', 1), "
    "('sep_conv_5x5', 3), ('avg_pool_3x3', 2), ('dil_conv_3x3', 4)], reduce_concat=[2, 3, 4, 5])"
)
FUSED = (
    "cell1(a.0, b.1): step1 = glu(y, x); step2 = sum(step1, x) + "
    "cell2(cell1, a.0): step1 = se(x, y); step2 = glu(step1, y)"
)


def fused() -> Drawing:
    """The network `FUSED`, whose cells have two steps each here."""
    family = fusion_space({"a": [(3,)], "b": [(4,), (5,)]}, 2, cells=2, steps=2)
    (found,) = family.drawings(FUSED)
    return found


@pytest.mark.parametrize("drawing", [*darts_space().drawings(GENOTYPE), fused()])
def test_a_picture_has_a_wire_for_every_edge(drawing: Drawing) -> None:
    picture = graph_picture(drawing)
    edges = sum(len(node.reads) for node in drawing.nodes)
    assert picture.count('class="wire') == edges
    labels = [label for node in drawing.nodes for _, label in node.reads if label]
    assert picture.count('class="pill') == len(labels)
    for node in drawing.nodes:
        assert node.name in picture


def test_dead_edges_are_dashed_and_say_why() -> None:
    text = "|avg_pool_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|avg_pool_3x3~1|none~2|"
    (cell,) = nasbench201_space().drawings(text)
    picture = graph_picture(cell)
    assert len(re.findall(r'class="wire l\d dashed"', picture)) == 1
    assert len(re.findall(r'class="pill l\d dashed"', picture)) == 1
    assert f"nor_conv_3x3 of node 1; {DEAD}" in picture
    (live,) = nasbench201_space().drawings(nasbench201_space().pruned(text))
    assert "dashed" not in graph_picture(live)


@pytest.mark.parametrize(("layers", "least"), [(3, None), (9, 884)])
def test_many_layers_are_not_made_smaller_but_scroll(layers: int, least: int | None) -> None:
    shown = [(f"layer {number}", 8) for number in range(layers + 2)]
    found = re.search(r"min-width:(\d+)px", layers_picture("t", shown))
    assert (int(found[1]) if found else None) == least


@pytest.mark.parametrize(
    ("last", "says"),
    [(2, ["1", "2"]), (3, ["1", "2", "3"]), (10, ["2", "4", "6", "8", "10"]), (2.5, ["1", "1.5"])],
)
def test_between_two_steps_there_is_no_number(last: float, says: list[str]) -> None:
    chart = line_chart("t", [Series("s", [(1, 0.5), (last, 0.5)])], "step")
    assert re.findall(r'y="207.0"[^>]*>([^<]*)<', chart)[: len(says)] == says


def test_shares_fill_the_chart_and_the_chosen_one_stands_out() -> None:
    chart = share_chart("t", [1, 2], [[0.25, 0.75], [0.5, 0.5]], ["a", "b"], "b")
    outlines = re.findall(r'class="share (\w+)" points="([^"]*)"', chart)
    assert [kind for kind, _ in outlines] == ["other0", "chosen"]
    (first, second) = [
        [tuple(map(float, p.split(","))) for p in path.split()] for _, path in outlines
    ]
    assert first[:2] == second[:1:-1]  # the second begins where the first ends
    assert (first[0][1] - second[0][1]) == pytest.approx(3 * (first[-1][1] - first[0][1]))


def test_a_chart_leaves_out_what_is_no_number() -> None:
    points = [(1.0, 2.0), (2.0, float("nan")), (3.0, float("inf")), (4.0, 3.0)]
    chart = line_chart("t", [Series("s", points)], "step")
    assert len(re.search(r'<polyline[^>]*points="([^"]*)"', chart)[1].split()) == 2  # type: ignore[index]
    assert "nan" not in chart
    assert line_chart("t", [Series("s", points[1:3])], "step") == ""


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-3.7, 12.2), (1e-6, 2e-6), (0, 1e9), (5, 5)])
def test_ticks_are_round_and_inside(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 6
    slack = 1e-9 * max(abs(low), abs(high))
    assert all(low - slack <= value <= high + slack for value in found)
