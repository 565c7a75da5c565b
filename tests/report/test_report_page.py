from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from page_helpers import Page, code, elsewhere, run, section

import meritnas
from meritnas.cli.main import main
from meritnas.errors import StoreError
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.config import settings_of
from meritnas.report.page.page import report_at_end, report_page, write_report
from meritnas.report.run_files import read_run
from meritnas.settings.settings import SearchSettings
from meritnas.settings.training import Retraining
from unchecked import unchecked, unchecked_copy


@pytest.fixture
def copy(table: Path, tmp_path: Path) -> Path:
    """The run on a table, to be changed."""
    return unchecked_copy(table, tmp_path / "copy")


def test_a_search_leaves_a_page_behind(table: Path) -> None:
    page = Page((table / "report.html").read_text())
    assert page.sections == [
        *("summary", "limits", "yardstick"),
        *("confusion", "classes", "worst", "features"),
        "network",
        *("finalists", "tradeoff", "learning", "policy", "entropy", "feasible"),
        *("candidates", "cost", "credit", "notes", "repeat"),
    ]
    assert page.titles >= page.charts > len(page.sections) // 2


@pytest.mark.parametrize("name", ["table", "cells", "fusion"])
def test_a_page_is_well_formed_and_needs_nothing_else(
    name: str, request: pytest.FixtureRequest
) -> None:
    text = report_page(request.getfixturevalue(name))
    page = Page(text)
    assert elsewhere(text) == []
    others = {link for link in page.links if not link.startswith("#")}
    assert {link.partition(",")[0] for link in others} <= {"data:", "data:image/png;base64"}
    assert {link[1:] for link in page.links if link.startswith("#")} == set(page.sections)
    assert "<script" not in text
    assert "could not be made" not in text


