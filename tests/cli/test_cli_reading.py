from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import SHORT, Outcome, table

from meritnas.data.kinds import kind_named

Command = Callable[..., Outcome]

FUSION = (
    *("--space", "fusion", "--channels", "4", "--epochs", "1", "--retrain-epochs", "1"),
    *("--finalists", "1", "--quiet"),
)


def refused(outcome: Outcome, *words: str) -> None:
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def test_names_of_all_that_is_bundled(meritnas: Command) -> None:
    refused(meritnas("search", "nosuch"), "digits, breast_cancer, wine, diabetes", "mnist5k")
    refused(meritnas("columns", "nosuch.csv"), "digits, breast_cancer, wine, diabetes", "mnist5k")
    refused(meritnas("search", "mnist5"), "did you mean 'mnist5k'?")


@pytest.mark.parametrize(
    ("kind", "location", "hint"),
    [
        ("modalities", "/data/views.npz", "new.npz"),
        ("modalities", "/data/views.parquet", "new.parquet"),
        ("modalities", "/data/views.csv.gz", "new.csv"),
        ("modalities", None, "new.npz"),
        ("table", "/data/sales.pq", "new.pq"),
        ("table", "/data/sales.csv", "new.csv"),
        ("table", "wine", "new.csv"),
        ("table", None, "new.csv"),
        ("images", "/data/a.npz", "pictures/"),
        ("text", "/data/book.txt", '--prompt "It was"'),
    ],
)
def test_hints_fit_the_data(kind: str, location: str | None, hint: str) -> None:
    assert kind_named(kind).predict_with(location) == hint


def test_a_search_on_a_table_of_modalities_ends_with_a_hint_that_works(meritnas: Command) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a.x": rng.random(30), "b.x": rng.random(30), "y": np.arange(30) % 2})
    frame.to_parquet("views.parquet")
    outcome = meritnas("search", "views.parquet", "--target", "y", *FUSION, "--out", "run")
    assert outcome.code == 0
    assert "predict with: meritnas predict run new.parquet\n" in outcome.out
    frame.to_parquet("new.parquet")
    assert len(json.loads(meritnas("predict", "run", "new.parquet", "--json").out)) > 0


def test_what_a_file_may_unpack_to_is_said_to_every_command(
    meritnas: Command, trained: Path
) -> None:
    rows = table(60_000).to_csv(index=False).encode()
    assert 1_000_000 < len(rows) < 2_000_000
    Path("t.csv.gz").write_bytes(gzip.compress(rows))
    few, enough = ("--max-unpacked-mb", "1"), ("--max-unpacked-mb", "2")
    words = ("t.csv.gz unpacks to more than 1 MB", "--max-unpacked-mb")
    refused(meritnas("columns", "t.csv.gz", *few), *words)
    assert meritnas("columns", "t.csv.gz", *enough).code == 0
    refused(meritnas("predict", trained, "t.csv.gz", *few), *words)
    assert meritnas("predict", trained, "t.csv.gz", *enough, "--quiet").code == 0
    refused(meritnas("search", "t.csv.gz", "--target", "churn", *few), *words)
    Path("few.toml").write_text('data = "t.csv.gz"\n[reading]\nmax_unpacked_mb = 1\n')
    refused(meritnas("search", "--config", "few.toml", "--target", "churn"), *words)
    refused(meritnas("search", "t.csv.gz", "--max-unpacked-mb", "0"), "must be at least 1, got 0")


def test_a_run_remembers_what_its_data_may_unpack_to(meritnas: Command) -> None:
    table().to_csv("t.csv.gz", index=False)
    given = ("--target", "churn", "--max-unpacked-mb", "7", "--quiet", "--out", "run", *SHORT)
    assert meritnas("search", "t.csv.gz", *given).code == 0
    settings = json.loads(Path("run/config.json").read_text())["settings"]
    assert settings["reading"]["max_unpacked_mb"] == 7
    assert meritnas("retrain", "run", "--epochs", "1", "--quiet").code == 0


def test_a_home_of_nobody(meritnas: Command) -> None:
    refused(meritnas("columns", "~nobody-of-this-name/t.csv"), "no file ~nobody-of-this-name")
    refused(meritnas("search", "--config", "~nobody-of-this-name/c.toml"), "no file ~nobody")


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "book.txt"])
def test_a_file_that_may_not_be_read(
    meritnas: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    Path(name).write_bytes(b"x")

    def denied(path: Path) -> bytes:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", denied)
    given = ("search", name, "--space", "recurrent") if name == "book.txt" else ("columns", name)
    refused(meritnas(*given), f"cannot read {name} (Permission denied); check its permissions")


def test_an_error_is_never_endless_and_its_end_is_kept(meritnas: Command) -> None:
    Path("t.csv").write_text(f"{'a' * 9_000},b\n1,2\n3,4\n")
    outcome = meritnas("search", "t.csv", "--target", "c" * 9_000)
    refused(outcome, "error: no column 'ccc", " ... ")
    assert len(outcome.err) < 2_100
    assert outcome.err.endswith("b\n")


def test_a_name_that_is_no_text(meritnas: Command, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.csv")
    try:
        table().to_csv(tmp_path / name, index=False)
    except (OSError, ValueError):
        pytest.skip("this disk has no such names")
    # A run keeps where its data is, and JSON has no letters for such a name.
    refused(meritnas("search", name, "--target", "churn", "--out", "run"), "whole characters")
    assert not Path("run").exists()
    assert meritnas("columns", name).code == 0
    refused(meritnas("search", name, "--target", "nothing"), "in caf\\udce9.csv")


def test_a_terminal_without_letters_for_names(sales: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "meritnas", "columns", str(sales)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii:strict"},
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "height" in done.stdout
