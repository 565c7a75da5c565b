from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from family_contract import CHECKS, Case
from torch import Tensor

from meritnas import TableInputs, TabularSpace, tabular_space


def tabular_case(name: str, family: TabularSpace) -> Case:
    columns = family.inputs

    def inputs(rows: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        numbers = torch.randn(rows, columns.numbers, generator=generator)
        codes = [
            torch.randint(count, (rows, 1), generator=generator).float()
            for count in columns.cardinalities
        ]
        return torch.cat([numbers, *codes], dim=1)

    return Case(name, family, inputs)


CASES = (
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
    tabular_case("one category column", tabular_space(TableInputs(0, (4,)), 1, 1, (2, 5))),
)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_family_keeps_the_contract(case: Case, check: Callable[[Case], None]) -> None:
    check(case)