@pytest.mark.parametrize("name", ["table", "cells", "fusion"])
def test_every_decision_has_its_chart(name: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(name)
    page = Page(report_page(folder))
    result = json.loads((folder / "result.json").read_text())
    options = json.loads((folder / "plan.json").read_text())["options"]
    if name == "table":
        chosen = [f"layer{n}: {w}" for n, w in enumerate(result["architecture"].split("-"), 1)]
    else:
        prefix = ("edge",) if name == "cells" else ("cell", "head", "joined")
        chosen = [
            caption for caption in page.captions if caption.startswith(prefix) and ": " in caption
        ]
        chosen = [caption for caption in chosen if not caption.startswith("cell;")]
    assert len(chosen) == len(options)
    assert set(chosen) <= set(page.captions)
    for caption, names in zip(chosen, options, strict=True):
        assert caption.split(": ")[1] in names


def test_the_numbers_of_the_result_are_on_the_page(table: Path) -> None:
    text = report_page(table)
    found = json.loads((table / "architecture.json").read_text())
    phases = found["phase_seconds"]
    assert sum(phases.values()) == pytest.approx(found["seconds"])
    plan = json.loads((table / "plan.json").read_text())["search"]
    assert f"<td>{1000 * phases['warmup'] / plan['warmup']:.1f}</td></tr>" in text
    result = json.loads((table / "result.json").read_text())
    assert f"{result['params']:,} of 900" in text
    assert f"{result['costs']['flops']:,} of 800" in text
    trainings = json.loads((table / "retrain.json").read_text())["results"]
    assert text.count("<tr") >= len(trainings) + len(result["pareto"]) + 2
    assert ">13</text>" in text  # the columns of wine, into the first layer


def test_what_modalities_and_options_are_worth_is_shown(fusion: Path, copy: Path) -> None:
    assert "What each modality is worth" in Page(report_page(fusion)).captions
    row = {"decision": "layer1", "option": "16", "value": 0.25, "low": 0.125, "high": 0.5}
    rows = [{**row, "chosen": True, "cost": 7}, {**row, "option": "8", "chosen": False, "cost": 3}]
    (copy / "credit.json").write_text(json.dumps({"metric": "accuracy", "rows": rows}))
    text = report_page(copy)
    assert "16: +0.25 (+0.125 to +0.5)" in text
    assert "Shapley value (accuracy)" in text
    assert text.count('class="bar strong"') == 1 + 2  # the chosen option, and two limits


def test_an_explained_network_shows_its_parts_and_what_else_was_close(copy: Path) -> None:
    found = meritnas.explain(copy).to_json()
    text = report_page(copy)
    columns = json.loads((copy / "features.json").read_text())["features"]
    assert len(columns) == 13
    assert text.count('class="bar"') == len(found["rows"]) + len(columns) > len(columns)
    for row in found["rows"]:
        assert f"{row['decision']}: {row['option']}</text>" in text
    other = found["alternatives"][0]
    assert f"<td>{other['instead_of']}</td><td>{other['option']}</td>" in text
    assert "could not be made" not in text
    credit = json.loads((unchecked(copy) / "credit.json").read_text())
    (copy / "credit.json").write_text(json.dumps({**credit, "architecture": "8-8-8-8"}))
    assert "not about this network" in report_page(copy)  # another one was trained since


def without(folder: Path, names: Sequence[str]) -> None:
    for name in names:
        (folder / name).unlink()


@pytest.mark.parametrize(
    ("names", "sections"),
    [
        (["result.json"], {"policy", "learning", "finalists", "limits", "network"}),
        (["result.json", "retrain.json"], {"policy", "learning", "limits", "network"}),
        (["result.json", "retrain.json", "architecture.json"], {"policy", "learning", "network"}),
        (
            ["result.json", "retrain.json", "architecture.json", "events.jsonl", "plan.json"],
            {"summary", "repeat"},
        ),
    ],
)
def test_an_unfinished_run_shows_what_there_is(
    copy: Path, names: list[str], sections: set[str]
) -> None:
    without(copy, names)
    text = report_page(copy)
    assert "not finished" in text
    assert sections <= set(Page(text).sections)
    assert "could not be made" not in text


def test_what_leads_so_far_is_held_against_the_limits(copy: Path) -> None:
    without(copy, ["result.json", "retrain.json", "architecture.json"])
    log = (copy / "events.jsonl").read_text().splitlines()
    last = json.loads(log[-1])
    assert set(last["leader_costs"]) == {"params", "flops"}
    last["leader_costs"] = {"params": [450, 900], "flops": [80, 800]}
    (copy / "events.jsonl").write_text("\n".join([*log[:-1], json.dumps(last)]))
    shown = section(report_page(copy), "limits")
    assert "leads so far" in shown
    assert "450 of 900 (50 %)" in shown
    assert "80 of 800 (10 %)" in shown


def test_a_trade_off_says_what_decides_and_how_much_scores_vary(copy: Path) -> None:
    result = json.loads((copy / "result.json").read_text())
    row = {**result["pareto"][0], "valid_loss": 0.5, "folder": "", "limit": None}
    scores = [(100, 0.9, True), (200, 0.98, True), (200, 0.98, False)]
    rows = [
        {**row, "params": params, "best": best, "test": {"accuracy": mean}}
        for params, mean, best in scores
    ]
    rows = [{**each, "test_spread": {"accuracy": 0.05}} for each in rows]
    (copy / "result.json").write_text(json.dumps({**result, "pareto": rows}))
    shown = section(report_page(copy), "tradeoff")
    assert "validation loss decides" in shown
    assert "shown is the test accuracy" in shown
    assert shown.count("<td>0.980 ± 0.050</td>") == 2
    assert "<td>one no larger is as good</td>" in shown
    assert "smaller" not in shown
    places = r'class="line l0[^"]*" x1="(.*?)" y1="(.*?)" x2="(.*?)" y2="(.*?)"'
    bars = re.findall(places, shown)
    lengths = [float(y1) - float(y2) for x1, y1, x2, y2 in bars if x1 == x2]
    assert lengths[1] / lengths[0] == pytest.approx(0.7, abs=0.01)  # 0.93 to 1, not to 1.03
    legend = shown.split('class="legend"')[1]
    assert legend.count("<line") == 1
    assert legend.count('<circle class="f0') == legend.count('<circle class="hollow') == 1


def test_damaged_lines_are_counted_and_left_out(copy: Path) -> None:
    log = copy / "events.jsonl"
    lines = log.read_text().splitlines()
    damaged = [lines[0][:40], "[1]", '{"kind": "search", "step": "x"}']
    log.write_text("\n".join([*damaged, *lines[1:]]))
    assert len(read_run(copy).events) == len(lines) - 1
    text = report_page(copy)
    assert "3 lines of events.jsonl could not be read" in text
    assert "policy" in Page(text).sections


@pytest.mark.parametrize("content", ["{", "[]", '{"results": [{}]}', '{"results": 3}'])
def test_a_damaged_file_costs_its_own_part_only(copy: Path, content: str) -> None:
    (copy / "retrain.json").write_text(content)
    page = report_page(copy)
    assert "finalists" not in Page(page).sections
    assert {"summary", "policy", "notes"} <= set(Page(page).sections)
    assert "left out" in page


@pytest.mark.parametrize("part", ["version", "meritnas"])
def test_a_run_of_a_newer_version_is_tried_and_said(copy: Path, part: str) -> None:
    path = copy / "config.json"
    config = json.loads(path.read_text())
    assert "is newer than" not in report_page(copy)
    if part == "version":
        config["version"] = 7
    else:
        config["versions"]["meritnas"] = "99.0.0"
    config["settings"]["unheard_of"] = 1
    path.write_text(json.dumps(config))
    text = report_page(copy)
    assert "which is newer than" in text
    assert {"network", "policy", "repeat"} <= set(Page(text).sections)


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    for content in (None, "{", '{"format": "another"}'):
        if content is not None:
            (tmp_path / "config.json").write_text(content)
        with pytest.raises(StoreError, match="is not a run"):
            report_page(tmp_path)


def test_words_of_a_user_cannot_become_markup(copy: Path) -> None:
    path = copy / "config.json"
    config = json.loads(path.read_text())
    config["data"]["name"] = config["data"]["location"] = "<script>alert(1)</script>"
    path.write_text(json.dumps(config))
    plan = json.loads((copy / "plan.json").read_text())
    plan["options"][0][0] = "<b>"
    (copy / "plan.json").write_text(json.dumps(plan))
    text = report_page(copy)
    Page(text)
    assert "<script" not in text
    assert "<b>" not in text


def repeat_words(text: str) -> list[str]:
    """The command on a page, as a shell reads it."""
    return shlex.split(code(text, "repeat"))


@pytest.mark.parametrize(
    ("name", "space", "strategy"),
    [
        ("table", "tabular", "tabnas"),
        ("cells", "nasbench201", "manas-ls"),
        ("fusion", "fusion", "sm-shapley"),
    ],
)
def test_a_page_names_space_and_strategy(
    name: str, space: str, strategy: str, request: pytest.FixtureRequest
) -> None:
    shown = section(report_page(request.getfixturevalue(name)), "summary")
    assert f"<dt>space</dt><dd>{space}</dd>" in shown.replace("\n", "").replace("  ", "")
    assert f"<dt>strategy</dt><dd>{strategy}</dd>" in shown.replace("\n", "").replace("  ", "")


@pytest.mark.parametrize("name", ["table", "cells", "fusion"])
def test_the_command_repeats_the_run(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(name)
    text = report_page(folder)
    words = repeat_words(text)
    assert words[:2] == ["meritnas", "search"]
    made: list[SearchSettings] = []

    def begin(job: meritnas.run.job.Job, *others: object) -> None:
        del others
        made.append(job.settings)
        raise StoreError("begun")

    monkeypatch.setattr("meritnas.run.stages.start", begin)
    monkeypatch.setattr("meritnas.api.new_store", lambda *_: nullcontext())
    with pytest.raises(SystemExit):
        main([*words[1:], "--quiet"])
    config = json.loads((folder / "config.json").read_text())
    assert made == [settings_of(config)]


def test_a_network_that_was_given_is_trained_again(tmp_path: Path) -> None:
    own = ["--architecture", "8-16", "--epochs", "2", "--seeds", "1", "--quiet"]
    own += ["--embedding", "3", "--learning-rate", "0.02"]
    run("retrain", "wine", *own, "--out", tmp_path / "one")
    text = (tmp_path / "one" / "report.html").read_text()
    assert not {"policy", "credit"} & set(Page(text).sections)
    words = repeat_words(text)
    assert words[words.index("--embedding") + 1] == "3"
    run(*words[1:], "--quiet", "--out", tmp_path / "two")
    found = [json.loads((tmp_path / n / "result.json").read_text()) for n in ("one", "two")]
    assert found[0]["test"] == found[1]["test"]


def test_data_in_memory_cannot_be_named_in_a_command(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "y": np.arange(60) % 2})
    result = meritnas.search(
        frame,
        "y",
        space=Tabular(widths=(4, 8)),
        epochs=2,
        retraining=Retraining(epochs=1, seeds=1),
        out=tmp_path / "run",
    )
    assert result.report == tmp_path / "run" / "report.html"
    assert "data in memory" in result.report.read_text()
    result.report.unlink()
    assert result.report.is_file()


def test_a_failing_report_is_a_note_on_a_finished_run(
    copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(folder: Path) -> str:
        raise RuntimeError(f"nothing goes with {folder.name}")

    monkeypatch.setattr("meritnas.report.page.page.report_page", fail)
    report_at_end(copy)
    assert "note: no report was written: RuntimeError('nothing goes" in capsys.readouterr().err


def test_nothing_half_written_stays(copy: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot write"):
        write_report(copy, tmp_path / "nowhere" / "page.html")
    assert write_report(copy) == copy / "report.html"
    assert not list(copy.glob(".partial*"))


def test_the_page_says_what_each_witness_said(copy: Path) -> None:
    path = copy / "architecture.json"
    kept = json.loads(path.read_text())
    first, second = kept["candidates"][:2]
    rows = section(report_page(copy), "candidates").split("<tr")[2:]
    assert len(rows) == min(10, len(kept["candidates"]))
    assert f"{first['said']['size']:,.0f}" in rows[0]
    assert f"{first['votes']:g}" in rows[0]
    assert f"{-first['said']['one-shot']:.2g}" in rows[0]
    assert first["architecture"] in rows[0]
    second["said"]["one-shot"] = None
    path.write_text(json.dumps(kept))
    assert ">?<" in section(report_page(copy), "candidates").split("<tr")[3]
    path.write_text(json.dumps({**kept, "candidates": []}))  # of an earlier version
    assert "candidates" not in Page(report_page(copy)).sections


def test_a_race_with_short_rounds_shows_who_got_how_far(copy: Path) -> None:
    assert "race" not in Page(report_page(copy)).sections
    path = copy / "retrain.json"
    kept = json.loads(path.read_text())
    won = json.loads((copy / "result.json").read_text())["architecture"]
    some = next(one for one in kept["results"] if one["architecture"] == won)
    others = [
        {**some, "architecture": "8-8-8", "epochs": 1, "valid_loss": 0.25},
        {**some, "architecture": "16-8-8", "epochs": 1, "valid_loss": None},
        {**some, "epochs": 1, "valid_loss": 0.125},
    ]
    path.write_text(json.dumps({**kept, "results": [*others, {**some, "epochs": 2}]}))
    text = report_page(copy)
    assert "could not be made" not in text
    rows = section(text, "race").split("<tr")[2:]
    assert [each in row for each, row in zip((won, "8-8-8", "16-8-8"), rows, strict=True)]
    assert "0.125" in rows[0]
    assert "after" not in rows[0]
    assert "after 1 epochs" in rows[1]
    assert "diverged" in rows[2]


def test_a_training_that_diverged_is_on_the_page(copy: Path) -> None:
    path = copy / "retrain.json"
    kept = json.loads(path.read_text())
    nothing = {"valid_loss": None, "best_epoch": None, "test": {}}
    lost = {**kept["results"][0], **nothing, "train_losses": [], "valid_losses": [], "seed": 99}
    kept["results"].insert(0, {**lost, "architecture": "8-8-8"})
    path.write_text(json.dumps(kept))
    text = report_page(copy)
    assert "could not be made" not in text
    rows = section(text, "finalists").split("<tr")
    assert ["diverged" in row for row in rows if ">99<" in row] == [True]
    assert "Training 8-8-8" not in section(text, "learning")
    assert "test accuracy" in section(text, "finalists")
    (copy / "result.json").unlink()
    path.write_text(json.dumps({**kept, "results": [lost]}))
    assert "1, all diverged" in section(report_page(copy), "summary")
