from __future__ import annotations

import io
import json
import shutil
from html import unescape
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from page_helpers import Page, code, section
from rich.console import Console
from rich.table import Table

import meritnas
from flat_search import search
from meritnas.report.numbers import interval_text, signed_text
from meritnas.report.page.page import report_page
from meritnas.report.terminal.credit_table import (
    alternatives_table,
    interactions_table,
    parts_table,
)
from unchecked import unchecked_copy

TINY: dict[str, Any] = {"epochs": 2, "retrain_epochs": 2, "retrain_seeds": 1, "finalists": 1}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run that nobody has explained; not to be changed."""
    folder = tmp_path_factory.mktemp("credit") / "a run"
    limits = {"max_params": 900, "max_flops": 800}
    search("wine", widths=[8, 16, 32], **limits, **TINY, out=folder)
    return folder


@pytest.fixture(scope="module")
def explained(run: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run, explained; not to be changed."""
    folder = Path(shutil.copytree(run, tmp_path_factory.mktemp("explained") / "run"))
    meritnas.explain(folder)
    return folder


@pytest.fixture
def copy(explained: Path, tmp_path: Path) -> Path:
    """The explained run, to be changed."""
    return unchecked_copy(explained, tmp_path / "copy")


def credit(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "credit.json").read_text())
    return found


def test_an_unexplained_run_says_which_command_to_run(run: Path) -> None:
    text = (run / "report.html").read_text()
    shown = unescape(section(text, "credit"))
    assert f"<code>meritnas explain '{run}'</code>" in shown
    assert "credit.json" not in shown
    assert not {"alternatives", "interactions", "modalities"} & set(Page(text).sections)


def test_an_unfinished_run_cannot_be_explained_yet(run: Path, tmp_path: Path) -> None:
    folder = unchecked_copy(run, tmp_path / "unfinished")
    (folder / "result.json").unlink()
    assert "credit" not in Page(report_page(folder)).sections


def test_data_in_memory_has_a_call_instead_of_a_command(run: Path, tmp_path: Path) -> None:
    folder = unchecked_copy(run, tmp_path / "memory")
    config = json.loads((folder / "config.json").read_text())
    config["data"]["location"] = None
    (folder / "config.json").write_text(json.dumps(config))
    assert code(report_page(folder), "credit") == f"meritnas.explain('{folder}', data=data)"


def test_explaining_renews_the_page(explained: Path) -> None:
    text = (explained / "report.html").read_text()
    assert {"credit", "alternatives", "interactions"} <= set(Page(text).sections)
    assert "This finds out" not in text


def test_parts_have_bars_and_numbers(explained: Path) -> None:
    found, shown = credit(explained), section(report_page(explained), "credit")
    assert shown.count('class="bar"') == len(found["rows"])
    for row in found["rows"]:
        interval = interval_text(row["low"], row["high"])
        assert f"<td>{signed_text(row['value'])}</td><td>{interval}</td>" in shown


def test_alternatives_say_what_they_would_cost(explained: Path) -> None:
    result = json.loads((explained / "result.json").read_text())
    shown = section(report_page(explained), "alternatives")
    space = meritnas.tabular_space(13, 3, widths=[[8, 16, 32]] * 3)
    rows = credit(explained)["alternatives"]
    assert len(rows) == 6
    for row in rows:
        flops = space.cost(row["architecture"], "flops")
        assert f"<td>{signed_text(row['loss_change'])}</td>" in shown
        assert f"{row['cost']:,} ({row['cost'] - result['params']:+,})" in shown
        assert f"{flops:,} ({flops - result['costs']['flops']:+,})" in shown


def test_pairs_are_a_matrix_and_a_list(explained: Path) -> None:
    shown = unescape(section(report_page(explained), "interactions"))
    pairs = credit(explained)["interactions"]
    assert len(pairs) == 3
    for pair in pairs:
        assert f"<title>{pair['first']} and {pair['second']}: {pair['value']:+.4g}<" in shown
        assert f"<td>{pair['first']}</td><td>{pair['second']}</td>" in shown
    assert "worth more together than apart" in shown


def test_of_many_parts_the_strongest_pairs_are_drawn(copy: Path) -> None:
    names = [f"edge{k}" for k in range(30)]
    pairs = [
        {"first": a, "second": b, "value": 0.9 if (a, b) == ("edge0", "edge29") else 0.001}
        for a, b in combinations(names, 2)
    ]
    row = {"option": "x", "value": 0.1, "low": 0.0, "high": 0.2, "cost": 1, "chosen": True}
    rows = [{"decision": name, **row} for name in names]
    (copy / "credit.json").write_text(json.dumps({"rows": rows, "interactions": pairs}))
    shown = unescape(section(report_page(copy), "interactions"))
    assert "24 of 30 parts" in shown
    assert "<title>edge0 and edge29: +0.9<" in shown
    assert shown.count("<title>edge") == 24 * 23


