"""Exported folders answer for raw data as `meritnas predict` does, without MeritNAS and pandas."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from flat_search import train
from meritnas.cli.main import main
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.files.table import read_table
from meritnas.data.modalities.word_counts import counted_words, hashed_words
from meritnas.errors import DataError
from meritnas.exporting.alone.program import answer_files
from meritnas.exporting.alone.table_files import read_table_file
from meritnas.exporting.alone.table_rows import columns_of, table_inputs
from meritnas.exporting.alone.tables import Predictor
from meritnas.exporting.export import export
from meritnas.prediction.predictor import load_predictor

BLOCK = """
import sys

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {"meritnas", "pandas", "sklearn", "scipy", "safetensors"}:
            raise ImportError(f"{name} is not here")

sys.meta_path.insert(0, Refuse())
"""
# One Python for all folders: torch takes two seconds to load.
DRIVER = """
import importlib, json, os, sys
from pathlib import Path

for name in ("meritnas", "pandas"):
    try:
        importlib.import_module(name)
        raise SystemExit(f"{name} can be imported, so that this proves nothing")
    except ImportError:
        pass
for folder, command, arguments in json.loads(sys.argv[1]):
    sys.path.insert(0, folder)
    sys.modules.pop("predict", None)
    module = importlib.import_module("predict")
    assert getattr(module, command)(module.Predictor, arguments) == 0, (folder, arguments)
    sys.path.remove(folder)
"""


def run_alone(tmp_path: Path, jobs: list[tuple[Path, str, list[str]]]) -> None:
    block = tmp_path / "block"
    block.mkdir()
    (block / "sitecustomize.py").write_text(BLOCK)
    told = json.dumps([(str(folder), command, args) for folder, command, args in jobs])
    subprocess.run(
        [sys.executable, "-c", DRIVER, told],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(block), "OMP_NUM_THREADS": "1"},
    )


def predicted(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["predict", *map(str, arguments), "--quiet"])
    assert not ended.value.code


def hostile(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows as they come from elsewhere: other order, gaps, strangers, numbers as text."""
    new = frame.drop(columns="churn").astype(object).iloc[::-1, ::-1].reset_index(drop=True)
    new.loc[0, "city"] = "Paris"
    new.loc[1, "old"] = "1.0"
    new.loc[2, "day"] = "2023-05-01T17:05:33.25"
    new.loc[3, "height"] = 1e30
    new.loc[4, "old"] = None
    new.loc[5, "member"] = "TRUE"
    new.loc[6, "income"] = "1e4"
    new.loc[7, "seen"] = "2020-01-05 23:59:59"
    new.loc[8, :] = None
    new["remark"] = 'says "no", twice;\nand more'
    return new


@pytest.fixture(scope="module")
def mixed_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text, and columns of a table: numbers, dates, categories."""
    rng, rows = np.random.default_rng(0), 60
    words = np.array(["late", "order", "broken", "fine", "Thanks", "again", "Never", "été"])
    table = pd.DataFrame(
        {
            "note": [" ".join(rng.choice(words, rng.integers(4, 9))) for _ in range(rows)],
            "price": rng.normal(size=rows).round(3),
            "shop": rng.choice(["a", "10", "b"], rows),
            "day": pd.date_range("2024-01-01", periods=rows, freq="9h").strftime("%d.%m.%Y %H:%M"),
        }
    )
    table.loc[3, "note"] = None
    table.loc[4, ["price", "shop", "day"]] = None
    table["label"] = np.arange(rows) % 2
    folder = tmp_path_factory.mktemp("mixed")
    table.to_csv(folder / "mixed.csv", index=False)
    table.drop(columns="label").to_csv(folder / "new.csv", index=False, sep="\t")
    train(
        *(str(folder / "mixed.csv"), "label"),
        architecture="cell1(note.0, table.0): step1 = sparse_glu(y, x)",
        **{"space": "fusion", "cells": 1, "channels": 4, "length": 2, "epochs": 1, "seeds": 1},
        out=folder / "run",
    )
    return folder / "run"


@pytest.fixture(scope="module")
def residual_run(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A network that a build function makes, which reads categories, too."""
    out = tmp_path_factory.mktemp("residual") / "run"
    given: dict[str, Any] = {"space": "residual", "widths": [4, 8], "blocks": 1}
    train(frame, "churn", architecture="4-1-8", **given, epochs=1, seeds=1, out=out)
    return out


