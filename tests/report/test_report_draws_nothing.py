"""A page is made while a search runs: it must leave torch's random numbers to the search."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from page_helpers import SHORT, run

from meritnas.report.page.page import report_page

NOISY = """
import torch
from torch import nn


class Noisy(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(4, 3)

    def forward(self, values):
        return [self.map(values) + 0.1 * torch.randn(len(values), 3)]
"""


@pytest.fixture(scope="module")
def sized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose limit is on the size of a file, which has names of weights in it."""
    folder = tmp_path_factory.mktemp("sized") / "run"
    own = ["--max-size-kb", "4", "--widths", "8,16"]
    run("search", "wine", *own, *SHORT, "--quiet", "--out", folder)
    return folder


@pytest.fixture(scope="module")
def noisy(fusion: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A run with a backbone of one's own that draws numbers wherever it is used."""
    folder = tmp_path_factory.mktemp("noisy")
    (folder / "noisy_backbones.py").write_text(NOISY)
    own = ["--target", "label", "--space", "fusion", "--channels", "4", "--length", "2"]
    own += ["--backbone", "left=noisy_backbones:Noisy"]
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        run("search", fusion.parent / "views.npz", *own, *SHORT, "--quiet", "--out", folder / "run")
        yield folder / "run"


RUNS = ["table", "sized", "cells", "darts", "words", "fusion", "noisy"]


@pytest.mark.parametrize("name", RUNS)
def test_a_page_asks_for_no_random_numbers(
    name: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = request.getfixturevalue(name)
    asked: list[str] = []
    for place in ("fork_rng", "set_rng_state", "manual_seed"):
        monkeypatch.setattr(torch.random, place, lambda *_, p=place, **__: asked.append(p))
    before = torch.get_rng_state()
    page = report_page(folder)
    assert asked == []
    assert torch.equal(torch.get_rng_state(), before)
    assert 'id="network"' in page  # drawn, which takes the family


@pytest.mark.parametrize("name", RUNS)
def test_a_page_leaves_the_numbers_of_another_thread_alone(
    name: str, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(name)
    drawn: list[float] = []
    done = threading.Event()

    def draw() -> None:
        while not done.is_set():
            drawn.append(float(torch.rand(())))

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        thread = threading.Thread(target=draw)
        thread.start()
        try:
            for _ in range(3):
                report_page(folder)
        finally:
            done.set()
            thread.join(60)
        assert not thread.is_alive()
        torch.manual_seed(5)
        alone = [float(torch.rand(())) for _ in drawn]
    assert drawn == alone
    assert np.ptp(drawn) > 0