def test_without_shapiq_the_page_says_how_to_get_pairs(copy: Path) -> None:
    (copy / "credit.json").write_text(json.dumps({**credit(copy), "interactions": []}))
    shown = unescape(section(report_page(copy), "interactions"))
    assert f"pip install 'meritnas[explain]'\nmeritnas explain {copy}</code>" in shown


def test_a_network_without_parts_says_so(copy: Path) -> None:
    changed = {**credit(copy), "rows": [], "interactions": []}
    (copy / "credit.json").write_text(json.dumps(changed))
    text = report_page(copy)
    assert "Every part is the narrowest width already" in text
    assert "alternatives" in Page(text).sections
    assert "interactions" not in Page(text).sections


def test_layers_that_cannot_be_narrower_are_named(copy: Path) -> None:
    found = {**credit(copy), "narrowest": ["layer7", "layer9"]}
    (copy / "credit.json").write_text(json.dumps(found))
    says = "layer7, layer9 have that already, so there is nothing to take away"
    assert says in section(report_page(copy), "credit")
    assert says in str(parts_table(found).caption)
    assert "have that already" not in str(parts_table({**found, "narrowest": []}).caption)


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 100_000, "\x00"])
def test_a_file_that_cannot_be_read_is_said(copy: Path, content: str) -> None:
    (copy / "credit.json").write_text(content)
    text = report_page(copy)
    assert {"summary", "policy", "credit", "notes"} <= set(Page(text).sections)
    assert "credit.json" in section(text, "notes")
    assert "nothing that can be read" in section(text, "credit")
    assert f"meritnas explain {copy}" in section(text, "credit")


ROW, OTHER = ("rows", 0), ("alternatives", 0)
PAIR = ("interactions", 0)


@pytest.mark.parametrize(
    ("part", "place", "value"),
    [
        ("credit", ("rows",), 3),
        ("credit", ("rows",), [{}]),
        ("credit", ROW, "layer1"),
        ("credit", (*ROW, "value"), float("-inf")),
        ("credit", (*ROW, "high"), float("inf")),
        ("credit", (*ROW, "low"), "0.1"),
        ("alternatives", ("alternatives",), {"a": 1}),
        ("alternatives", OTHER, []),
        ("alternatives", (*OTHER, "cost"), None),
        ("interactions", ("interactions",), "none"),
        ("interactions", PAIR, {"first": "layer1", "second": "layer2"}),
        ("interactions", (*PAIR, "value"), float("inf")),
    ],
)
def test_damage_costs_its_own_part_only(
    copy: Path, part: str, place: tuple[Any, ...], value: object
) -> None:
    found = credit(copy)
    *way, last = place
    inner: Any = found
    for key in way:
        inner = inner[key]
    inner[last] = value
    # JSON has numbers that are too large, and none that are infinite.
    (copy / "credit.json").write_text(json.dumps(found).replace("Infinity", "1e999"))
    text = report_page(copy)
    assert part not in Page(text).sections
    assert f"the part '{part}' could not be made" in unescape(section(text, "notes"))
    kept = {"summary", "network", "policy", "credit", "alternatives"} - {part}
    assert kept <= set(Page(text).sections)


def test_an_alternative_that_means_nothing_here_has_no_further_costs(copy: Path) -> None:
    found = credit(copy)
    found["alternatives"][0]["architecture"] = "of a newer version"
    (copy / "credit.json").write_text(json.dumps(found))
    assert section(report_page(copy), "alternatives").count("<td>?</td>") == 1


def test_words_of_a_file_cannot_become_markup(copy: Path) -> None:
    found = credit(copy)
    first = found["rows"][0]["decision"]
    text = json.dumps(found).replace(f'"{first}"', '"<script>alert(1)</script>"')
    (copy / "credit.json").write_text(text)
    page = report_page(copy)
    Page(page)
    assert "<script" not in page
    assert "&lt;script&gt;" in section(page, "interactions")


def printed(table: Table) -> str:
    file = io.StringIO()
    Console(file=file, width=80).print(table)
    return file.getvalue()


def test_names_are_folded_and_limits_are_named_where_there_are_any() -> None:
    part, option = "cell3.edge from node 1 to node 4", "sparse_concatenation_of_both_inputs"
    other = {
        **{"decision": part, "option": option, "instead_of": "dilated_separable_convolution_5x5"},
        **{"loss_change": 0.25, "cost": 1234567, "fits": True, "architecture": ""},
    }
    for limits in ({}, {"params": 2_000_000}):
        shown = printed(alternatives_table({"alternatives": [other]}, limits))
        assert ("keeps" in shown) == ("yes" in shown) == bool(limits)
        assert "…" not in shown
    row = {"decision": part, "option": option, "value": 0.25, "low": -0.5, "high": 0.5}
    told = {"rows": [row], "metric": "accuracy", "score": 0.5, "absent": "nothing"}
    assert "…" not in printed(parts_table(told))
    pair = {"first": 2 * f"{part}: {option} ", "second": 2 * option, "value": 0.5}
    assert "…" not in printed(interactions_table({"interactions": [pair]}))
