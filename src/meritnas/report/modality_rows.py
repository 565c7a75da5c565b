"""What modalities are worth as rows of text, for the page and the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from meritnas.report.numbers import interval_text, score_text, signed_text

USE_HEAD = ("modality", "Shapley value", "95 % interval", "alone", "without", "which costs")
"""What `use_cells` gives."""

ALL = "all"
"""What rows of scores under noise call all modalities."""


@dataclass(frozen=True)
class Worth:
    """What a modality is worth as noise grows.

    Attributes:
        disturbance: the kind of noise.
        modality: whose worth it is.
        everywhere: whether the noise is on all modalities, not on this one only.
        values: level -> Shapley value.
    """

    disturbance: str
    modality: str
    everywhere: bool
    values: Mapping[float, float]

    @property
    def noisy(self) -> str:
        """What the noise is on, in a word."""
        return ALL if self.everywhere else "it"


def worth_under_noise(disturbed: Sequence[Mapping[str, Any]]) -> tuple[Worth, ...]:
    """What each modality is worth with noise on it alone, and with noise on all, by kind of noise.

    Args:
        disturbed: rows with disturbance, modality, level and values; earlier versions had no
            values.
    """
    found: dict[tuple[str, str, bool], dict[float, float]] = {}
    for row in disturbed:
        values, noisy = row.get("values") or {}, str(row["modality"])
        own = values if noisy == ALL else {k: v for k, v in values.items() if k == noisy}
        for name, value in own.items():
            place = str(row["disturbance"]), str(name), noisy == ALL
            found.setdefault(place, {})[float(row["level"])] = float(value)
    return tuple(Worth(*place, values) for place, values in found.items())


def use_cells(row: Mapping[str, Any], score: float) -> tuple[str, str, str, str, str, str]:
    """A modality as a row of a table.

    Args:
        row: one of `ModalityUse.rows`.
        score: with all modalities.
    """
    return (
        str(row["modality"]),
        signed_text(row["value"]),
        interval_text(row["low"], row["high"]),
        score_text(row["alone"]),
        score_text(row["without"]),
        score_text(score - row["without"]),
    )