def test_folders_say_what_predict_says(
    table_run: Path,
    residual_run: Path,
    number_run: Path,
    image_run: Path,
    text_run: Path,
    fusion_run: Path,
    mixed_run: Path,
    frame: pd.DataFrame,
    pixels: np.ndarray,
    views: dict[str, np.ndarray],
    tmp_path: Path,
) -> None:
    hostile(frame).to_csv(tmp_path / "rows.csv", index=False, sep=";")
    numbers = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 10)))
    numbers.columns = pd.Index(["age", "sex", "bmi", "bp", *(f"s{i}" for i in range(1, 7))])
    numbers.to_csv(tmp_path / "numbers.csv", index=False, decimal=",", sep=";")
    (tmp_path / "pictures" / "more").mkdir(parents=True)
    for i, picture in enumerate(pixels[:6]):
        shape = Image.fromarray(picture if i else picture[..., 0]).resize((8 + i, 20))
        shape.save(tmp_path / "pictures" / f"{9 - i}.png")
    np.savez(tmp_path / "views.npz", **views)
    jobs, pairs = [], []
    for run, file in (
        (table_run, tmp_path / "rows.csv"),
        (residual_run, tmp_path / "rows.csv"),
        (number_run, tmp_path / "numbers.csv"),
        (image_run, tmp_path / "pictures"),
        (fusion_run, tmp_path / "views.npz"),
        (mixed_run, mixed_run.parent / "new.csv"),
    ):
        folder = tmp_path / f"folder{len(jobs)}"
        export(run, "python", folder)
        own, other = folder / "own.csv", folder / "other.csv"
        predicted(run, file, "--out", own)
        jobs.append((folder, "answer_files", [str(file), "--out", str(other)]))
        pairs.append((own, other))
    folder = tmp_path / "text"
    export(text_run, "python", folder)
    asked = ["--prompt", "The cat", "--words", "20", "--seed", "3", "--out"]
    predicted(text_run, *asked, folder / "own.txt")
    jobs.append((folder, "write_words", [*asked, str(folder / "other.txt")]))
    pairs.append((folder / "own.txt", folder / "other.txt"))
    run_alone(tmp_path, jobs)
    for own, other in pairs:
        assert other.read_bytes() == own.read_bytes()
        assert len(own.read_bytes()) > 50


def test_the_program_knows_all_that_a_tables_encoder_knows(table_run: Path) -> None:
    """Who adds a kind of column lets `table_rows.py` read it, or refuses the export."""
    told = load_predictor(table_run).encoder.to_json()
    assert set(told) == {"numbers", "dates", "categories", "dropped", "decimal"}


def test_rows_may_be_frames_dicts_and_lists(table_run: Path, frame: pd.DataFrame) -> None:
    encoder = load_predictor(table_run).encoder
    assert isinstance(encoder, TableEncoder)
    told = json.loads(json.dumps(encoder.to_json()))
    new = frame.drop(columns="churn")
    new["day"] = pd.to_datetime(new["day"])
    known = encoder.transform(new)
    rows = [
        {name: cell for name, cell in row.items() if not pd.isna(cell)}
        for row in new.to_dict("records")
    ]
    for data in (new, new.to_dict("list"), rows, new.convert_dtypes()):
        assert np.array_equal(table_inputs(columns_of(data), told), known)
    with pytest.raises(DataError, match="the table lacks 1 columns it needs: city"):
        table_inputs(columns_of(new.drop(columns="city")), told)
    with pytest.raises(DataError, match="'height' holds 'tall' where a number is needed"):
        table_inputs(columns_of(new.assign(height="tall")), told)
    with pytest.raises(DataError, match="'seen' holds 'soon' where a date like 2024-03-31"):
        table_inputs(columns_of(new.assign(seen="soon")), told)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["1.5", "2", "-3e2", "", "NA", " 7 ", "1,250.5", "inf", "x", ".5"]),
            st.sampled_from(["a", "10", "10.0", "?", '"b"', "true", "1_0", "é", "'", "a b"]),
            st.sampled_from(["2024-01-31", "2024-02-01 10:30", "", "2024-02", "20240105", "-"]),
            st.sampled_from(["true", "False", "", "1", "0.0", "TRUE"]),
        ),
        min_size=1,
        max_size=6,
    ),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from(["\n", "\r\n"]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
def test_text_files_are_read_alike(
    tmp_path: Path, rows: list[tuple[str, ...]], separator: str, end: str
) -> None:
    encoder = TableEncoder.fit(
        pd.DataFrame(
            {
                "number": [1.0, 2.5, None, 4.0],
                "word": ["a", "10", "b", "a"],
                "day": ["2024-01-01", "2024-03-02", None, "2023-05-05"],
                "truth": [0, 1, 1, 0],
            }
        )
    )
    quoted = ([f'"{cell}"' if separator in cell else cell for cell in row] for row in rows)
    lines = ["number,word,day,truth".replace(",", separator), *map(separator.join, quoted)]
    path = tmp_path / "new.csv"
    path.write_text(end.join(lines) + end, encoding="utf-8")
    known: Any
    try:
        known = encoder.transform(read_table(path, decimal=encoder.decimal))
    except DataError:
        known = None
    told = json.loads(json.dumps(encoder.to_json()))
    if known is None:
        with pytest.raises(DataError):
            table_inputs(read_table_file(path, None), told)
    else:
        assert np.array_equal(table_inputs(read_table_file(path, None), told), known)


def test_words_are_counted_as_scikit_learn_does() -> None:
    from sklearn.feature_extraction.text import HashingVectorizer, TfidfVectorizer

    texts = ["Don't count, DON'T hash! a b", "", "hash é_1 hash hash count", "日本 count Straße"]
    known = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, max_features=9).fit(texts)
    words, weights = known.get_feature_names_out().tolist(), known.idf_.tolist()
    found = counted_words(texts, words, weights)
    np.testing.assert_allclose(found, known.transform(texts).toarray(), atol=1e-12)
    hashed = HashingVectorizer(n_features=17, ngram_range=(1, 2), alternate_sign=False)
    np.testing.assert_allclose(hashed_words(texts, 17), hashed.transform(texts).toarray())


