"""Races that several run at a time: the same results in any order, and time that is kept."""

from __future__ import annotations

import hashlib
import heapq
import itertools
import math
import random
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_training_retrain import RACE, RECIPE, SETTINGS, bundle_of, files

from meritnas.errors import DivergedError
from meritnas.prepare.family import make_family
from meritnas.store.run_store import RunStore
from meritnas.tasks.any_executor import AnyExecutor
from meritnas.tasks.crew import Alone, Crew, Hired
from meritnas.tasks.processes import LocalProcesses
from meritnas.tasks.task import Material, Task, Tell
from meritnas.training import running_race
from meritnas.training.one_training import Ground, OneTraining, Outcome
from meritnas.training.race import Race
from meritnas.training.retrain import Retrained, retrain_with
from meritnas.training.rungs import train_rungs

NOTHING = Material(None)


def told_by_hash(task: OneTraining, epochs: int) -> Outcome:
    """Losses that are often the same, and sometimes none."""
    one = task.training
    digest = hashlib.sha256(repr(one).encode()).digest()
    loss = None if digest[0] < 40 else float(digest[1] % 4)
    result = {
        **{"architecture": one.architecture, "dropout": one.dropout, "seed": one.seed},
        **{"epochs": one.epochs, "valid_loss": loss, "test": {"accuracy": digest[2] / 255}},
        **{"train_losses": [], "valid_losses": [] if loss is None else [loss] * epochs},
    }
    weights = None if loss is None else {"w": torch.tensor([*map(float, digest)])}
    return Outcome({**result, "best_epoch": 1}, weights, float(epochs))


class Unordered:
    """Ends what was begun in any order."""

    threads = None

    def __init__(self, size: int, seed: int) -> None:
        self.size = size
        self._random = random.Random(seed)
        self._begun: list[OneTraining] = []

    def begin(self, task: Any, material: Material, hear: Tell) -> None:
        del material, hear
        assert len(self._begun) < self.size
        self._begun.append(task)

    def wait(self) -> tuple[Task, Any]:
        task = self._begun.pop(self._random.randrange(len(self._begun)))
        return task, told_by_hash(task, task.epochs)


def kept_by(crew: Crew, race: Race) -> Any:
    """Files and outcome of a race; None where all diverged."""
    with tempfile.TemporaryDirectory() as folder:
        with RunStore.create(Path(folder) / "run", {}) as store:
            try:
                found = retrain_with(crew, NOTHING, race, RECIPE, store, lambda _: None)
            except DivergedError:
                found = None
        return found, files(Path(folder) / "run")


@st.composite
def races(draw: Any) -> Race:
    names = st.text("abcdef", min_size=1, max_size=1)
    finalists = tuple(draw(st.lists(names, min_size=1, max_size=6, unique=True)))
    plain = tuple(f"plain-{k}" for k in range(draw(st.integers(0, 3))))
    rounds = tuple(range(1, draw(st.integers(0, 3)) + 1))
    dropouts = draw(st.sampled_from([(0.0,), (0.0, 0.1), (0.0, 0.1, 0.2)]))
    seeds = tuple(range(draw(st.integers(1, 4))))
    return Race(finalists, dropouts, seeds, 8, rounds, (), plain)


@settings(max_examples=25)
@given(races(), st.integers(2, 5), st.integers(0, 99))
def test_who_trains_and_who_is_first_changes_no_byte(race: Race, size: int, seed: int) -> None:
    expected = kept_by(Unordered(1, 0), race)
    assert kept_by(Unordered(size, seed), race) == expected
    if expected[0] is not None:
        assert len(expected[0].results) <= race.trainings


