from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from page_helpers import Page, code, run, section

import meritnas
from meritnas.errors import StoreError
from meritnas.report.page.page import report_page
from unchecked import unchecked_copy


@pytest.fixture
def copy(table: Path, tmp_path: Path) -> Path:
    """The run on a table, to be changed."""
    return unchecked_copy(table, tmp_path / "copy")


def test_the_confusion_is_that_of_the_network_that_is_kept(table: Path) -> None:
    found = json.loads((table / "failures.json").read_text())
    counts = np.array(found["classes"]["confusion"]["counts"])
    result = json.loads((table / "result.json").read_text())
    assert counts.sum() == found["rows"] == found["of"]
    assert np.trace(counts) / counts.sum() == pytest.approx(result["test_best"]["accuracy"])
    shown = section(report_page(table), "confusion")
    assert f"{counts[0, 0]:,} of {counts[0].sum():,}" in shown
    each = found["classes"]["each"][0]
    assert f"<td>{each['recall']:.3f}</td>" in section(report_page(table), "classes")


def test_how_it_fails_comes_before_how_it_was_found(fusion: Path) -> None:
    page = Page(report_page(fusion))
    order = [*("summary", "confusion", "thresholds", "worst", "modalities", "network"), "policy"]
    places = [page.sections.index(name) for name in order]
    assert places == sorted(places)
    assert "ROC curve of 1" in page.captions


def test_the_worst_rows_are_rows_of_the_data(numbers: Path) -> None:
    text = report_page(numbers)
    assert "could not be made" not in text
    found = json.loads((numbers / "failures.json").read_text())
    worst = found["worst"][0]
    assert worst["truth"] == pytest.approx(float(worst["cells"]["a"]) * 100 + 500, rel=1e-3)
    shown = section(text, "worst")
    assert f"<td>{worst['cells']['a']}</td>" in shown
    assert "<i>" not in text
    assert {"Predicted against true", "Residuals"} <= set(Page(text).captions)
    assert f"true {found['numbers']['points'][0][0]:.6g}, predicted" in section(text, "residuals")


def test_one_epoch_is_said_and_not_drawn(numbers: Path) -> None:
    shown = section(report_page(numbers), "learning")
    assert "There is one epoch only (1), which makes no curve" in shown
    trained = json.loads((numbers / "retrain.json").read_text())["results"][0]
    assert f"validation {trained['valid_losses'][0]:.4g}" in shown


def test_the_most_wrong_pictures_are_on_the_page(cells: Path) -> None:
    found = json.loads((cells / "failures.json").read_text())
    page = Page(report_page(cells))
    images = [link for link in page.links if link.startswith("data:image/png;base64,")]
    assert len(images) == len(found["worst"]) > 0


def test_words_have_a_section_of_their_own(words: Path) -> None:
    text = report_page(words)
    assert {"words", "dear"} <= set(Page(text).sections)
    assert "could not be made" not in text
    row = json.loads((words / "failures.json").read_text())["words"]["dearest"][0]
    assert f"<td>{row['count']:,}</td>" in section(text, "dear")


def test_an_earlier_run_says_how_to_find_out(copy: Path) -> None:
    kept = (copy / "failures.json").read_bytes()
    (copy / "failures.json").unlink()
    text = report_page(copy)
    assert code(text, "failures") == f"meritnas explain {copy} --failures"
    assert not {"confusion", "worst"} & set(Page(text).sections)
    run("explain", copy, "--failures", "--json")
    assert (copy / "failures.json").read_bytes() == kept
    assert "confusion" in Page((copy / "report.html").read_text()).sections


def test_what_is_about_another_network_is_not_shown(copy: Path) -> None:
    path = copy / "failures.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "weights": "0"}))
    text = report_page(copy)
    assert "failures.json is not about this network" in text
    assert "confusion" not in Page(text).sections


@pytest.mark.parametrize("content", ["{", "[]", '"worst": [{}]', '"classes": 3', '"numbers": []'])
def test_a_damaged_file_costs_its_own_part_only(copy: Path, content: str) -> None:
    path = copy / "failures.json"
    if content.startswith('"'):
        kept = json.loads(path.read_text())
        content = json.dumps({**kept, **json.loads("{" + content + "}")})
    path.write_text(content)
    assert {"summary", "network", "policy", "notes"} <= set(Page(report_page(copy)).sections)


def test_a_retrained_network_fails_in_its_own_way(table: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(table, tmp_path / "run"))
    before = json.loads((folder / "failures.json").read_text())["weights"]
    run("retrain", folder, "--epochs", "3", "--seeds", "1", "--quiet")
    assert json.loads((folder / "failures.json").read_text())["weights"] != before
    assert "confusion" in Page((folder / "report.html").read_text()).sections


def test_nothing_can_be_said_before_a_run_has_ended(copy: Path) -> None:
    (copy / "result.json").unlink()
    with pytest.raises(StoreError, match="has not ended yet"):
        meritnas.explain_failures(copy)
    with pytest.raises(AssertionError):  # it ends with another code than 0
        run("explain", copy, "--failures", "--features")


def test_networks_are_marked_so_that_they_are_not_broken(table: Path) -> None:
    text = report_page(table)
    network = json.loads((table / "result.json").read_text())["architecture"]
    assert re.search(rf'<span class="net"[^>]*>{network}</span>', text)
    assert f'Training <span class="whole">{network}</span>' in text
