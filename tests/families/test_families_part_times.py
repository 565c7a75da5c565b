"""Times of parts that were made elsewhere."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from meritnas import (
    UsageError,
    darts_space,
    fusion_space,
    recurrent_space,
    space_of,
    tabular_space,
)
from meritnas.data.columns.inputs import TableInputs
from meritnas.families import device_times
from meritnas.families.convnet.family import convnet_space
from meritnas.families.family import Family
from meritnas.families.fusion.plain import plain_fusion
from meritnas.families.part_times import KnownTimes, Listing, Measuring, key_of, operations_of
from meritnas.nn.words import Words

sys.path.append(str(Path(__file__).parent.parent / "contracts"))
import own_networks

VIEWS = {"image": [(2, 4, 4)], "sound": [(3, 6), (5,)]}
FAMILIES: dict[str, Family] = {
    "tabular": tabular_space(TableInputs(2, (3, 5)), 2, 2, (2, 4)),
    "convnet": convnet_space(2, (1, 8, 8), ("plain3se", "residual3"), ((4,), (8,))),
    "darts": darts_space(2, 4, 3, image=(1, 8, 8)),
    "recurrent": recurrent_space(7, 5),
    "fusion": fusion_space(VIEWS, 3, channels=8, length=4, backbones={"image": "conv"}),
    "plain fusion": plain_fusion(VIEWS, 3, "classes"),
    "own": space_of(own_networks.transformer, Words(5), 5),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_a_list_timed_by_the_file_alone_gives_every_latency(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    listing = Listing()
    family.timed(listing)
    parts = json.loads(json.dumps(listing.table()))["parts"]
    found = device_times.measured(parts, rounds=1)
    assert found.keys() == listing.parts.keys()
    table = {"format": 1, "machine": "there", "microseconds": found}
    (tmp_path / "times.json").write_text(json.dumps(table))
    timed = family.timed(KnownTimes(tmp_path / "times.json"))
    one = family.random(0)
    assert 0 < timed.cost(one, "latency") <= sum(found.values()) * 20
    again = family.timed(KnownTimes(tmp_path / "times.json"))
    assert again.cost(one, "latency") == timed.cost(one, "latency")


def test_times_are_of_the_parts_that_the_table_has_them_for(tmp_path: Path) -> None:
    family = tabular_space(3, 2, 2, (2, 4))
    listing = Listing()
    family.timed(listing)
    shapes = {}
    for key, operations in listing.parts.items():
        weight = next(o["args"][2]["shape"] for o in operations if "addmm" in o["name"])
        shapes[key] = 100 * weight[0] + weight[1]
    table = {"format": 1, "microseconds": shapes}
    (tmp_path / "times.json").write_text(json.dumps(table))
    timed = family.timed(KnownTimes(tmp_path / "times.json"))
    assert timed.cost("4-2", "latency") == 304 + 402 + 202
    other = tabular_space(3, 2, 2, (2, 5))
    with pytest.raises(UsageError, match="has no time of 5 of 8 parts"):
        other.timed(KnownTimes(tmp_path / "times.json"))


def test_what_is_timed_here_has_the_keys_of_the_list() -> None:
    family = tabular_space(3, 2, 2, (2, 4))
    listing, measuring = Listing(), Measuring()
    family.timed(listing)
    family.timed(measuring)
    found = measuring.table()["microseconds"]
    assert found.keys() == listing.parts.keys()
    assert min(found.values()) > 0


def test_weights_play_no_part_in_a_key_and_shapes_do() -> None:
    def key(module: nn.Module, columns: int) -> str:
        return key_of(operations_of(module, torch.zeros(1, columns)))

    assert key(nn.Linear(3, 2), 3) == key(nn.Linear(3, 2), 3)
    assert key(nn.Linear(3, 2), 3) != key(nn.Linear(4, 2), 4)
    assert key(nn.Linear(3, 2), 3) != key(nn.Linear(3, 2, bias=False), 3)


@pytest.mark.parametrize(
    "table",
    [
        "{",
        "[]",
        '{"format": 2, "microseconds": {}}',
        '{"format": 1}',
        '{"format": 1, "microseconds": {"a": 1.5}}',
        '{"format": 1, "microseconds": {"a": 0}}',
    ],
)
def test_what_is_no_table_is_refused(table: str, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_text(table)
    with pytest.raises(UsageError, match="is no table of times; make one with meritnas latency"):
        KnownTimes(tmp_path / "times.json")


def test_a_search_takes_a_table_and_keeps_to_it(tmp_path: Path) -> None:
    from flat_search import arguments, search
    from meritnas import RunOptions
    from meritnas.run.part_times import time_parts
    from meritnas.settings.request import Request

    options: dict[str, Any] = {"layers": 2, "widths": (2, 8), "epochs": 2, "scaling": "standard"}
    options |= {"retrain_epochs": 1, "retrain_seeds": 1}
    given = arguments("wine", **options)
    request = Request(space=given["space"], reading=given["reading"])
    listing = Listing()
    time_parts("wine", None, request, listing)
    slow = {key: 1000 + number for number, key in enumerate(listing.parts)}
    file = tmp_path / "times.json"
    file.write_text(json.dumps({"format": 1, "microseconds": slow}))
    run = RunOptions(threads=1, latency_table=str(file))
    found = search("wine", max_latency_ms=3.5, out=tmp_path / "run", run=run, **options)
    assert 3000 < found.summary["costs"]["latency"] <= 3500
    assert found.summary["measured_latency"] > 0
    assert found.summary["latency_table"] == str(file)
    with pytest.raises(UsageError, match="latency_table is for a limit on latency"):
        search("wine", run=run, **options)
