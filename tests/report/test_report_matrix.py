from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from meritnas.report.charts.matrix import pair_matrix

ENDS = ("apart", "together")


def cells(picture: str) -> dict[str, tuple[str, float]]:
    """Kind and depth of the colour of every cell that says something, by its words."""
    found = {}
    for box in ElementTree.fromstring(picture).iter("{http://www.w3.org/2000/svg}rect"):
        words = box.findtext("{http://www.w3.org/2000/svg}title")
        if words and " and " in words:
            found[words] = (box.attrib["class"], float(box.attrib["fill-opacity"]))
    return found


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def test_every_pair_has_its_colour_and_its_words_on_both_sides() -> None:
    picture = pair_matrix("t", ["a", "b", "c"], {(0, 1): 0.5, (0, 2): -0.25, (1, 2): 0.0}, ENDS)
    found = cells(picture)
    assert len(found) == 3 * 2
    assert found["a and b: +0.5"] == found["b and a: +0.5"] == ("heat plus", 0.75)
    assert found["c and a: -0.25"] == ("heat minus", 0.375)
    assert found["b and c: +0"][1] == 0.0
    assert texts(picture).count("+0.50") == 2
    assert texts(picture)[-5:] == ["-0.5", "0", "+0.5", *ENDS]


def test_a_pair_that_is_not_known_stays_empty() -> None:
    assert set(cells(pair_matrix("t", ["a", "b", "c"], {(0, 1): 1.0}, ENDS))) == {
        "a and b: +1",
        "b and a: +1",
    }


@pytest.mark.parametrize(
    ("value", "says"), [(0.0123, "+0.012"), (1234.5, "+1234"), (3e-9, "+3e-09"), (0.26, "+0.26")]
)
def test_numbers_have_the_digits_that_they_need(value: float, says: str) -> None:
    picture = pair_matrix("t", ["a", "b", "c"], {(0, 1): value, (0, 2): -value / 1000}, ENDS)
    assert texts(picture).count(says) >= 2
    assert "-0.00" not in texts(picture)


def test_a_large_matrix_is_no_wider_than_its_colours_need() -> None:
    names = [f"part{k}" for k in range(24)]
    values = dict.fromkeys(combinations(range(24), 2), 0.1)
    picture = pair_matrix("t", names, values, ENDS)
    assert texts(picture).count("+0.10") == 0
    assert len(cells(picture)) == 24 * 23
    least = re.search(r"min-width:(\d+)px", picture)
    assert least is not None
    assert int(least[1]) < 640  # more than a phone has, so that its box scrolls


def test_where_nothing_interacts_there_are_no_colours_to_explain() -> None:
    assert "apart" not in pair_matrix("t", ["a", "b"], {(0, 1): 0.0}, ENDS)


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="of a and b is not finite"):
        pair_matrix("t", ["a", "b"], {(0, 1): float("nan")}, ENDS)


def test_names_cannot_become_markup() -> None:
    picture = pair_matrix("<t>", ["<b>", "edge3<-2"], {(0, 1): 0.5}, ENDS)
    assert "<b>" not in picture
    assert "<b> and edge3<-2: +0.5" in cells(picture)
