from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.wording import listed, shortened, visible


def test_what_a_terminal_obeys_is_made_visible() -> None:
    assert visible("\x1b[2Ja\u202eb\x00\x7f") == "\\x1b[2Ja\\u202eb\\x00\\x7f"
    assert visible("\ud800") == "\\ud800"
    assert visible("caf\u00e9 \U0001f600\nnext") == "caf\u00e9 \U0001f600\nnext"


@given(st.text())
def test_only_lines_end_what_is_visible(text: str) -> None:
    assert visible(text).replace("\n", "").isprintable()


@given(st.text(max_size=300), st.integers(10, 200))
def test_a_shortened_text_has_both_ends(text: str, most: int) -> None:
    found = shortened(text, most)
    assert len(found) <= max(most, 5)
    assert found == text or (found.startswith(text[:2]) and found.endswith(text[-2:]))


@pytest.mark.parametrize("count", [3, 30])
def test_a_list_has_no_endless_names(count: int) -> None:
    assert len(listed(["n" * 10**6] * count)) < 2_200
