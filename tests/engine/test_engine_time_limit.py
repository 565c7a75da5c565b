from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.engine import time_limit
from meritnas.engine.start import make_search
from meritnas.engine.time_limit import steps_within
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare.family import make_family
from meritnas.prepare.ground import make_ground
from meritnas.settings.settings import SearchSettings
from meritnas.strategy.manas import ManasLs
from meritnas.strategy.tabnas import Tabnas


def test_time_for_estimates_is_that_of_the_search_and_not_of_a_short_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A trial of 32 steps has one estimate, a search of some hundred many."""
    seconds = {"warmup": 0.1, "joint": 0.1, "frozen": 0.4}
    monkeypatch.setattr(time_limit, "_time_phases", lambda *_: seconds)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] > 0, "u", "v")
    bundle = make_bundle(load_source(frame, "y"), 0)
    settings = SearchSettings(Tabular(layers=2, widths=(2, 4)), ManasLs(), TableReading())
    ground = make_ground(make_family(settings, bundle.encoder, bundle.task), {})
    steps, candidates = steps_within(100.0, settings, ground, bundle)
    assert candidates == settings.candidates
    plan = make_search(settings, ground, bundle, None, steps).plan
    assert plan.rounds > 3
    assert 80.0 < 0.1 * plan.weight_steps + 0.4 * plan.frozen <= 90.0


def test_fewer_candidates_are_judged_where_that_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = {"warmup": 0.1, "joint": 0.1, "frozen": 0.4}
    monkeypatch.setattr(time_limit, "_time_phases", lambda *_: seconds)
    monkeypatch.setattr(time_limit, "_time_judging", lambda *_: 2.5)
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", "b", "c"])
    frame["y"] = np.where(frame["a"] > 0, "u", "v")
    bundle = make_bundle(load_source(frame, "y"), 0)
    settings = SearchSettings(Tabular(layers=2, widths=(2, 4)), Tabnas(), TableReading())
    ground = make_ground(make_family(settings, bundle.encoder, bundle.task), {})
    steps, candidates = steps_within(100.0, settings, ground, bundle)
    assert candidates == 10  # a quarter of the time
    assert 80.0 < 0.1 * steps + 2.5 * candidates <= 90.0
    assert steps_within(0.1, settings, ground, bundle)[1] == 1
