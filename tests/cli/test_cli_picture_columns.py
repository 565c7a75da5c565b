"""Tables with a column of pictures, from the search to the program that leaves."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import Outcome, run
from PIL import Image

import meritnas as mn
from meritnas.errors import DataError
from meritnas.exporting.alone.service import Service
from meritnas.exporting.served_run import ServedRun

Command = Callable[..., Outcome]

SEARCH = ["--target", "kind", "--space", "fusion", "--strategy", "random", "--epochs", "2"]
TINY = [*SEARCH, "--channels", "4", "--length", "2", "--retrain-epochs", "2", "--finalists", "1"]
BLOCK = "import sys; sys.modules['meritnas'] = None; sys.modules['pandas'] = None"


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table that names pictures, and a run on it; not to be changed."""
    folder = tmp_path_factory.mktemp("shop")
    (folder / "img").mkdir()
    rng = np.random.default_rng(0)
    rows = 60
    red = rng.integers(2, size=rows)
    for row in range(rows):
        picture = rng.integers(100, size=(8, 8, 3))
        picture[..., 0] += 120 * red[row]
        Image.fromarray(picture.astype(np.uint8)).save(folder / "img" / f"{row}.png")
    frame = pd.DataFrame({"photo": [f"img/{row}.png" for row in range(rows)]})
    frame = frame.assign(age=rng.normal(size=rows), kind=np.where(red, "red", "dark"))
    frame.to_csv(folder / "shop.csv", index=False)
    done = run("search", folder / "shop.csv", *TINY, "--quiet", "--out", folder / "run")
    assert done.code == 0, done.err
    return folder


def broken_copy(shop: Path) -> Path:
    """The table, here, with its pictures, of which the fifth is damaged."""
    shutil.copytree(shop / "img", "img")
    shutil.copy(shop / "shop.csv", "new.csv")
    Path("img/4.png").write_bytes(b"no picture")
    return Path("new.csv")


def test_a_search_stops_at_broken_pictures_or_leaves_them_out(
    shop: Path, meritnas: Command
) -> None:
    table = broken_copy(shop)
    refused = meritnas("search", table, *TINY, "--quiet")
    assert refused.code == 2
    assert "1 of 60 pictures cannot be read: row 5 (" in refused.err
    assert "--skip-bad-rows" in refused.err
    done = meritnas("search", table, *TINY, "--quiet", "--skip-bad-rows", "--out", "run")
    assert done.code == 0
    assert "these rows are left out" in " ".join(
        json.loads(Path("run/result.json").read_text())["notes"]
    )


def test_columns_say_what_fusion_would_do(shop: Path, meritnas: Command) -> None:
    table = broken_copy(shop)
    found = meritnas("columns", table, "--target", "kind", "--space", "fusion", "--json")
    assert found.code == 0, found.err
    told = json.loads(found.out)
    rows = {row["column"]: (row["taken_as"], row["details"]) for row in told["columns"]}
    assert rows["photo"][0] == "picture"
    assert rows["photo"][1].startswith("modality 'photo': 8 x 8 pixels")
    assert rows["age"][1].startswith("modality 'table': mean")
    assert rows["kind"][0] == "target"
    assert any("row 5 (" in note for note in told["notes"])
    assert any("a search stops at rows that cannot be read" in note for note in told["notes"])
    smaller = meritnas(
        *("columns", shop / "shop.csv", "--target", "kind", "--space", "fusion"),
        *("--image-size", "6"),
    )
    assert "6 x 6 pixels" in smaller.out
    assert "8 x 8 pixels" in meritnas("columns", shop / "run").out


def test_columns_need_the_right_space(shop: Path, meritnas: Command) -> None:
    table = shop / "shop.csv"
    plain = meritnas("columns", table, "--target", "kind")
    assert "--space fusion reads them" in plain.err
    strange = meritnas("columns", table, "--target", "kind", "--text-form", "hashed")
    assert (strange.code, "is for several modalities" in strange.err) == (2, True)
    wrong = meritnas("columns", table, "--space", "darts")
    assert (wrong.code, "is for images, which have no columns" in wrong.err) == (2, True)


