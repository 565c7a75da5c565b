"""Figure files of comparisons and of modalities; of trade-off curves: test_report_pareto.py."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest
from figure_helpers import SVG, Drawn
from test_report_modalities import FOUND
from test_report_pareto import ROWS

import meritnas
from browser import DRIVER, PROGRAM, browsing
from meritnas.report.charts.comparison_figure import comparison_file
from meritnas.report.charts.figure_file import figure_file
from meritnas.report.charts.modality_figure import modality_file
from meritnas.report.charts.pareto_figure import pareto_file

SCORES = {"tabnas": [0.96, 1.0], "random": [0.9, 0.92], "worse:Strategy": [0.5, 0.6]}
COMPARED: dict[str, Any] = {
    "metric": "accuracy",
    "runs": [
        {"strategy": name, "seed": seed, "score": score}
        for name, scores in SCORES.items()
        for seed, score in enumerate(scores)
    ],
    "table": [
        {
            **{"strategy": name, "score": sum(scores) / 2, "spread": spread, "rank": rank},
            **{"p": p, "passes": passes, "seconds": seconds},
        }
        for (name, scores), spread, rank, p, passes, seconds in zip(
            SCORES.items(),
            (0.03, 0.014, 0.0),
            (1.0, 2.0, 3.0),
            (None, 0.3, 0.01),
            (1200, 600, 300),
            (20.0, 10.0, 5.0),
            strict=True,
        )
    ],
}


def test_every_run_of_a_comparison_is_at_its_score() -> None:
    picture = Drawn(comparison_file(COMPARED))
    assert picture.texts[0] == "Strategies compared (* worse than the best, p < 0.05)"
    assert {"tabnas", "random", "worse:Strategy *", "mean rank 3.0"} <= set(picture.texts)
    assert {"test accuracy", "seconds for search and training"} <= set(picture.texts)
    dots = picture.points
    scores = [run["score"] for run in COMPARED["runs"]]
    assert len(dots) == len(scores)
    right = (dots[1].x - dots[4].x) / (1.0 - 0.5)
    for dot, score in zip(dots, scores, strict=True):
        assert dot.x - dots[4].x == pytest.approx(right * (score - 0.5), abs=0.2)
    assert len({dot.y for dot in dots}) == 3
    assert ["f1" in dot.kind.split() for dot in dots] == [False] * 4 + [True] * 2
    # Spreads end at 1; a strategy without any has no line.
    spreads = [
        each for each in picture.root.iter(f"{SVG}line") if each.attrib["class"] == "whisker"
    ]
    ends = [(float(each.attrib["x1"]), float(each.attrib["x2"])) for each in spreads]
    assert ends[0] == pytest.approx((dots[1].x - right * 0.05, dots[1].x), abs=0.3)
    assert len(ends) == 2


def test_what_a_comparison_cost_is_as_long_as_its_seconds() -> None:
    picture = Drawn(comparison_file(COMPARED))
    bars = picture.titles("rect")
    assert list(bars) == [
        "tabnas: 20.0 seconds, 1,200 passes",
        "random: 10.0 seconds, 600 passes",
        "worse:Strategy: 5.0 seconds, 300 passes",
    ]
    wide = [float(bar.attrib["width"]) for bar in bars.values()]
    assert wide == pytest.approx([wide[0], wide[0] / 2, wide[0] / 4], abs=0.2)
    assert {"1,200 passes", "600 passes", "300 passes"} <= set(picture.texts)


def test_means_are_diamonds_that_say_their_spread() -> None:
    picture = Drawn(comparison_file(COMPARED))
    assert list(picture.titles("path")) == [
        "tabnas: 0.980 ± 0.030, mean of 2",
        "random: 0.910 ± 0.014, mean of 2",
        "worse:Strategy: 0.550, mean of 2",
    ]


def test_without_anybody_worse_there_is_no_star() -> None:
    table = [{**row, "p": None} for row in COMPARED["table"]]
    picture = Drawn(comparison_file({**COMPARED, "table": table}))
    assert not any("*" in text for text in picture.texts)
    assert not any("f1" in dot.kind.split() for dot in picture.points)


def test_scores_that_are_all_the_same_are_drawn() -> None:
    runs = [{**run, "score": 0.0} for run in COMPARED["runs"]]
    table = [{**row, "score": 0.0, "spread": 0.0, "seconds": 0.0} for row in COMPARED["table"]]
    picture = Drawn(comparison_file({**COMPARED, "runs": runs, "table": table}))
    assert len({dot.x for dot in picture.points}) == 1


def test_modalities_are_bars_with_intervals_and_lines_over_levels() -> None:
    picture = Drawn(modality_file(FOUND["modalities"], FOUND["disturbed"], FOUND["metric"]))
    worth, gaussian, missing = picture.charts
    assert "sound: +0.25 (+0.125 to +0.5)" in picture.titles("rect")
    whiskers = [each for each in worth.iter(f"{SVG}line") if each.attrib["class"] == "whisker"]
    bar = picture.titles("rect")["sound: +0.25 (+0.125 to +0.5)"]
    zero, wide = float(bar.attrib["x"]), float(bar.attrib["width"])
    assert float(whiskers[0].attrib["x1"]) == pytest.approx(zero + wide / 2, abs=0.2)
    assert float(whiskers[0].attrib["x2"]) == pytest.approx(zero + 2 * wide, abs=0.2)
    start, middle, together = picture.points_of(gaussian)
    assert start.x < middle.x == together.x
    assert middle.y - start.y == pytest.approx(together.y - middle.y, abs=0.2)  # 0.75, 0.5, 0.25
    assert [start.hollow, together.hollow] == [False, True]
    assert len(picture.points_of(missing)) == 1
    assert {"sound", "noise", "weighted F1, gaussian", "weighted F1, missing"} <= set(picture.texts)
    assert {"Shapley value (weighted F1)", "level", "chance that it is missing"} <= set(
        picture.texts
    )
    assert picture.texts.count("test weighted F1") == 2
    assert picture.texts.count("all") == 1  # in the legend


def test_figures_beside_and_below_each_other_do_not_meet() -> None:
    picture = Drawn(modality_file(FOUND["modalities"], FOUND["disturbed"], FOUND["metric"]))
    boxes = []
    for each in picture.root.findall(f"{SVG}svg"):
        x, y, wide, tall = (float(each.attrib[name]) for name in ("x", "y", "width", "height"))
        assert each[0].attrib["viewBox"] == f"0 0 {wide:g} {tall:g}"
        boxes.append((x, y, x + wide, y + tall))
    assert len(boxes) == 3
    for number, (x, y, right, bottom) in enumerate(boxes):
        assert x >= 0 <= y
        assert right <= picture.size[0]
        assert bottom <= picture.size[1]
        for other in boxes[:number]:
            assert x >= other[2] or y >= other[3]


def test_without_noise_modalities_are_one_chart() -> None:
    picture = Drawn(modality_file(FOUND["modalities"], [], "accuracy"))
    assert len(picture.charts) == 1
    assert "Shapley value (accuracy)" in picture.texts


def test_names_may_be_anything() -> None:
    name = "<b> & \x00\x1b \ud800 'x' \"y\""
    picture = Drawn(modality_file([{**FOUND["modalities"][0], "modality": name}], [], "accuracy"))
    assert "<b> & \ufffd\ufffd \ufffd 'x' \"y\"" in picture.texts


def test_colours_are_those_of_the_page() -> None:
    style = Drawn(figure_file("nothing", [])).style
    light, dark = style.split("@media (prefers-color-scheme: dark)")
    assert ".paper { fill: #ffffff; }" in light
    assert ".f0 { fill: #1f6fb4; }" in light
    assert ".paper { fill: #1c2024; }" in dark
    assert ".f0 { fill: #68aeea; }" in dark


def imports(path: Path) -> set[str]:
    """The packages that a module imports anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.add(str(node.module).split(".")[0])
    return found


