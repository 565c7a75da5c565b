from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas.data.category_column import category_key
from meritnas.data.encoder import TableEncoder
from meritnas.export.preprocessing_export import preprocessing_files
from meritnas.export.table_rows import TableRows
from meritnas.export.trained import load_trained


def raw(frame: pd.DataFrame, names: list[str]) -> torch.Tensor:
    """The numbers a graph takes, as a user would find them."""
    found = []
    for name in names:
        column, _, part = name.rpartition("_")
        if not column:
            found.append(pd.to_numeric(frame[name]).to_numpy(float))
            continue
        times = pd.to_datetime(frame[column])
        parts = {
            "seconds": (times - pd.Timestamp(0)).dt.total_seconds(),
            "month": times.dt.month - 1,
            "weekday": times.dt.day_of_week,
            "hour": times.dt.hour + times.dt.minute / 60,
        }
        found.append(parts[part].to_numpy(float))
    return torch.from_numpy(np.stack(found, axis=1))


def codes(frame: pd.DataFrame, columns: list[dict[str, Any]]) -> torch.Tensor:
    """The codes of categories, by the description alone."""
    found = []
    for column in columns:
        if column["kind"] == "category":
            known = column["categories"]
            found.append([known.get(category_key(value), 0) for value in frame[column["column"]]])
    return torch.tensor(found).T


def test_the_description_is_enough_to_encode_a_table(table_run: Path, frame: pd.DataFrame) -> None:
    trained = load_trained(table_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, TableEncoder)
    expected = encoder.transform(frame)
    numbers = raw(frame, about["numbers"]).numpy()
    row = np.full_like(expected, np.nan)
    for column in about["columns"]:
        if column["kind"] == "category":
            row[:, column["row"][0]] = codes(frame, [column])[:, 0]
            continue
        own = numbers[:, column["numbers"]]
        missing = np.isnan(own[:, 0])
        if "knots" in column:
            made = [np.interp(own[:, 0], column["knots"], column["heights"])]
        else:
            made = [(own[:, 0] - column["mean"]) / column["scale"]]
        for place, period in zip(own.T[1:], column.get("periods", {}).values(), strict=True):
            made += [f(2 * np.pi * place / period) for f in (np.sin, np.cos)]
        row[:, column["row"]] = np.where(missing[:, None], 0, np.stack(made, axis=1))
        if "indicator" in column:
            row[:, column["indicator"]] = missing
    assert any("knots" in column for column in about["columns"])
    assert any("indicator" in column for column in about["columns"])
    np.testing.assert_allclose(row, expected, atol=1e-6)


def test_rows_in_a_graph_are_those_of_the_encoder(table_run: Path, frame: pd.DataFrame) -> None:
    trained = load_trained(table_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, TableEncoder)
    far = frame.copy()
    far.loc[0, "income"], far.loc[1, "income"] = 1e9, -1e9  # beyond the knots
    found = TableRows(encoder)(raw(far, about["numbers"]), codes(far, about["columns"]))
    np.testing.assert_allclose(found.numpy(), encoder.transform(far), atol=1e-6)


@pytest.mark.parametrize("kept", [["income"], ["city", "shop"], ["day"], ["seen", "height"]])
def test_rows_of_tables_with_few_kinds_of_columns(frame: pd.DataFrame, kept: list[str]) -> None:
    encoder = TableEncoder.fit(frame[kept])
    numbers = {"income": ["income"], "day": ["day_seconds", "day_month", "day_weekday", "day_hour"]}
    if kept == ["city", "shop"]:
        columns = [
            {
                "kind": "category",
                "column": c.name,
                "categories": {text: code for code, text in enumerate(c.categories, start=1)},
            }
            for c in encoder.category_columns
        ]
        inputs = codes(frame, columns)
    elif kept == ["seen", "height"]:
        inputs = raw(frame, ["height", "seen_seconds", "seen_month", "seen_weekday"])
    else:
        inputs = raw(frame, numbers[kept[0]])
    np.testing.assert_allclose(TableRows(encoder)(inputs), encoder.transform(frame), atol=1e-6)


def test_a_code_that_does_not_exist_counts_as_missing(frame: pd.DataFrame) -> None:
    rows = TableRows(TableEncoder.fit(frame[["city"]]))
    assert rows(torch.tensor([[-1], [0], [3], [4], [99]])).flatten().tolist() == [0, 0, 3, 0, 0]


def test_images_and_texts_are_described_too(image_run: Path, text_run: Path) -> None:
    image = json.loads(preprocessing_files(load_trained(image_run))["preprocessing.json"])
    assert (image["height"], image["width"], image["channels"]) == (9, 8, 3)
    assert image["answers"]["classes"] == [0, 1, 2]
    text = json.loads(preprocessing_files(load_trained(text_run))["preprocessing.json"])
    assert text["words"][0] == "<unk>"
    assert "cat" in text["words"]
