"""Plain networks in reports."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from page_helpers import SHORT, run, section

from meritnas.report.page.page import report_page
from meritnas.training import train
from unchecked import unchecked_copy


@pytest.fixture(scope="module")
def late(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on two modalities that late averaging won; not to be changed."""
    folder, loss_on = tmp_path_factory.mktemp("late"), train.loss_on
    rng = np.random.default_rng(0)
    views = {name: rng.normal(size=(60, 4)).astype(np.float32) for name in ("left", "right")}
    np.savez(folder / "views.npz", **views, label=np.arange(60) % 2)

    def rigged(module: Any, *given: Any) -> float:
        won = type(module).__name__ == "LateAveraging"
        return loss_on(module, *given) - (100.0 if won else 0.0)

    own = ["--target", "label", "--space", "fusion", "--channels", "4", "--length", "2"]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(train, "loss_on", rigged)
        run("search", folder / "views.npz", *own, *SHORT, "--quiet", "--out", folder / "run")
    return folder / "run"


def rows(page: str, name: str) -> list[str]:
    """The first cell of every row of a section's table, as text."""
    found = re.findall(r"<tr[^>]*>\s*<td[^>]*>(.*?)</td>", section(page, name), re.DOTALL)
    return [unescape(re.sub(r"<[^>]+>", "", cell)).strip() for cell in found]


@pytest.mark.parametrize("name", ["table", "late"])
def test_finalists_say_which_network_was_plain(name: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(name)
    plain = json.loads((folder / "result.json").read_text())["plain"]
    results = json.loads((folder / "retrain.json").read_text())["results"]
    found = rows(report_page(folder), "finalists")
    assert len(found) == len(results)
    assert {one["architecture"] for one in results} > set(plain["all"]) >= {plain["architecture"]}
    for one, text in zip(results, found, strict=True):
        assert text.endswith(" (plain)") == (one["architecture"] in plain["all"])


def test_of_a_run_that_names_only_the_best_one_that_one_is_marked(
    late: Path, tmp_path: Path
) -> None:
    folder = unchecked_copy(late, tmp_path / "copy")
    result = json.loads((folder / "result.json").read_text())
    best = result["plain"]["architecture"]
    del result["plain"]["all"]
    (folder / "result.json").write_text(json.dumps(result))
    marked = [text for text in rows(report_page(folder), "finalists") if "(plain)" in text]
    assert set(marked) == {f"{best} (plain)"}
    for damage in ("much", {"all": 3}, {"all": [3]}):
        (folder / "result.json").write_text(json.dumps({**result, "plain": damage}))
        assert "(plain)" not in report_page(folder)


def test_nobody_is_sent_to_explain_what_cannot_be_explained(late: Path) -> None:
    page = report_page(late)
    assert "raced beside what was found" in section(page, "credit")
    assert "<code" not in section(page, "credit")
    assert "--modalities" in section(page, "modalities")
    assert "hidden 2" in section(page, "network")
