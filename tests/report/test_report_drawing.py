from __future__ import annotations

import re

import pytest

from meritnas.families.darts.family import darts_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.report.charts.drawing import drawing_lines, drawings, layer_widths
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
    "cell2(cell1, a.0): step1 = se(x, y)"
)


def test_layers_have_widths_and_nothing_else_has() -> None:
    assert layer_widths("32-144-24") == (32, 144, 24)
    assert layer_widths("8") == (8,)
    assert layer_widths("|skip_connect~0|") is None
    assert drawings("32-144-24", "tabular") == ()


def test_a_cell_of_the_benchmark_leaves_out_edges_that_are_none() -> None:
    text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|none~2|"
    assert nasbench201_space().parse(text).text == text
    (cell,) = drawings(text, "nasbench201")
    assert drawing_lines(cell) == [
        "node 0 (comes in)",
        "node 1 = nor_conv_3x3(node 0)",
        "node 2 = skip_connect(node 1)",
        "node 3 = 0",
    ]


def test_a_genotype_is_two_cells_with_two_edges_into_every_node() -> None:
    assert darts_space().parse(GENOTYPE)
    normal, reduction = drawings(GENOTYPE, "darts")
    assert [normal.title, reduction.title] == ["normal cell", "reduction cell"]
    assert all(len(node.reads) == 2 for node in normal.nodes[:-1])
    assert "node 3 = max_pool_3x3(node 0) + dil_conv_5x5(node 2)" in drawing_lines(normal)
    assert drawing_lines(normal)[-1] == "output = concat(node 2, node 3, node 4, node 5)"
    assert drawing_lines(reduction)[-2].endswith("dil_conv_3x3(node 4)")


def test_every_cell_of_a_unique_network_is_drawn() -> None:
    cell = "|none~0|skip_connect~1|+|none~0|none~1|sep_conv_3x3~2|"
    found = drawings(f"{cell} / {cell} / {cell}", "darts-unique")
    assert [each.title for each in found] == ["cell 1", "cell 2", "cell 3"]
    assert "node 3 = sep_conv_3x3(node 2)" in drawing_lines(found[2])


def test_a_recurrent_node_is_the_mean_of_its_edges() -> None:
    (cell,) = drawings("|tanh~0|+|relu~0|zero~1|", "recurrent")
    lines = drawing_lines(cell)
    assert "node 1 = tanh(node 0)" in lines
    assert "node 2 = mean(relu(node 0), zero(node 1))" in lines
    assert lines[-1] == "output = mean(node 1, node 2)"


def test_a_fusion_network_goes_from_features_by_cells_to_the_output() -> None:
    (network,) = drawings(FUSED, "fusion")
    assert network.inputs == ("a.0", "b.1")
    assert drawing_lines(network)[2:] == [
        "cell1.step1 = glu(b.1, a.0)",
        "cell1.step2 = sum(cell1.step1, a.0)",
        "cell1 = norm(a.0, cell1.step1, cell1.step2)",
        "cell2.step1 = se(cell1, a.0)",
        "cell2 = norm(cell1, cell2.step1)",
        "output = linear(cell1, cell2)",
    ]


@pytest.mark.parametrize(("text", "space"), [(GENOTYPE, "darts"), (FUSED, "fusion")])
def test_a_picture_has_a_wire_for_every_edge(text: str, space: str) -> None:
    for drawing in drawings(text, space):
        picture = graph_picture(drawing)
        edges = sum(len(node.reads) for node in drawing.nodes)
        assert picture.count('class="wire') == edges
        labels = [label for node in drawing.nodes for _, label in node.reads if label]
        assert picture.count('class="pill') == len(labels)
        for node in drawing.nodes:
            assert node.name in picture


def test_inputs_of_a_step_are_numbered_as_its_cell_names_them_otherwise() -> None:
    (network,) = drawings(FUSED, "fusion")  # cell1 has x = a.0 and y = b.1
    first = network.nodes[0]
    assert (first.name, first.reads) == ("cell1.step1", (("b.1", "1st"), ("a.0", "2nd")))


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
