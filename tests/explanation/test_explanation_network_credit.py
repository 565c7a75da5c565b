from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meritnas
from flat_search import search

QUICK: dict[str, Any] = {"epochs": 2, "retrain_epochs": 1, "retrain_seeds": 1, "finalists": 1}
SMALL = {
    "space": "nasbench201",
    "channels": 4,
    "cells": 1,
    "supernet_channels": 4,
    "supernet_cells": 1,
}
DEAD = "|nor_conv_3x3~0|+|nor_conv_1x1~0|none~1|+|skip_connect~0|none~1|none~2|"


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a few small images."""
    folder = tmp_path_factory.mktemp("cells")
    images = np.random.default_rng(0).integers(0, 255, (60, 8, 8), dtype=np.uint8)
    np.savez(folder / "images.npz", images=images, labels=np.arange(60) % 2)
    search(folder / "images.npz", **SMALL, **QUICK, out=folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on a table."""
    folder = tmp_path_factory.mktemp("table") / "run"
    search("wine", widths=[4, 8, 16], **QUICK, out=folder)
    return folder


def explained(run: Path, text: str) -> meritnas.NetworkExplanation:
    """Another network, as if the run had found it."""
    result = json.loads((run / "result.json").read_text())
    (run / "digests.json").unlink(missing_ok=True)
    (run / "result.json").write_text(json.dumps({**result, "architecture": text}))
    return meritnas.explain(run)


def test_edges_that_are_none_or_dead_are_no_parts(cells: Path) -> None:
    found = explained(cells, DEAD)  # nothing reads the nodes 1 and 2
    assert [(part.decision, part.option) for part in found.parts] == [("edge3<-0", "skip_connect")]
    assert found.interactions == ()
    assert found.architecture == DEAD


def test_rounding_is_told_from_small_values(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([0.25, -2e-18])
    monkeypatch.setattr(
        "meritnas.explanation.network._values",
        lambda *_: (values, values - 1e-17, values + 1e-6, 0.5),
    )
    first, second = explained(table, "8-16-4").parts
    assert (first.value, first.high) == (0.25, 0.250001)
    assert (second.value, second.low, second.high) == (0.0, 0.0, pytest.approx(1e-6))


def test_layers_that_cannot_be_narrower_are_named(table: Path) -> None:
    found = explained(table, "4-16-4")
    assert [part.decision for part in found.parts] == ["layer2"]
    assert found.narrowest == ("layer1", "layer3")
    assert found.to_json()["narrowest"] == ["layer1", "layer3"]


def test_every_kind_of_answer_is_a_table_with_a_head(table: Path) -> None:
    found = explained(table, "4-4-4").tables()
    assert list(found["credit"]) == ["decision", "option", "value", "low", "high", "chosen"]
    assert list(found["interactions"]) == ["first", "second", "value"]
    assert [len(found[name]) for name in ("credit", "alternatives", "interactions")] == [0, 6, 0]
    assert set(found["alternatives"]["instead_of"]) == {"4"}
