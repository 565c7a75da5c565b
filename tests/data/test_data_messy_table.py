from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from meritnas.data.tables.preview import preview_table
from meritnas.data.tables.reading import TableReading
from meritnas.data.task import Task

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def messy(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("messy_columns")


@pytest.mark.parametrize("seed", [0, 1])
def test_every_messy_column_is_what_it_is(messy: Any, seed: int, tmp_path: Path) -> None:
    frame = messy.messy_table(300, seed)
    frame.to_csv(tmp_path / "messy.csv", index=False, sep=";")
    for data in (frame, str(tmp_path / "messy.csv")):
        found = preview_table(data, messy.TARGET, TableReading(), 0)
        taken = {row.column: row.taken_as for row in found.rows}
        assert taken.pop(messy.TARGET) == "target"
        assert taken == {name: right for name, (_, right) in messy.COLUMNS.items()}
        assert any("'customer_id' has another whole number" in note for note in found.notes)
        assert any("--space fusion reads" in note for note in found.notes)


def test_a_file_and_a_frame_are_encoded_alike(messy: Any, tmp_path: Path) -> None:
    frame = messy.messy_table(120).drop(columns=messy.TARGET)
    frame.to_csv(tmp_path / "messy.csv", index=False)
    encoder = TableEncoder.fit(frame)
    again = read_table(tmp_path / "messy.csv", decimal=encoder.decimal)
    assert encoder.transform(again).tobytes() == encoder.transform(frame).tobytes()


def test_what_earlier_versions_kept_is_read() -> None:
    number = {"name": "a", "mean": 1.0, "scale": 2.0, "indicator": True, "low": 0.0, "high": 3.0}
    date = {"name": "d", "form": "ISO8601", "zone": None, "mean": 0.0, "scale": 1.0, "low": 0.0}
    kept = {
        "numbers": [{**number, "knots": [], "heights": [], "far": None}, {**number, "name": "b"}],
        "dates": [{**date, "high": 1.0, "cycles": ["month"], "indicator": False}],
        "categories": [{"name": "c", "categories": ["p", "q"]}],
        "dropped": [{"name": "e", "reason": "constant"}],
    }
    encoder = TableEncoder.from_json(kept)
    assert encoder.input_names[0] == "a"
    assert all(column.written is None for column in encoder.number_columns)
    assert encoder.date_columns[0].unread == 0
    task = {"kind": "binary", "target": "y", "classes": [0, 1], "mean": 0.0, "scale": 1.0}
    assert Task.from_json(task) == Task("binary", "y", (0, 1))
    assert TableReading.from_json({"task": None, "skip_bad_rows": True}).split == "random"
