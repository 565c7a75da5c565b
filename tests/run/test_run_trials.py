"""Short trainings of candidates between a search and its race."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import meritnas
from flat_search import search
from meritnas import Nasbench201, Retraining, UsageError, nasbench201_space
from meritnas.run import trials

QUICK: dict[str, Any] = {
    **{"layers": 2, "widths": (4, 8, 16), "epochs": 3, "batch_size": 16, "threads": 1},
    **{"retrain_epochs": 2, "retrain_seeds": 1, "scaling": "standard", "max_params": 300},
    **{"plain": False, "finalists": 1, "candidates": 5, "trials": 4},
}


def losses_of(patch: pytest.MonkeyPatch, of: Callable[[str], float | None]) -> None:
    """Short trainings come to what a function says."""
    patch.setattr(trials.Trial, "__call__", lambda one, *_: of(one.architecture))


def kept(run: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run / f"{name}.json").read_text())
    return found


def test_candidates_are_tried_and_all_are_judged_by_that(tmp_path: Path) -> None:
    told: list[dict[str, Any]] = []
    result = search("wine", out=tmp_path / "run", listen=told.append, **QUICK)
    losses = kept(result.run, "trials")["losses"]
    assert len(losses) == 4
    assert all(np.isfinite(loss) for loss in losses.values())
    found = kept(result.run, "architecture")
    assert all("trials" in each["said"] for each in found["candidates"])
    votes = [each["votes"] for each in found["candidates"]]
    assert len(votes) == 5
    assert votes == sorted(votes)
    assert found["ranked"] == [each["architecture"] for each in found["candidates"]]
    assert found["phase_seconds"]["trials"] <= found["seconds"]
    steps = [(each["step"], each["steps"]) for each in told if each["kind"] == "trial"]
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_several_at_a_time_come_to_the_same(tmp_path: Path) -> None:
    asked = {name: value for name, value in QUICK.items() if name != "threads"}
    alone = search("wine", out=tmp_path / "alone", threads=1, **asked)
    with ThreadPoolExecutor(2) as pool:
        two = search("wine", out=tmp_path / "two", threads=1, executor=pool, **asked)
    for name in ("trials", "architecture"):
        found = [kept(result.run, name) for result in (alone, two)]
        for each in found:
            for told in ("seconds", "phase_seconds"):
                each.pop(told, None)
        assert found[0] == found[1]
    weights = [(result.run / "model.safetensors").read_bytes() for result in (alone, two)]
    assert weights[0] == weights[1]
    assert [*kept(two.run, "trials")["losses"]] == [*kept(alone.run, "trials")["losses"]]


def test_without_them_nothing_is_tried(tmp_path: Path) -> None:
    result = search("wine", out=tmp_path / "run", **{**QUICK, "trials": 0})
    assert not (result.run / "trials.json").exists()
    found = kept(result.run, "architecture")
    assert "trials" not in found["candidates"][0]["said"]


def test_what_trains_well_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Votes of others are outnumbered where a trial's loss says the opposite of the size."""
    monkeypatch.setattr(trials, "WEIGHT", 100.0)
    small = {"4-4": 0.0, "4-8": 0.3, "8-4": 0.2, "8-8": 0.4}
    losses_of(monkeypatch, lambda text: small.get(text, 1.0))
    result = search("wine", out=tmp_path / "run", **{**QUICK, "candidates": 8, "trials": 8})
    losses = kept(result.run, "trials")["losses"]
    assert kept(result.run, "architecture")["ranked"][0] == min(losses, key=losses.__getitem__)


def test_an_interrupted_run_goes_on_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = search("wine", out=tmp_path / "whole", **QUICK)
    train, count = trials.Trial.__call__, [0]

    def interrupted(*given: Any) -> float | None:
        count[0] += 1
        if count[0] == 3:
            raise KeyboardInterrupt
        return train(*given)

    monkeypatch.setattr(trials.Trial, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        search("wine", out=tmp_path / "run", **QUICK)
    assert len(kept(tmp_path / "run", "trials")["losses"]) == 2
    count[0] = 10
    meritnas.resume(tmp_path / "run")
    assert count[0] == 12
    for name in ("candidates", "ranked", "chosen"):
        again = kept(tmp_path / "run", "architecture")[name]
        assert again == kept(whole.run, "architecture")[name]
    assert kept(tmp_path / "run", "trials")["losses"] == kept(whole.run, "trials")["losses"]


def test_a_training_that_diverges_is_kept_and_comes_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "WEIGHT", 100.0)
    losses_of(monkeypatch, lambda text: None if text.startswith("8") else 0.5)
    result = search("wine", out=tmp_path / "run", **{**QUICK, "candidates": 8, "trials": 8})
    losses = kept(result.run, "trials")["losses"]
    assert None in losses.values()
    ranked = kept(result.run, "architecture")["ranked"]
    assert [text.startswith("8") for text in ranked] == sorted(
        text.startswith("8") for text in ranked
    )


def test_in_limited_time_fewer_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "_ENDING_SHARE", 0.0)
    options = {name: value for name, value in QUICK.items() if name != "epochs"}
    result = search("wine", out=tmp_path / "run", minutes=0.05, **options)
    assert len(kept(result.run, "trials")["losses"]) == 2


def test_damaged_losses_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials.Trial, "__call__", _interrupt)
    with pytest.raises(KeyboardInterrupt):
        search("wine", out=tmp_path / "run", **QUICK)
    (tmp_path / "run" / "trials.json").write_text('{"losses": {"4-4": "low"}, "seconds": 1.0}')
    with pytest.raises(meritnas.MeritNASError, match=r"trials\.json"):
        meritnas.resume(tmp_path / "run")


def _interrupt(*given: Any) -> float | None:
    del given
    raise KeyboardInterrupt


def test_cells_are_tried_as_small_as_the_supernet() -> None:
    family = nasbench201_space(10, 16, 5, image=(3, 8, 8))
    small = Nasbench201(supernet_channels=4, supernet_cells=1).small(family)
    assert (small.channels, small.cells) == (4, 1)
    assert small.space.sizes == family.space.sizes


def test_more_trials_than_candidates_are_refused() -> None:
    with pytest.raises(UsageError, match="at most candidates, 8, got 9"):
        Retraining(candidates=8, trials=9)


def test_more_trials_ask_for_more_candidates(tmp_path: Path) -> None:
    options = {name: value for name, value in QUICK.items() if name != "candidates"}
    result = search("wine", out=tmp_path / "run", **{**options, "trials": 40, "epochs": 1})
    assert kept(result.run, "config")["settings"]["candidates"] == 40
