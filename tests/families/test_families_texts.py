from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.errors import MeritNASError, SpaceError
from meritnas.families.catalogue import space_spec, space_specs
from meritnas.families.convnet.family import convnet_space
from meritnas.families.darts.family import darts_space
from meritnas.families.family import Family
from meritnas.families.fusion.family import fusion_space
from meritnas.families.nasbench201.family import nasbench201_space
from meritnas.families.recurrent.family import recurrent_space
from meritnas.families.tabular.family import tabular_space
from meritnas.run.begin import given_architecture

VIEWS = {"sound": [(3,), (2, 4)], "look": [(1, 4, 4)]}
FAMILIES: dict[str, Family] = {
    "tabular": tabular_space(4, 2),
    "convnet": convnet_space(3, (3, 16, 16)),
    "nasbench201": nasbench201_space(3, 4, 1),
    "darts": darts_space(3, 4, 3),
    "darts-s1": darts_space(3, 4, 3, "s1"),
    "darts-s4": darts_space(3, 4, 3, "s4"),
    "darts-unique": darts_space(3, 4, 2, "unique"),
    "recurrent": recurrent_space(20, 8),
    "recurrent of one predecessor": recurrent_space(20, 8, 4, 1),
    "fusion": fusion_space(VIEWS, 2, cells=2, steps=2),
    "shared fusion": fusion_space(VIEWS, 2, shared=True, new_inputs=True),
}

PARTS = st.sampled_from(
    [
        *"|+~/-01(),xy=;: \x00[]\u00b2",
        *("none~0", "Genotype(", "normal=", "('none', 0)", "9" * 5000, "step1", "cell1", "**a"),
    ]
)
CHANGES = st.lists(st.tuples(st.integers(0, 500), PARTS | st.text(max_size=3), st.integers(0, 9)))


def check(family: Family, text: str) -> None:
    """An architecture whose own text stands for it, or an error."""
    with suppress(SpaceError):
        found = family.parse(text)
        assert family.parse(found.text) == found
        assert len(found.options) == len(family.space.decisions)


@pytest.mark.parametrize("name", FAMILIES)
@given(text=st.text() | st.lists(PARTS, max_size=30).map("".join))
@settings(max_examples=40)
def test_any_text_is_an_architecture_or_refused(name: str, text: str) -> None:
    check(FAMILIES[name], text)


@pytest.mark.parametrize("name", FAMILIES)
@given(
    seed=st.integers(0, 99),
    changes=CHANGES,
)
@settings(max_examples=40)
def test_a_changed_text_is_an_architecture_or_refused(
    name: str, seed: int, changes: list[tuple[int, str, int]]
) -> None:
    family = FAMILIES[name]
    text = family.random(seed).text
    assert family.parse(text).text == text
    for place, new, old in changes:
        start = place % (len(text) + 1)
        text = text[:start] + new + text[start + old :]
    check(family, text)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    "text", ["", " ", "\n", "(" * 100_000, "-" * 100_000, "+" * 100_000, "|" * 100_000, "a" * 10**6]
)
def test_no_text_takes_forever(name: str, text: str) -> None:
    with pytest.raises(SpaceError):
        FAMILIES[name].parse(text)


@pytest.mark.parametrize("name", space_specs())
@given(text=st.lists(PARTS, max_size=10).map("".join) | st.sampled_from(["+" * 9999, ";" * 9999]))
@settings(max_examples=20)
def test_sizes_that_a_text_has_are_found_or_refused(name: str, text: str) -> None:
    with suppress(MeritNASError):
        assert len(str(space_spec(name).of_architecture(text))) < 2000


def test_a_cell_of_nasbench201_sees_if_a_way_leads_through_it() -> None:
    family = FAMILIES["nasbench201"]
    picks = np.random.default_rng(0).integers(0, 2, (200, 6)) * 2  # none, or a convolution
    seen = [family.sees(family.space.architecture(row)) for row in picks]
    live = [family.space.picks(family.pruned(family.space.architecture(row))) for row in picks]
    assert seen == family.useful.space.valid(np.array(live)).tolist()
    assert 20 < sum(seen) < 180


def test_cells_of_darts_see_if_the_network_says_something_about_its_input() -> None:
    family = darts_space(2, 2, 2, "unique", (1, 8, 8))
    rng = np.random.default_rng(0)
    images = torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(0))
    seen = []
    for _ in range(60):
        sparse = ["none" if rng.random() < 0.95 else "skip_connect" for _ in family.options]
        architecture = family.parse(family.space.text.format(sparse))
        with torch.no_grad():
            first, second = family.child(architecture).eval()(images)
        seen.append(family.sees(architecture))
        assert seen[-1] == (not torch.equal(first, second)), architecture
    assert 5 < sum(seen) < 55


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_given_to_be_trained_is_parsed(name: str) -> None:
    family = FAMILIES[name].useful
    text = family.random(3).text
    assert given_architecture(FAMILIES[name], text).text == text
    with pytest.raises(SpaceError):
        given_architecture(FAMILIES[name], "")


@pytest.mark.parametrize("name", ["nasbench201", "darts-unique"])
def test_what_says_the_same_about_everything_is_not_trained(name: str) -> None:
    family = FAMILIES[name]
    nothing = family.space.text.format(["none"] * len(family.space.decisions))
    assert family.parse(nothing).text == nothing  # it is in the tables of NAS-Bench-201
    with pytest.raises(SpaceError, match=r"nothing of what comes in reaches the output of .*none"):
        given_architecture(family, nothing)
