from __future__ import annotations

import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image, ImageOps
from sklearn.utils import murmurhash3_32

from meritnas.data.columns.cells import category_key
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.images.pictures import read_pictures
from meritnas.data.modalities.description import describe_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.tables.graph import TableRows
from meritnas.data.texts.encoder import TextEncoder
from meritnas.exporting.preprocessing_export import preprocessing_files
from meritnas.exporting.trained import load_trained


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


def encoded(columns: list[dict[str, Any]], numbers: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """Rows of a table, by the description of its columns alone."""
    width = 1 + max(max(*column["row"], column.get("indicator", 0)) for column in columns)
    row = np.full((len(frame), width), np.nan)
    for column in columns:
        if column["kind"] == "category":
            row[:, column["row"][0]] = codes(frame, [column])[:, 0]
            continue
        own = numbers[:, column["numbers"]]
        missing = np.isnan(own[:, 0]) | (np.abs(own[:, 0]) >= column.get("missing_from", np.inf))
        if "knots" in column:
            made = [np.interp(own[:, 0], column["knots"], column["heights"])]
        else:
            with np.errstate(over="ignore"):
                made = [((own[:, 0] - column["mean"]) / column["scale"]).clip(-1e4, 1e4)]
        for place, period in zip(own.T[1:], column.get("periods", {}).values(), strict=True):
            made += [f(2 * np.pi * place / period) for f in (np.sin, np.cos)]
        row[:, column["row"]] = np.where(missing[:, None], 0, np.stack(made, axis=1))
        if "indicator" in column:
            row[:, column["indicator"]] = missing
    return row


def test_the_description_is_enough_to_encode_a_table(table_run: Path, frame: pd.DataFrame) -> None:
    trained = load_trained(table_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, TableEncoder)
    row = encoded(about["columns"], raw(frame, about["numbers"]).numpy(), frame)
    assert any("knots" in column for column in about["columns"])
    assert any("indicator" in column for column in about["columns"])
    np.testing.assert_allclose(row, encoder.transform(frame), atol=1e-6)


def scaled(values: np.ndarray, low: list[float], high: list[float]) -> np.ndarray:
    span = np.array(high) - low
    return np.clip(np.divide(values - low, span, out=0 * values, where=span > 0), 0, 1)


def numbers_of(modality: dict[str, Any], arrays: list[np.ndarray]) -> np.ndarray:
    """A modality of vectors or pictures in its part of a row."""
    found = []
    for feature, array in zip(modality["features"], arrays, strict=True):
        assert list(array.shape[1:]) == feature["shape"]
        flat = array.reshape(len(array), -1)
        assert feature["row"][1] - feature["row"][0] == flat.shape[1]
        filled = np.where(np.isnan(flat), feature["mean"], flat)
        found.append(scaled(filled, feature["low"], feature["high"]))
    empty = np.isnan(np.concatenate([a.reshape(len(a), -1) for a in arrays], axis=1)).all(axis=1)
    return np.where(empty[:, None], 0, np.concatenate([~empty[:, None], *found], axis=1))


def words_of(modality: dict[str, Any], texts: list[str]) -> np.ndarray:
    """A modality of texts in its part of a row."""
    made = np.zeros((len(texts), modality["places"]))
    for row, text in zip(made, texts, strict=True):
        words = re.findall(modality["word"], text.lower())
        counts = Counter([*words, *(f"{a} {b}" for a, b in pairwise(words))])
        for word, count in counts.items():
            if "vocabulary" not in modality:
                row[abs(murmurhash3_32(word)) % modality["places"]] += count
            elif word in modality["vocabulary"]:
                place = modality["vocabulary"].index(word)
                row[place] = (1 + np.log(count)) * modality["weights"][place]
        row /= np.sqrt((row**2).sum()) or 1
    return np.concatenate([[[float(bool(text))] for text in texts], made], axis=1)


def test_the_description_is_enough_to_encode_vectors_and_pictures(
    fusion_run: Path, views: dict[str, np.ndarray]
) -> None:
    trained = load_trained(fusion_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, ModalityEncoder)
    far = {"picture": 2 * views["picture"], "sound": 2 * views["sound"]}
    far["sound"][1, 2] = np.nan  # a single gap
    expected = encoder.transform(far).numpy()
    row = np.full_like(expected, np.nan)
    for modality in about["modalities"]:
        array = far[modality["name"]]
        if modality["kind"] == "picture":
            array = array[:, None]  # channels first
        start, end = about["row"][modality["name"]]
        assert modality["features"][0]["row"][0] == start + 1
        row[:, start:end] = numbers_of(modality, [array])
    np.testing.assert_allclose(row, expected, atol=1e-6)


@pytest.mark.parametrize("way", ["counted", "hashed"])
def test_the_description_is_enough_to_encode_texts_features_and_columns(
    way: Any, frame: pd.DataFrame
) -> None:
    rng = np.random.default_rng(0)
    known = ["red", "Wine", "good", "bad", "it's", "fruit", "a"]
    texts = [" ".join(rng.choice(known, rng.integers(0, 12))) for _ in range(len(frame))]
    features = rng.normal(size=(len(frame), 3)), rng.normal(size=(len(frame), 2, 4))
    columns = frame[["height", "day", "city", "shop"]]
    views = {"note": np.array(texts, dtype=object), "clip": features, "table": columns}
    encoder = ModalityEncoder.fit(views, np.arange(80), way, words=40)
    about = json.loads(json.dumps(describe_modalities(encoder)))
    note, clip, table = about["modalities"]
    numbers = raw(frame, table["numbers"]).numpy()
    found = encoded(table["columns"], numbers, frame)
    parts = [scaled(found[:, : len(table["low"])], table["low"], table["high"])]
    for place, count in enumerate(table["codes"].values(), start=len(table["low"])):
        parts.append(found[:, [place]] == np.arange(count))
    rows = [words_of(note, texts), numbers_of(clip, list(features))]
    rows += [np.ones((len(frame), 1)), *parts]
    expected = encoder.transform(views).numpy()
    assert not all(texts)
    np.testing.assert_allclose(np.concatenate(rows, axis=1), expected, atol=1e-6)
    assert [end for _, end in about["row"].values()][-1] == expected.shape[1]


def test_the_description_is_enough_to_encode_images(
    image_run: Path, pixels: np.ndarray, tmp_path: Path
) -> None:
    trained = load_trained(image_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, ImageEncoder)
    made = (pixels / 255 - about["mean"]) / about["std"]
    found = encoder.transform(pixels).numpy()
    np.testing.assert_allclose(made.transpose(0, 3, 1, 2), found, atol=1e-6)
    rgba = np.random.default_rng(1).integers(0, 256, (20, 30, 4), dtype=np.uint8)
    Image.fromarray(rgba).save(tmp_path / "clear.png")
    share = rgba[..., 3:] / 255
    on_white = np.rint(rgba[..., :3] * share + 255 * (1 - share)).astype(np.uint8)
    size = (about["width"], about["height"])
    fitted = ImageOps.fit(Image.fromarray(on_white), size, Image.Resampling.BILINEAR)
    read = read_pictures(tmp_path / "clear.png", encoder).images[0]
    np.testing.assert_allclose(read.astype(int), np.asarray(fitted).astype(int), atol=1)


def test_the_description_is_enough_to_encode_words(text_run: Path) -> None:
    trained = load_trained(text_run)
    about = json.loads(preprocessing_files(trained)["preprocessing.json"])
    encoder = trained.predictor.encoder
    assert isinstance(encoder, TextEncoder)
    assert (about["level"], about["tokenised"]) == ("word", False)
    places = {word: place for place, word in enumerate(about["words"])}
    paragraphs = "The cat sat,\non a mat.\n\nDogs ran far; it\u2019s <unk>"
    for text in (paragraphs, "The cat\n\n", "a\nmat"):
        parts = re.split(r"\n\s*\n", text.strip())
        parts = parts if len(parts) > 1 else [line for line in text.split("\n") if line.strip()]
        words = [word for p in parts for word in (*re.findall(about["word"], p.lower()), "<eos>")]
        assert [places.get(word, 0) for word in words[:-1]] == encoder.read(text).tolist()
    assert about["beginning"] == places.get("<eos>", 1)


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
    assert any("transparent" in step for step in image["pictures"])
    text = json.loads(preprocessing_files(load_trained(text_run))["preprocessing.json"])
    assert text["words"][0] == "<unk>"
    assert "cat" in text["words"]
    assert any("lower case" in step for step in text["split"])
