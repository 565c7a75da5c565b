"""Number columns that hold a few whole values."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meritnas.data.columns.encoder import NumberColumn, TableEncoder
from meritnas.data.columns.levels import MOST_LEVELS, whole_levels


def test_levels_are_few_whole_values() -> None:
    assert whole_levels(np.array([3.0, 1.0, 2.0, 1.0])) == (1, 2, 3)
    assert whole_levels(np.array([1.0, 2.5])) == ()
    assert whole_levels(np.arange(MOST_LEVELS, dtype=float)) == tuple(range(MOST_LEVELS))
    assert whole_levels(np.arange(MOST_LEVELS + 1, dtype=float)) == ()
    late = np.append(np.zeros(5000), 0.5)  # not among the first that are looked at
    assert whole_levels(late) == ()


@pytest.mark.parametrize("scaling", ["standard", "quantile"])
def test_thresholds_lie_between_levels_as_they_are_encoded(scaling: str) -> None:
    frame = pd.DataFrame({"grade": [1, 2, 2, 5, 7, 5, None, 1], "size": np.linspace(0, 1, 8)})
    encoder = TableEncoder.fit(frame, scaling=scaling)  # type: ignore[arg-type]
    inputs = encoder.inputs
    assert inputs.names == ("grade", "size", "grade_missing")
    assert inputs.thresholds is not None
    between, none = inputs.thresholds
    assert none == ()
    found = sorted({*encoder.transform(frame)[[0, 1, 3, 4], 0].tolist(), *between})
    assert len(found) == 7  # four levels, and one threshold after each but the last
    assert tuple(found[1::2]) == between
    (again, _) = (NumberColumn.from_json(column.to_json()) for column in encoder.number_columns)
    assert again == encoder.number_columns[0]


def test_columns_of_older_runs_have_no_levels() -> None:
    column = NumberColumn.fit("grade", np.array([1.0, 2.0, 3.0]))
    assert isinstance(column, NumberColumn)
    older = {key: value for key, value in column.to_json().items() if key != "levels"}
    assert NumberColumn.from_json(older).thresholds == ()