@settings(max_examples=12)
@given(races(), st.integers(1, 3), st.integers(0, 99), st.integers(0, 12))
def test_what_was_interrupted_among_several_goes_on_to_the_same(
    race: Race, size: int, seed: int, after: int
) -> None:
    class Interrupted(Unordered):
        left = after

        def wait(self) -> tuple[Task, Any]:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            return super().wait()

    expected = kept_by(Unordered(1, 0), race)
    with tempfile.TemporaryDirectory() as folder:
        run, found = Path(folder) / "run", None
        for crew in (Interrupted(size, seed), Unordered(3 - size % 3, seed)):
            with RunStore.take(run) if run.exists() else RunStore.create(run, {}) as store:
                try:
                    found = retrain_with(crew, NOTHING, race, RECIPE, store, lambda _: None)
                except DivergedError:
                    found = None
                except KeyboardInterrupt:
                    assert len(store.read_json("retrain.json")["results"]) == after
        assert (found, files(run)) == expected


def test_a_kill_between_weights_and_results_is_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The weights of a training that nobody knows of are not taken for those of another."""
    race = Race(("a", "b", "c", "d"), (0.0,), (0,), 8)
    expected = kept_by(Unordered(1, 0), race)
    write = RunStore.write_json
    order = [text for text in "abcd" if told(text) is not None]
    assert len(order) >= 2

    class Falling(Unordered):
        """Of the two that are trained first, the worse one ends first."""

        def wait(self) -> tuple[Task, Any]:
            self._begun.sort(key=lambda task: -(told(task.training.architecture) or math.inf))
            task = self._begun.pop(0)
            return task, told_by_hash(task, task.epochs)

    def killed(store: RunStore, name: str, data: Any) -> None:
        known = name == "timing.json" and store.has("retrain.json")
        if known and len(store.read_json("retrain.json")["results"]) == 1:
            raise KeyboardInterrupt
        write(store, name, data)

    with RunStore.create(tmp_path / "run", {}) as store:
        monkeypatch.setattr(RunStore, "write_json", killed)
        with pytest.raises(KeyboardInterrupt):
            retrain_with(Falling(2, 0), NOTHING, race, RECIPE, store, lambda _: None)
        monkeypatch.setattr(RunStore, "write_json", write)
    with RunStore.take(tmp_path / "run") as store:
        found = retrain_with(Unordered(1, 0), NOTHING, race, RECIPE, store, lambda _: None)
    assert (found, files(tmp_path / "run")) == expected


def told(text: str) -> float | None:
    one = Race((text,), (0.0,), (0,), 8).ready([])[0]
    loss: float | None = told_by_hash(OneTraining(one, RECIPE, 8), 8).result["valid_loss"]
    return loss


class Simulated:
    """Workers in a time of its own, in which an epoch of a network takes what its name says."""

    threads = None

    def __init__(self, size: int) -> None:
        self.size = size
        self.now = 0.0
        self.busy = 0.0
        self._count = itertools.count()
        self._ends: list[tuple[float, int, OneTraining, int]] = []

    def begin(self, task: Any, material: Material, hear: Tell) -> None:
        del material, hear
        an_epoch = float(task.training.architecture)
        epochs = next(
            epoch
            for epoch in range(1, task.epochs + 1)
            if epoch == task.epochs or an_epoch * (epoch + 0.5) > task.seconds
        )
        self.busy += an_epoch * epochs
        heapq.heappush(self._ends, (self.now + an_epoch * epochs, next(self._count), task, epochs))

    def wait(self) -> tuple[Task, Any]:
        self.now, _, task, epochs = heapq.heappop(self._ends)
        found = told_by_hash(task, epochs)
        seconds = float(task.training.architecture) * epochs
        return task, Outcome(found.result, found.weights, seconds)


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["1.0", "1.5", "2.0", "3.0", "0.7"]), min_size=1, max_size=5),
    st.sampled_from([(0.0,), (0.0, 0.1)]),
    st.integers(1, 3),
    st.integers(1, 3),
    st.floats(10.0, 400.0),
)
def test_limited_time_is_kept_whoever_trains(
    finalists: list[str], dropouts: tuple[float, ...], seeds: int, size: int, seconds: float
) -> None:
    own = tuple(dict.fromkeys(finalists))
    race = Race(own, dropouts, tuple(range(seeds)), 20)
    crew = Simulated(size)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(running_race.time, "perf_counter", lambda: crew.now)
        with RunStore.create(Path(folder) / "run", {}) as store:
            try:
                found = retrain_with(
                    crew, NOTHING, race, RECIPE, store, lambda _: None, seconds, ("4.0",)
                )
            except DivergedError:
                return
            assert found.race.next(found.results) is None
            _, metadata = store.read_weights("model.safetensors")
    assert metadata["architecture"] == found.architecture
    longest = max(map(float, (*own, "4.0")))
    assert crew.now <= seconds + 0.5 * longest + 1e-9
    # Nobody stops while there is time for half of another training.
    if not any(one["valid_loss"] is None for one in found.results) and len(found.race.seeds) < 10:
        assert crew.busy >= 0.3 * (seconds - 20 * longest)


def test_two_at_a_time_do_twice_as_much_in_limited_time() -> None:
    done = {}
    for size in (1, 2):
        crew = Simulated(size)
        with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
            patch.setattr(running_race.time, "perf_counter", lambda crew=crew: crew.now)
            with RunStore.create(Path(folder) / "run", {}) as store:
                race = Race(("1.0", "1.5"), (0.0,), (0,), 20)
                reserves = ("0.7", "2.0", "0.9", "1.1")
                retrain_with(crew, NOTHING, race, RECIPE, store, lambda _: None, 150.0, reserves)
        done[size] = crew.busy
        assert crew.now <= 151.0
    assert done[2] > 1.6 * done[1]


@pytest.fixture(scope="module")
def ground() -> Material:
    torch.set_num_threads(1)
    bundle = bundle_of()
    return Material(Ground(make_family(SETTINGS, bundle.encoder, bundle.task), bundle))


@pytest.fixture(scope="module")
def two() -> Iterator[Hired]:
    with LocalProcesses(2) as processes:
        yield Hired(processes, 1)


def real(crew: Crew, ground: Material, run: Path, listen: Any) -> Retrained:
    race = Race(("8-4", "4-4"), RACE["dropouts"], (4, 5, 6), 3)
    with RunStore.create(run, {}) as store:
        return retrain_with(crew, ground, race, RECIPE, store, listen, threads=1)


def test_processes_and_executors_train_to_the_same_bytes(
    tmp_path: Path, ground: Material, two: Hired
) -> None:
    told: list[dict[str, Any]] = []
    expected = real(Alone(), ground, tmp_path / "alone", told.append)
    assert [event["step"] for event in told] == list(range(1, 16))
    assert not any("beside" in event for event in told)
    heard: list[dict[str, Any]] = []
    assert real(two, ground, tmp_path / "two", heard.append) == expected
    with ThreadPoolExecutor(2) as pool:
        any_one = Hired(AnyExecutor(pool), 1)
        assert real(any_one, ground, tmp_path / "threads", lambda _: None) == expected
    whole = files(tmp_path / "alone")
    assert files(tmp_path / "two") == files(tmp_path / "threads") == whole
    # One view: steps of all, and who trains beside whom.
    assert len(heard) == 15
    assert max(event["step"] for event in heard) == 15
    assert {event["steps"] for event in heard} == {15}
    assert any("beside" in event for event in heard)


def test_rungs_are_trained_together_to_the_same(
    tmp_path: Path, ground: Material, two: Hired
) -> None:
    ladder = [
        {"limit": 99, "architecture": "8-4"},
        {"limit": 80, "architecture": "4-4"},
        {"limit": 70, "architecture": "8-4"},
    ]
    race = Race(("8-8",), (0.0,), (0, 1), 2)
    found = {}
    crews: dict[str, Crew] = {"alone": Alone(), "two": two}
    for name, crew in crews.items():
        with RunStore.create(tmp_path / name, {}) as store:
            given = crew, ground, ladder, race, RECIPE, store, lambda _: None
            found[name] = train_rungs(*given, threads=1)
    assert found["alone"] == found["two"]
    assert [row["limit"] for row in found["two"]] == [99, 80, 70]
    for rung in ("rung-1", "rung-2"):
        assert files_in(tmp_path / "alone" / rung) == files_in(tmp_path / "two" / rung)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.stem != "timing"}
