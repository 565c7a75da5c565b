from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest
from page_helpers import Page, elsewhere

import meritnas
from meritnas.errors import StoreError, UsageError
from meritnas.report.page.page import report_page
from unchecked import unchecked_copy


@pytest.fixture(scope="module")
def explained(table: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(shutil.copytree(table, tmp_path_factory.mktemp("explained") / "run"))
    meritnas.explain(folder)
    return folder


def pictures(html: str) -> list[ElementTree.Element]:
    """The images in HTML, all of which are SVG that can be read."""
    assert "<script" not in html
    assert "<style" not in html  # which would be about the whole notebook
    assert elsewhere(html) == []
    found = re.findall(r'src="data:image/svg\+xml;base64,([^"]*)"', html)
    assert len(found) == html.count("<img")
    return [ElementTree.fromstring(base64.b64decode(one)) for one in found]


@pytest.mark.parametrize("name", ["explained", "cells"])
def test_every_figure_of_a_report_can_be_asked_for(
    name: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    run = request.getfixturevalue(name)
    view = meritnas.open_run(run)
    charts = re.findall(r'<svg [^>]*role="\w+"', report_page(run))
    assert len(view.figures) == len(charts)
    for key, caption in view.figures.items():
        figure = view.figure(key)
        assert (figure.name, figure.caption) == (key, caption)
        assert len(pictures(figure._repr_html_())) == 1
        path = figure.save(tmp_path / f"{key}.svg")
        assert path.read_text() == figure.svg
        figure.save(path)  # again


def test_figures_have_the_names_of_parts_and_flags(explained: Path) -> None:
    found = meritnas.open_run(explained).figures
    assert found["pareto"] == "test accuracy against parameters"
    assert {"network", "credit", "policy-1", "learning-1"} <= set(found)
    with pytest.raises(UsageError, match=r"no figure 'parato'; did you mean 'pareto'\?"):
        meritnas.open_run(explained).figure("parato")


def test_a_figure_is_saved_as_what_it_is(explained: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"saved as SVG, got the name .*\.png"):
        meritnas.open_run(explained).figure("pareto").save(tmp_path / "pareto.png")


def test_a_run_that_goes_on_has_figures(table: Path, tmp_path: Path) -> None:
    run = unchecked_copy(table, tmp_path / "run")
    for name in ("result", "retrain", "architecture"):
        (run / f"{name}.json").unlink()
    view = meritnas.open_run(str(run))
    assert view.summary == {}
    assert "network" in view.figures
    assert "not finished" in view._repr_html_()
    with pytest.raises(StoreError, match="is not a run of MeritNAS"):
        meritnas.open_run(tmp_path)


def test_a_notebook_shows_numbers_and_drawings(explained: Path) -> None:
    html = meritnas.open_run(explained)._repr_html_()
    assert len(pictures(html)) == 2  # the network and the trade-off
    assert "test accuracy" in html
    Page(html.replace("<br>", ""))


def test_results_and_their_networks_are_drawn(explained: Path) -> None:
    result = meritnas.resume(explained)
    assert result._repr_html_() == meritnas.open_run(explained)._repr_html_()
    assert result.figures == meritnas.open_run(explained).figures
    assert len(pictures(result.architecture._repr_html_())) == 1
    assert result.architecture == result.space.parse(result.architecture.text)
    alone = result.space.parse(result.architecture.text)
    assert alone._repr_html_() == f"<code>{alone.text}</code>"


def test_explanations_are_drawn(explained: Path) -> None:
    found = meritnas.explain(explained)
    html = found._repr_html_()
    assert "What else was close" in html
    assert pictures(html)
    assert len(pictures(meritnas.explain_features(explained)._repr_html_())) == 1


def test_modalities_are_drawn(fusion: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(fusion, tmp_path / "run"))
    found = meritnas.explain_modalities(run, noise="gaussian")
    assert len(pictures(found._repr_html_())) > 1


def test_words_of_data_are_words(table: Path, tmp_path: Path) -> None:
    run = unchecked_copy(table, tmp_path / "run")
    text = (run / "config.json").read_text().replace('"name": "wine"', '"name": "<script>x"')
    (run / "config.json").write_text(text)
    html = meritnas.open_run(run)._repr_html_()
    pictures(html)
    assert "&lt;script&gt;x" in html
