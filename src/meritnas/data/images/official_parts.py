"""The parts that data sets come in: training, validation, test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

PART_NAMES: dict[str, tuple[str, ...]] = {
    "train": ("train", "training"),
    "valid": ("val", "valid", "validation"),
    "test": ("test", "testing"),
}
"""What data sets call the parts they come in."""


def official_part(name: str) -> str | None:
    """Returns "train", "valid" or "test" for a name that a data set gives its part, else None."""
    return next((part for part, names in PART_NAMES.items() if name.lower() in names), None)


def official_test(
    parts: Sequence[str], counts: Sequence[int]
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """Tells which images a data set that comes in parts keeps for testing.

    These are those of its test part. Without one, its validation part is kept for testing;
    with one, validation images are joined to the train images, of which others are held out.

    Args:
        parts: "train", "valid" or "test", in the order of the images.
        counts: How many images each part has.

    Returns:
        Bool [n], or None if nothing is kept; and notes.
    """
    present = {part for part, count in zip(parts, counts, strict=True) if count}
    if "train" not in present or len(present) == 1:
        return None, ()
    kept = "test" if "test" in present else "valid"
    test = np.repeat([part == kept for part in parts], counts)
    if kept == "valid":
        return test, ("the data's own validation images are kept for testing",)
    joined = ("the data's own validation images are joined to its train images",)
    return test, joined if "valid" in present else ()
