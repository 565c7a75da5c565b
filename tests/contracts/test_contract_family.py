from __future__ import annotations

from collections.abc import Callable
from typing import Any

import own_networks
import pytest
import torch
from family_contract import CHECKS, Case
from torch import Tensor

from meritnas import TableInputs, TabularSpace, tabular_space
from meritnas.families.built.family import BuiltSpace, space_of
from meritnas.families.built.reads import example
from meritnas.families.convnet.family import ConvnetSpace, convnet_space
from meritnas.families.darts.family import DartsSpace, darts_space
from meritnas.families.fusion.family import FusionSpace, fusion_space
from meritnas.families.fusion.joint import JointSpace, joint_space
from meritnas.families.nasbench201.family import Nasbench201Space, nasbench201_space
from meritnas.families.recurrent.family import RecurrentSpace, recurrent_space
from meritnas.families.residual.spec import Residual
from meritnas.families.rich_tabular.spec import RichTabular
from meritnas.nn.words import Words
from meritnas.supernet.supernet import Supernet


def table_rows(columns: TableInputs) -> Callable[[int, int], Tensor]:
    def inputs(rows: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        numbers = torch.randn(rows, columns.numbers, generator=generator)
        codes = [
            torch.randint(count, (rows, 1), generator=generator).float()
            for count in columns.cardinalities
        ]
        return torch.cat([numbers, *codes], dim=1)

    return inputs


def tabular_case(name: str, family: TabularSpace) -> Case:
    return Case(name, family, table_rows(family.inputs))


def rich_case(name: str, columns: TableInputs, outputs: int, **options: Any) -> Case:
    family = RichTabular(**options).build(columns, outputs, {})
    # Codes are drawn too rarely for each to occur, and a unit of few may be off for all rows.
    return Case(name, family, table_rows(columns), idle=True, codes=True)


def cell_case(
    name: str, family: Nasbench201Space | DartsSpace | ConvnetSpace, **facts: bool
) -> Case:
    """Children have no norms after pooling, so a supernet that is to equal them has none, too."""

    def inputs(rows: int, seed: int) -> Tensor:
        return torch.randn(rows, *family.image, generator=torch.Generator().manual_seed(seed))

    make = None
    if isinstance(family, DartsSpace):
        plain = family

        def make(seed: int) -> Supernet:
            return plain.supernet(seed, pool_norm=False)

    return Case(name, family, inputs, make, **facts)


def recurrent_case(name: str, family: RecurrentSpace) -> Case:
    def inputs(rows: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.randint(family.vocabulary, (rows, 4), generator=generator)

    # A unit of a relu may be off for every word.
    return Case(name, family, inputs, idle=True, fused=bool(family.updates))


def fusion_case(name: str, family: FusionSpace | JointSpace) -> Case:
    """All modalities are there but the first one of the first sample."""

    def inputs(rows: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        layout = family.layout
        found = torch.randn(rows, layout.width, generator=generator)
        for number in range(len(layout.names)):
            found[:, layout.flag(number)] = 1.0
        found[0, layout.flag(0)] = 0.0
        return found

    return Case(name, family, inputs, idle=True, codes=True)


def own_case(name: str, family: BuiltSpace, **facts: bool) -> Case:
    reads = family.maker.reads

    def inputs(rows: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        if isinstance(reads, Words):
            return torch.randint(reads.count, (rows, 4), generator=generator)
        shape = example(reads, rows, "meta").shape
        return torch.randn(shape, generator=generator)

    return Case(name, family, inputs, **facts)


OWN_CASES = (
    own_case("own layers", space_of(own_networks.layers, 5, 3)),
    own_case("own maps", space_of(own_networks.maps, (2, 6, 6), 3), idle=True),
    own_case(
        "own transformer",
        space_of(own_networks.transformer, Words(7), 7),
        idle=True,
        regroups=True,
    ),
    own_case("own module with choices", space_of(own_networks.ready(4, 2), 4, 2), trained=True),
)
RESIDUAL_CASES = (
    own_case(
        "residual", Residual(2, (3, 5, 8)).build(TableInputs(4), 3, {}), idle=True, codes=True
    ),
)
FEW_VALUES = ((), (-0.5, 0.5), (0.1,), (0.0, 0.3, 0.6))
RICH_CASES = (
    rich_case("rich numbers", TableInputs(4), 3, layers=3, widths=(3, 5, 8)),
    rich_case(
        "rich columns of all kinds",
        TableInputs(5, (3, 5, 3, 12), thresholds=FEW_VALUES),
        2,
        layers=2,
        widths=((4, 6), (3, 9)),
    ),
    rich_case(
        "rich categories only",
        TableInputs(0, (4, 4, 2)),
        1,
        layers=1,
        widths=(3, 5),
        members=(2, 3),
    ),
    rich_case(
        "rich, without what can be left out",
        TableInputs(3, (4,)),
        2,
        widths=(4, 7),
        frequencies=(0,),
        members=(1,),
        shortcuts=False,
        embedding=2,
    ),
)
CHANNELS = ((4, 8), (8, 12), (8, 16))
VIEWS = {"image": [(2, 4, 4)], "sound": [(3, 6), (5,)]}
FUSION_CASES = (
    fusion_case("fusion", fusion_space(VIEWS, 3, channels=8, length=4)),
    fusion_case(
        "fusion as in BM-NAS",
        fusion_space(
            *(VIEWS, 1, 2, 2, 8, 3),
            operations="bm-nas",
            shared=True,
            unimodal_only=True,
            new_inputs=True,
        ),
    ),
    fusion_case(
        "fusion with a backbone and longer atoms",
        fusion_space(
            *({"image": [(1, 8, 8)], "words": [(4,)]}, 2, 1, 2, 8, 4),
            operations="sparse",
            backbones={"image": "conv"},
            kernel=3,
        ),
    ),
    fusion_case(
        "fusion and heads", joint_space(fusion_space(VIEWS, 3, channels=8, length=4), (3, 5))
    ),
    fusion_case(
        "fusion and heads, with a backbone and a number",
        joint_space(
            fusion_space(
                *({"image": [(1, 8, 8)], "words": [(4,)]}, 1, 1, 2, 8, 4),
                new_inputs=True,
                fista_steps=4,
                backbones={"image": "conv"},
            ),
            (4,),
            "numbers",
        ),
    ),
)
GREY, COLOUR = (1, 8, 8), (3, 8, 8)
CELL_CASES = (
    cell_case("convnet", convnet_space(3, COLOUR, widths=CHANNELS), idle=True),
    cell_case(
        "convnet of two blocks",
        convnet_space(1, (1, 16, 20), ("plain3se", "inverted3x2"), CHANNELS),
        idle=True,
    ),
    cell_case("nasbench201", nasbench201_space(3, 4, 1, image=COLOUR), idle=True),
    cell_case("nasbench201 without zero", nasbench201_space(1, 4, 2, False, GREY)),
    cell_case("darts", darts_space(3, 4, 3, image=COLOUR)),
    cell_case("darts-s1", darts_space(2, 4, 3, "s1", GREY)),
    cell_case("darts-s2", darts_space(2, 4, 3, "s2", GREY)),
    cell_case("darts-s3", darts_space(2, 4, 3, "s3", GREY)),
    cell_case("darts-s4", darts_space(2, 4, 3, "s4", GREY), idle=True, draws=True),
    cell_case("darts-unique", darts_space(2, 4, 2, "unique", GREY), idle=True),
)

CASES = (
    *OWN_CASES,
    *RESIDUAL_CASES,
    *RICH_CASES,
    *CELL_CASES,
    *FUSION_CASES,
    tabular_case("numbers", tabular_space(5, 3, 3, (2, 4, 7, 12))),
    tabular_case("one layer", tabular_space(4, 2, 1, (3, 5, 9))),
    tabular_case("one column", tabular_space(1, 1, 2, (2, 6))),
    tabular_case("one option", tabular_space(3, 2, 2, (4,))),
    tabular_case("own widths a layer", tabular_space(3, 1, 3, ((2, 8), (5,), (3, 4, 6)))),
    tabular_case("width one", tabular_space(3, 2, 2, (2, 3))),
    tabular_case("categories", tabular_space(TableInputs(2, (3, 5, 2)), 2, 2, (3, 6, 10))),
    tabular_case(
        "categories only, width 2",
        tabular_space(TableInputs(0, (3, 4, 3), embedding=2), 3, 2, (4, 8)),
    ),
    tabular_case(
        "several embedding widths", tabular_space(TableInputs(1, (2, 30, 2, 7, 30)), 1, 2, (4, 9))
    ),
    recurrent_case("recurrent", recurrent_space(7, 5)),
    recurrent_case("recurrent, one node", recurrent_space(3, 2, 1)),
    recurrent_case("recurrent of one predecessor", recurrent_space(6, 4, 4, 1)),
    recurrent_case("recurrent as in AdvantageNAS", recurrent_space(7, 5, known_cells=False)),
    recurrent_case("recurrent as in DARTS", recurrent_space(6, 4, 4, 1, known_cells=False)),
    tabular_case("one category column", tabular_space(TableInputs(0, (4,)), 1, 1, (2, 5))),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_family_keeps_the_contract(case: Case, check: Callable[[Case], None]) -> None:
    check(case)
