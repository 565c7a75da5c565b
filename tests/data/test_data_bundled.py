from __future__ import annotations

import pytest

from meritnas.data.bundled import BUNDLED, load_bundled
from meritnas.errors import DataError


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("digits", (1797, 65)),
        ("breast_cancer", (569, 31)),
        ("wine", (178, 14)),
        ("diabetes", (442, 11)),
    ],
)
def test_shapes(name: str, shape: tuple[int, int]) -> None:
    frame, target = load_bundled(name)
    assert frame.shape == shape
    assert frame[target].notna().all()


def test_all_are_tried_here() -> None:
    assert set(BUNDLED) == {"digits", "breast_cancer", "wine", "diabetes"}


def test_class_names() -> None:
    frame, target = load_bundled("breast_cancer")
    assert frame[target].value_counts().to_dict() == {"benign": 357, "malignant": 212}
    frame, target = load_bundled("wine")
    assert set(frame[target]) == {"class_0", "class_1", "class_2"}
    frame, target = load_bundled("digits")
    assert sorted(set(frame[target].tolist())) == list(range(10))


def test_unknown_name() -> None:
    with pytest.raises(DataError, match=r"no bundled data 'digit'; did you mean 'digits'\?.*wine"):
        load_bundled("digit")