def test_a_table_search_names_the_way(shop: Path, meritnas: Command) -> None:
    short = ["--epochs", "1", "--widths", "4", "--retrain-epochs", "1", "--no-yardstick"]
    done = meritnas("search", shop / "shop.csv", "--target", "kind", *short)
    assert done.code == 0
    told = " ".join(done.err.split())
    assert "'photo' names pictures, which no network for tables sees; --space fusion" in told


def test_answers_without_a_broken_picture(shop: Path, meritnas: Command) -> None:
    whole = meritnas("predict", shop / "run", shop / "shop.csv", "--out", "whole.csv")
    assert whole.code == 0
    table = broken_copy(shop)
    done = meritnas("predict", shop / "run", table, "--out", "fewer.csv")
    assert done.code == 0
    assert "row 5 (" in done.err
    assert "these rows go without 'photo'" in done.err
    answers, others = pd.read_csv("whole.csv"), pd.read_csv("fewer.csv")
    pd.testing.assert_frame_equal(answers.drop(index=4), others.drop(index=4))


def test_the_program_reads_raw_rows(shop: Path, meritnas: Command) -> None:
    assert meritnas("export", shop / "run", "--to", "python", "--out", "alone").code == 0
    table = broken_copy(shop)
    meritnas("predict", shop / "run", table, "--out", "known.csv")
    Path("block").mkdir()
    Path("block/sitecustomize.py").write_text(BLOCK)
    done = subprocess.run(
        [sys.executable, "alone/predict.py", str(table), "--out", "found.csv"],
        env={**os.environ, "PYTHONPATH": "block", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "row 5 (" in done.stderr
    known, found = pd.read_csv("known.csv"), pd.read_csv("found.csv")
    assert found.columns.tolist() == known.columns.tolist()
    assert (found.iloc[:, 0] == known.iloc[:, 0]).all()
    np.testing.assert_allclose(found.iloc[:, 1:], known.iloc[:, 1:], atol=1e-5)


def test_a_request_names_no_file(shop: Path, tmp_path: Path) -> None:
    service = ServedRun(mn.load_predictor(shop / "run"))
    asking = Service(service)
    secret = str(shop / "img" / "0.png")
    with pytest.raises(DataError, match="no file of this machine can be named in a request"):
        asking._records([{"photo": secret, "age": 1.0}], None)
    rows = tmp_path / "body.csv"
    rows.write_text(f"photo,age\n{secret},1.0\n")
    with pytest.raises(DataError, match="no file of this machine"):
        asking._records(*service.read(rows))
    assert len(asking._records([{"age": 1.0}], None)["predictions"]) == 1


def test_the_older_name_of_the_flag_still_works(shop: Path, meritnas: Command) -> None:
    for row in range(40):
        Path(f"set/{'even' if row % 2 else 'odd'}").mkdir(parents=True, exist_ok=True)
        place = f"set/{'even' if row % 2 else 'odd'}/{row}.png"
        shutil.copy(shop / "img" / f"{row}.png", place)
    Path("set/odd/0.png").write_bytes(b"no picture")
    shown = ["search", "set", "--print-config"]
    for flag in ("--skip-bad-rows", "--skip-bad-files"):
        assert "skip_bad_rows = true" in meritnas(*shown, flag).out
    assert mn.ImageReading(skip_bad_files=True) == mn.ImageReading(skip_bad_rows=True)
    kept = mn.ImageReading.from_json({"skip_bad_files": True})
    assert kept.skip_bad_rows
    Path("old.toml").write_text('data = "set"\n[reading]\nskip_bad_files = true\n')
    assert (
        "skip_bad_rows = true" in meritnas("search", "--config", "old.toml", "--print-config").out
    )
