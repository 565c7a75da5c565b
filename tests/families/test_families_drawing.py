from __future__ import annotations

import json
from dataclasses import asdict

from meritnas.families.darts.family import darts_space
from meritnas.families.drawing import DEAD, drawing_from_json, drawing_lines
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.families.recurrent.family import recurrent_space
from meritnas.families.tabular.family import tabular_space

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


def fusion() -> FusionSpace:
    return fusion_space({"a": [(3,)], "b": [(4,), (5,)]}, 2, cells=2, steps=2)


def test_layers_have_widths_and_nothing_else_has() -> None:
    table = tabular_space(7, 2, 3, (24, 32, 144))
    assert table.layers("32-144-24") == (
        ("inputs", 7),
        ("layer 1", 32),
        ("layer 2", 144),
        ("layer 3", 24),
        ("outputs", 2),
    )
    assert table.drawings("32-144-24") == ()
    assert nasbench201_space().layers(nasbench201_space().random(0)) == ()


def test_a_cell_of_the_benchmark_leaves_out_edges_that_are_none() -> None:
    text = "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|none~0|none~1|none~2|"
    (cell,) = nasbench201_space().drawings(text)
    assert cell.title == "cell; node 3 is its output"
    assert drawing_lines(cell) == [
        "node 0 (comes in)",
        "node 1 = nor_conv_3x3(node 0) [dead]",
        "node 2 = skip_connect(node 1) [dead]",
        "node 3 = 0",
        DEAD,
    ]


def test_dead_edges_of_a_cell_are_marked_and_lead_back_from_json() -> None:
    text = "|avg_pool_3x3~0|+|none~0|nor_conv_3x3~1|+|skip_connect~0|avg_pool_3x3~1|none~2|"
    (cell,) = nasbench201_space().drawings(text)
    assert cell.dead == (("node 1", "node 2"),)
    assert drawing_lines(cell)[1:] == [
        "node 1 = avg_pool_3x3(node 0)",
        "node 2 = nor_conv_3x3(node 1) [dead]",
        "node 3 = skip_connect(node 0) + avg_pool_3x3(node 1)",
        DEAD,
    ]
    assert drawing_from_json(json.loads(json.dumps(asdict(cell)))) == cell
    (live,) = nasbench201_space().drawings(nasbench201_space().pruned(text))
    assert live.dead == ()
    assert "[dead]" not in "".join(drawing_lines(live))


def test_a_genotype_is_two_cells_with_two_edges_into_every_node() -> None:
    normal, reduction = darts_space().drawings(GENOTYPE)
    assert [normal.title, reduction.title] == ["normal cell", "reduction cell"]
    assert all(len(node.reads) == 2 for node in normal.nodes[:-1])
    assert "node 3 = max_pool_3x3(node 0) + dil_conv_5x5(node 2)" in drawing_lines(normal)
    assert drawing_lines(normal)[-1] == "output = concat(node 2, node 3, node 4, node 5)"
    assert drawing_lines(reduction)[-2].endswith("dil_conv_3x3(node 4)")


def test_every_cell_of_a_unique_network_is_drawn() -> None:
    rest = "+|none~0|none~1|none~2|none~3|+|none~0|none~1|none~2|none~3|none~4|"
    cell = "|none~0|skip_connect~1|+|none~0|none~1|sep_conv_3x3~2|" + rest
    found = darts_space(cells=3, variant="unique").drawings(f"{cell} / {cell} / {cell}")
    assert [each.title for each in found] == ["cell 1", "cell 2", "cell 3"]
    assert "node 3 = sep_conv_3x3(node 2)" in drawing_lines(found[2])
    assert "node 4 = 0" in drawing_lines(found[2])


def test_a_recurrent_node_is_the_mean_of_its_edges() -> None:
    (cell,) = recurrent_space(9, nodes=2).drawings("|tanh~0|+|relu~0|zero~1|")
    lines = drawing_lines(cell)
    assert "node 1 = tanh(node 0)" in lines
    assert "node 2 = mean(relu(node 0), zero(node 1))" in lines
    assert lines[-1] == "output = mean(node 1, node 2)"


def test_a_fusion_network_goes_from_features_by_cells_to_the_output() -> None:
    (network,) = fusion().drawings(FUSED)
    assert network.inputs == ("a.0", "b.1")
    assert drawing_lines(network)[2:] == [
        "cell1.step1 = glu(b.1, a.0)",
        "cell1.step2 = sum(cell1.step1, a.0)",
        "cell1 = norm(a.0, cell1.step1, cell1.step2)",
        "cell2.step1 = se(cell1, a.0)",
        "cell2.step2 = glu(cell2.step1, a.0)",
        "cell2 = norm(cell1, cell2.step1, cell2.step2)",
        "output = linear(cell1, cell2)",
    ]


def test_inputs_of_a_step_are_numbered_as_its_cell_names_them_otherwise() -> None:
    (network,) = fusion().drawings(FUSED)  # cell1 has x = a.0 and y = b.1
    first = network.nodes[0]
    assert (first.name, first.reads) == ("cell1.step1", (("b.1", "1st"), ("a.0", "2nd")))
