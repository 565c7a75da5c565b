"""How the benchmark of kills and damages chooses them and judges what comes of them."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

FOLDER = Path(__file__).parents[2] / "benchmarks"


def load(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module(f"crash_trials.{name}")


def checkpoint(value: float, *, shared: bool) -> bytes:
    """Other bytes for the same state: two weights that are one object, or not."""
    weights = torch.full((3,), value)
    blob = io.BytesIO()
    torch.save({"a": weights, "b": weights if shared else weights.clone()}, blob)
    return blob.getvalue()


def test_files_that_are_lost_left_over_or_otherwise_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    differences = load(monkeypatch, "files").differences
    expected = {"run": None, "run/a.json": b"1", "run/b.json": b"2"}
    assert differences(dict(expected), expected) == []
    found = {"run": None, "run/a.json": b"3", "run/.partial.b.json": b""}
    assert differences(found, expected) == [
        "run/.partial.b.json is left over",
        "run/a.json differs",
        "run/b.json is missing",
    ]


def test_checkpoints_are_compared_by_their_state_and_digests_by_their_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    differences = load(monkeypatch, "files").differences

    def run(blob: bytes, digest_of: bytes, more: str = "") -> dict[str, bytes]:
        files = {"files": {"checkpoint.pt": [hashlib.sha256(digest_of).hexdigest()]}}
        own = hashlib.sha256((json.dumps(files, sort_keys=True) + more).encode()).hexdigest()
        digests = json.dumps({**files, "sha256": own})
        return {"run/checkpoint.pt": blob, "run/digests.json": digests.encode()}

    one, same = checkpoint(1.0, shared=True), checkpoint(1.0, shared=False)
    other = checkpoint(2.0, shared=True)
    assert one != same
    assert differences(run(one, one), run(same, same)) == []
    assert differences(run(other, other), run(one, one)) == ["run/checkpoint.pt differs"]
    assert differences(run(same, one), run(same, same)) == ["run/digests.json differs"]
    assert differences(run(one, one, "x"), run(same, same)) == ["run/digests.json differs"]


def test_of_many_operations_the_rare_ones_are_all_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    kills_of = load(monkeypatch, "kills").kills_of
    operations = load(monkeypatch, "operations")
    operation, kill = operations.Operation, operations.Kill
    steps = [
        operation(*one)
        for number in range(30)
        for one in [
            ("write", f"run/.partial.checkpoint.pt.{number}"),
            ("rename", f"run/.partial.checkpoint.pt.{number} -> run/checkpoint.pt"),
        ]
    ]
    done = [operation("mkdir", "run"), *steps, operation("remove", "run/retrain.json")]
    every = kills_of(done, 1000)
    assert [one.before for one in every if not one.torn] == list(range(62))
    assert [one.before for one in every if one.torn] == list(range(2, 62, 2))
    some = kills_of(done, 20)
    assert 15 <= len(some) <= 20
    assert {kill(0), kill(61)} <= set(some)
    assert {kill(1), kill(59)} <= set(some)  # the first and the last of many


def test_a_file_is_cut_deleted_and_has_single_bits_flipped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    damages_to = load(monkeypatch, "damages").damages_to
    content = bytes(range(100))
    found = {one.name: one.content for one in damages_to({"run": None, "run/a.json": content})}
    assert found.pop("deleted") is None
    assert found.pop("emptied") == b""
    assert found.pop("halved") == content[:50]
    assert len(found) == 5
    for name, blob in found.items():
        places = [k for k in range(100) if blob[k] != content[k]]
        assert name.endswith(f"of byte {places[0]} flipped")
        assert (blob[places[0]] ^ content[places[0]]).bit_count() == len(places) == 1


@pytest.mark.parametrize(
    ("command", "file", "said", "changed", "expected"),
    [
        ("predict", "run/a.json", {}, {}, "identical"),
        ("predict", "run/a.json", {"code": 2, "err": "error: a.json is damaged\n"}, {}, "refused"),
        ("predict", "run/a.json", {"code": 2, "err": "oh\n"}, {}, "bad"),
        ("predict", "run/a.json", {"code": 1, "err": "Traceback (most recent"}, {}, "bad"),
        ("predict", "run/a.json", {"code": None}, {}, "bad"),
        ("predict", "run/a.json", {"code": -11}, {}, "bad"),
        ("predict", "run/a.json", {"out": "no\n"}, {}, "bad"),
        ("predict", "run/a.json", {"out": "no\n", "err": "note: a.json\n"}, {}, "bad"),
        ("show", "run/a.json", {"out": "no\n", "err": "note: a.json\n"}, {}, "refused"),
        ("show", "run/a.json", {"out": "no\n", "err": "note: not finished\n"}, {}, "bad"),
        ("explain", "run/a.json", {}, {"run/credit.json": b"other"}, "bad"),
        ("explain", "run/a.json", {}, {"run/report.html": b"other"}, "bad"),
        ("explain", "run/a.json", {}, {"run/report.html": b"a.json: left out"}, "refused"),
        ("explain", "run/credit.json", {}, {"run/credit.json": b"damaged"}, "bad"),
        ("explain", "run/report.html", {}, {}, "identical"),
        ("show", "run/report.html", {"code": 2, "err": "error: report.html\n"}, {}, "bad"),
        ("show", "run/credit.json", {}, {"run/credit.json": None}, "bad"),
    ],
)
def test_what_passes_for_refused_or_identical(
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    file: str,
    said: dict[str, Any],
    changed: dict[str, bytes | None],
    expected: str,
) -> None:
    """`explain` writes credit.json and report.html; nobody writes a.json."""
    damages = load(monkeypatch, "damages")
    outcome = load(monkeypatch, "process").Outcome
    before = {"run/a.json": b"a", "run/credit.json": b"old", "run/report.html": b"old page"}
    written = {"run/credit.json": b"new", "run/report.html": b"new page"}
    after = {**before, **(written if command == "explain" else {})}
    reader = damages.Reader(
        command, "finished", Path(), (command, "run"), outcome(0, "yes\n", ""), before, after
    )
    damage = damages.Damage(file, "halved", b"damaged")
    left = {**before, file: b"damaged"} | (written if command == "explain" else {}) | changed
    found = {"code": 0, "out": "yes\n", "err": "", **said}
    assert damages.judge(reader, damage, outcome(**found), left)[0] == expected