def test_nothing_needs_matplotlib() -> None:
    modules = list(Path(meritnas.__file__).parent.rglob("*.py"))
    assert len(modules) > 100
    assert [str(path) for path in modules if "matplotlib" in imports(path)] == []


@pytest.mark.skipif(PROGRAM is None or DRIVER is None, reason="no chromium and chromium-driver")
def test_a_browser_shows_files_by_themselves(tmp_path: Path) -> None:
    files = {
        "pareto": pareto_file(ROWS),
        "comparison": comparison_file(COMPARED),
        "modalities": modality_file(FOUND["modalities"], FOUND["disturbed"], FOUND["metric"]),
    }
    script = """
    const frame = document.documentElement.getBoundingClientRect();
    const texts = [...document.querySelectorAll("text")].map((each) => {
      const box = each.getBoundingClientRect();
      return [each.textContent, box.left - frame.left, box.top - frame.top,
              box.right - frame.left, box.bottom - frame.top];
    });
    return {size: [frame.width, frame.height], texts: texts,
            ink: getComputedStyle(document.querySelector("text.heading")).fill,
            back: getComputedStyle(document.querySelector(".paper")).fill};
    """
    with browsing(tmp_path / "profile") as browser:
        for name, content in files.items():
            (tmp_path / f"{name}.svg").write_text(content, encoding="utf-8")
            for dark in (False, True):
                browser.looks(1000, dark=dark)
                browser.driver.get(f"file://{tmp_path}/{name}.svg")
                seen = browser.asked(script)
                assert browser.complaints() == []
                assert (seen["back"] == "rgb(255, 255, 255)") is not dark
                assert (seen["ink"] == "rgb(29, 33, 38)") is not dark
                boxes = [each[1:] for each in seen["texts"]]
                width, height = seen["size"]
                for text, left, top, right, bottom in seen["texts"]:
                    assert left >= 0 <= top, text
                    assert right <= width, text
                    assert bottom <= height, text
                    assert bottom - top >= 10, text
                for number, one in enumerate(boxes):
                    for other in boxes[:number]:
                        apart = one[0] >= other[2] - 1 or other[0] >= one[2] - 1
                        above = one[1] >= other[3] - 5 or other[1] >= one[3] - 5
                        assert apart or above, (seen["texts"][number], other)