def test_the_program_is_a_command(
    table_run: Path, frame: pd.DataFrame, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(table_run, "python", tmp_path)
    frame.iloc[:3].to_csv(tmp_path / "new.csv", index=False)
    command = [sys.executable, str(tmp_path / "predict.py"), str(tmp_path / "new.csv")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("predicted_churn,probability_no,probability_yes\n")
    assert len(done.stdout.splitlines()) == 4
    frame.iloc[:3].drop(columns="city").to_csv(tmp_path / "less.csv", index=False)
    program: Any = partial(Predictor, tmp_path)
    assert answer_files(program, [str(tmp_path / "less.csv")]) == 2
    assert "error: the table lacks 1 columns it needs: city" in capsys.readouterr().err
    out = tmp_path / "answers.csv"
    out.write_text("mine")
    assert answer_files(program, [str(tmp_path / "new.csv"), "--out", str(out)]) == 2
    assert answer_files(program, [str(tmp_path / "new.csv"), "--out", str(out), "--force"]) == 0
    assert out.read_text() == done.stdout


@pytest.mark.parametrize("name", ["new.parquet", "new.pq", "new"])
def test_a_parquet_file_is_refused_in_one_sentence(
    name: str,
    table_run: Path,
    frame: pd.DataFrame,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    export(table_run, "python", tmp_path)
    frame.to_parquet(tmp_path / name)
    program: Any = partial(Predictor, tmp_path)
    assert answer_files(program, [str(tmp_path / name)]) == 2
    told = f"error: {tmp_path / name} is a parquet file, which is not read here; save it as CSV\n"
    assert capsys.readouterr().err == told


def test_units_and_cells_that_are_none_are_read_alike(tmp_path: Path) -> None:
    count = 60
    old = pd.DataFrame(
        {
            "price": [
                f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in range(count)
            ],
            "worth": [["$1.2M", "$500k", "$900", "($3)"][row % 4] for row in range(count)],
            "age": [*map(str, range(count - 2)), "unknown", "tall"],
            "day": [*pd.date_range("2024-01-01", periods=count - 1).strftime("%d/%m/%Y"), "soon"],
        }
    )
    encoder = TableEncoder.fit(old)
    assert len(encoder.number_columns) + len(encoder.date_columns) == 4
    new = pd.DataFrame(
        {
            "day": ["31/01/2024", "never", None, "01/02/2024"],
            "age": ["7", "-", "short", None],
            "price": ["1.234,50 €", "7", None, "7,5"],
            "worth": ["$2M", "3k", "17", None],
        }
    )
    new.to_csv(tmp_path / "new.csv", index=False, sep=";")
    expected = encoder.transform(read_table(tmp_path / "new.csv", decimal=encoder.decimal))
    told = json.loads(json.dumps(encoder.to_json()))
    cells = read_table_file(tmp_path / "new.csv", encoder.decimal)
    assert table_inputs(cells, told).tobytes() == expected.tobytes()
    assert table_inputs(columns_of(new), told).tobytes() == encoder.transform(new).tobytes()
    strange = {**columns_of(new), "price": ["dear"] * 4}
    with pytest.raises(DataError, match="'dear' where a number in € is needed"):
        table_inputs(strange, told)
