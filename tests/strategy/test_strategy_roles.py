from __future__ import annotations

import pytest

from meritnas import fusion_space
from meritnas.strategy.algorithms.roles import best_roles

SHAPES = {"a": [(3,)], "b": [(4,)], "c": [(5,)]}
GIVEN = "cell1(a.0, b.0): step1 = glu(x, y) + cell2(cell1, c.0): step1 = sum(x, y)"
WANTED = "cell1(b.0, a.0): step1 = glu(x, y) + cell2(c.0, cell1): step1 = sum(x, y)"


def losses(text: str) -> float:
    """Less for each cell whose x is as wanted."""
    return sum(a != b for a, b in zip(text.split("+"), WANTED.split("+"), strict=True))


@pytest.mark.parametrize("limits", [{}, {"params": 5000}])
def test_inputs_exchange_their_roles_where_that_lowers_the_loss(
    limits: dict[str, int],
) -> None:
    family = fusion_space(SHAPES, 2, cells=2, channels=4, length=2)
    space, feasible = family.space, family.within(limits)
    tried: list[str] = []

    def loss(picks: tuple[int, ...]) -> float:
        tried.append(space.architecture(picks).text)
        assert feasible.admits(space.architecture(picks))
        return losses(tried[-1])

    picks = tuple(space.picks(family.parse(GIVEN)))
    found, least = best_roles(feasible, picks, loss)
    assert space.architecture(found).text == WANTED
    assert least == 0
    assert len(tried) == 5  # as it was, and one exchange for each cell and each step
    again, same = best_roles(feasible, found, loss)
    assert (again, same) == (found, 0)


def test_where_a_role_is_gone_nothing_is_exchanged() -> None:
    family = fusion_space(SHAPES, 2, cells=2, channels=4, length=2, shared=True)
    space = family.space
    picks = tuple(space.picks(family.random(0)))
    assert best_roles(family.within({}), picks, lambda _: 1.0) == (picks, 1.0)
