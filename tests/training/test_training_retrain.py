from __future__ import annotations

import dataclasses
import json
import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from meritnas.data.bundle import Bundle
from meritnas.data.tables.bundle import make_bundle
from meritnas.data.tables.reading import TableReading
from meritnas.data.tables.source import load_source
from meritnas.errors import DivergedError, StoreError
from meritnas.families.tabular.spec import Tabular
from meritnas.prediction.predictor import Predictor, load_predictor
from meritnas.prepare.family import make_family
from meritnas.settings.recipe import TrainRecipe
from meritnas.settings.settings import SearchSettings
from meritnas.store.run_store import RunStore
from meritnas.strategy.tabnas import Tabnas
from meritnas.tasks.crew import Alone
from meritnas.tasks.task import Material
from meritnas.training import one_training
from meritnas.training.one_training import Ground
from meritnas.training.race import Race
from meritnas.training.retrain import Retrained, retrain_child, summarise
from meritnas.training.rungs import train_rungs
from meritnas.training.train import Trained, train_child

RECIPE = TrainRecipe(learning_rate=0.01, batch_size=16)
SPACE = Tabular(layers=2, widths=(4, 8))
SETTINGS = SearchSettings(SPACE, Tabnas(), TableReading(), recipe=RECIPE)
CONFIG = {"settings": SETTINGS.to_json(), "data": {"kind": "table"}}
TARGETS = ("binary", "multiclass", "regression")


def table(target: str) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=120), "b": rng.normal(size=120)})
    frame["kind"] = rng.choice(["p", "q", "r"], size=120)
    value = frame["a"] - frame["b"] + 0.5 * rng.normal(size=120)
    if target == "regression":
        frame["y"] = 100 + 7 * value
    else:
        frame["y"] = pd.cut(value, 2 if target == "binary" else 3, labels=False).map(str)
    return frame


def bundle_of(target: str = "binary") -> Bundle:
    return make_bundle(load_source(table(target), "y"), seed=0)


def retrain(
    folder: Path,
    bundle: Bundle,
    seeds: list[int],
    text: str = "8-4",
    listen: Any = lambda _: None,
    dropouts: tuple[float, ...] = (0.0,),
    seconds: float = math.inf,
    reserves: tuple[str, ...] = (),
    rounds: tuple[int, ...] = (),
) -> Retrained:
    family = make_family(SETTINGS, bundle.encoder, bundle.task)
    race = Race(tuple(text.split(",")), dropouts, tuple(seeds), 3, rounds)
    is_new = not folder.exists()
    with RunStore.create(folder, CONFIG) if is_new else RunStore.take(folder) as store:
        if is_new:
            encoded = {"encoder": bundle.encoder.to_json(), "task": bundle.task.to_json()}
            store.write_json("preprocessing.json", encoded)
        return retrain_child(family, race, bundle, RECIPE, store, listen, seconds, reserves)


def files(folder: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in folder.iterdir()}
    found.pop("timing.json", None)  # the one file that says how long things took
    found.pop("digests.json")  # of that file, too
    return found


RACE: dict[str, Any] = {"seeds": [4, 5, 6], "text": "8-4,4-4", "dropouts": (0.0, 0.3)}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Retrained]:
    """Two dropouts, two finalists, three seeds: five trainings of three epochs each."""
    folder = tmp_path_factory.mktemp("race") / "run"
    torch.set_num_threads(1)
    return folder, retrain(folder, bundle_of(), **RACE)


@pytest.mark.parametrize("stop", range(1, 16))
def test_an_interrupted_race_goes_on_to_the_same_bytes(
    tmp_path: Path, undisturbed: tuple[Path, Retrained], stop: int
) -> None:
    bundle = bundle_of()
    whole, expected = undisturbed
    assert len(expected.results) == 5

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrain(tmp_path / "run", bundle, **RACE, listen=stumble)
    seen: list[int] = []
    found = retrain(
        tmp_path / "run", bundle, **RACE, listen=lambda event: seen.append(event["step"])
    )
    assert seen == list(range(3 * ((stop - 1) // 3) + 1, 16))  # finished trainings are kept
    assert found == expected
    assert files(tmp_path / "run") == files(whole)


@pytest.mark.parametrize("stop", [4, 7, 10, 13])
def test_a_race_whose_best_weights_are_gone_is_run_anew(
    tmp_path: Path, undisturbed: tuple[Path, Retrained], stop: int
) -> None:
    """Else trainings count as done whose network nobody has."""
    bundle = bundle_of()
    whole, expected = undisturbed

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrain(tmp_path / "run", bundle, **RACE, listen=stumble)
    (tmp_path / "run" / "retrain.safetensors").unlink()
    seen: list[int] = []
    found = retrain(
        tmp_path / "run", bundle, **RACE, listen=lambda event: seen.append(event["step"])
    )
    assert seen == list(range(1, 16))
    assert found == expected
    assert files(tmp_path / "run") == files(whole)


def test_the_spread_is_over_the_winners_trainings_alone(tmp_path: Path) -> None:
    found = retrain(
        tmp_path / "run", bundle_of(), [0, 1, 2], text="4-8,8-8,4-4", dropouts=(0.0, 0.5)
    )
    assert len(found.results) == 6
    first = [one for one in found.results if one["seed"] == 0]
    winner = min(first, key=lambda one: one["valid_loss"])
    assert found.architecture == winner["architecture"]
    own = [
        one
        for one in found.results
        if (one["architecture"], one["dropout"]) == (winner["architecture"], winner["dropout"])
    ]
    assert sorted(one["seed"] for one in own) == [0, 1, 2]
    for name in found.test:
        values = [one["test"][name] for one in own]
        assert found.test[name] == pytest.approx(np.mean(values))
        assert found.test_spread[name] == pytest.approx(np.std(values, ddof=1))
    _, metadata = RunStore.open(tmp_path / "run").read_weights("model.safetensors")
    assert metadata["architecture"] == found.architecture


def test_dropout_changes_the_training_and_not_what_is_stored(tmp_path: Path) -> None:
    bundle = bundle_of()
    plain = retrain(tmp_path / "plain", bundle, [0])
    dropped = retrain(tmp_path / "dropped", bundle, [0], dropouts=(0.5,))
    assert plain.results[0]["train_losses"] != dropped.results[0]["train_losses"]
    kept = [
        RunStore.open(tmp_path / name).read_weights("model.safetensors")[0]
        for name in ("plain", "dropped")
    ]
    assert kept[0].keys() == kept[1].keys()
    loaded = load_predictor(tmp_path / "dropped")
    frame = table("binary").drop(columns="y")
    assert torch.equal(loaded.outputs(frame), loaded.outputs(frame))


def test_without_test_rows_there_are_no_scores(tmp_path: Path) -> None:
    bundle = bundle_of()
    bundle = dataclasses.replace(bundle, test=bundle.test.slice(0, 0))
    found = retrain(tmp_path / "run", bundle, [0, 1])
    assert (found.test, found.test_spread) == ({}, {})
    assert len(found.results) == 2


@pytest.mark.parametrize("stop", [(0, 2), (1, 1), (2, 3)])
def test_an_interrupted_retraining_goes_on_to_the_same_bytes(
    tmp_path: Path, stop: tuple[int, int]
) -> None:
    bundle = bundle_of()
    told: list[dict[str, Any]] = []
    expected = retrain(tmp_path / "whole", bundle, [4, 5, 6], listen=told.append)
    assert [event["step"] for event in told] == list(range(1, 10))
    assert {event["steps"] for event in told} == {9}

    def stumble(event: dict[str, Any]) -> None:
        if (event["seed"], event["epoch"]) == ([4, 5, 6][stop[0]], stop[1]):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrain(tmp_path / "again", bundle, [4, 5, 6], listen=stumble)
    seen: list[int] = []
    found = retrain(
        tmp_path / "again", bundle, [4, 5, 6], listen=lambda event: seen.append(event["seed"])
    )
    assert sorted(set(seen)) == [4, 5, 6][stop[0] :]  # finished seeds are not trained again
    assert found == expected
    assert files(tmp_path / "again") == files(tmp_path / "whole")


def test_the_run_keeps_the_seed_with_the_smallest_validation_loss(tmp_path: Path) -> None:
    bundle = bundle_of()
    found = retrain(tmp_path / "run", bundle, [0, 1, 2, 3])
    best = min(found.results, key=lambda result: result["valid_loss"])
    retrain(tmp_path / "alone", bundle, [best["seed"]])
    kept, _ = RunStore.open(tmp_path / "run").read_weights("model.safetensors")
    alone, _ = RunStore.open(tmp_path / "alone").read_weights("model.safetensors")
    assert all(torch.equal(kept[key], alone[key]) for key in alone)


def test_scores_are_means_and_spreads_over_the_seeds(tmp_path: Path) -> None:
    found = retrain(tmp_path / "run", bundle_of(), [0, 1, 2])
    assert len(found.results) == 3
    for name in found.test:
        values = [result["test"][name] for result in found.results]
        assert found.test[name] == pytest.approx(np.mean(values))
        assert found.test_spread[name] == pytest.approx(np.std(values, ddof=1))
    assert len({result["valid_loss"] for result in found.results}) == 3
    single = retrain(tmp_path / "single", bundle_of(), [0])
    assert set(single.test_spread.values()) == {0.0}


def test_another_architecture_replaces_the_network(tmp_path: Path) -> None:
    bundle = bundle_of()
    retrain(tmp_path / "run", bundle, [0, 1])
    retrain(tmp_path / "run", bundle, [0], text="4-4")
    store = RunStore.open(tmp_path / "run")
    weights, metadata = store.read_weights("model.safetensors")
    assert metadata["architecture"] == "4-4"
    assert weights["linear1.bias"].shape == (4,)
    assert len(store.read_json("retrain.json")["results"]) == 1


@pytest.mark.parametrize("target", TARGETS)
def test_a_reloaded_network_predicts_bit_for_bit_what_it_did_in_memory(
    tmp_path: Path, target: str
) -> None:
    bundle = bundle_of(target)
    retrain(tmp_path / "run", bundle, [7])
    family = make_family(SETTINGS, bundle.encoder, bundle.task)
    child = family.child("8-4", seed=7)
    trained = train_child(child, bundle.train, bundle.valid, bundle.task.loss, RECIPE, 3, 7)
    in_memory = Predictor(bundle.encoder, bundle.task, trained.module)
    loaded = load_predictor(tmp_path / "run")
    frame = table(target).drop(columns="y")
    assert torch.equal(loaded.outputs(frame), in_memory.outputs(frame))
    assert (loaded.predict(frame) == in_memory.predict(frame)).all()
    pd.testing.assert_frame_equal(loaded.table(frame), in_memory.table(frame))


def test_predictions_are_a_table_of_answers_and_probabilities(tmp_path: Path) -> None:
    bundle = bundle_of("multiclass")
    retrain(tmp_path / "run", bundle, [0])
    frame = table("multiclass").drop(columns="y")
    found = load_predictor(tmp_path / "run").table(frame)
    chances = found[[f"probability_{label}" for label in bundle.task.classes]]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)
    best = np.array(bundle.task.classes)[chances.to_numpy().argmax(axis=1)]
    assert (found["predicted_y"] == best).all()
    assert len(found) == len(frame)


def test_columns_in_another_order_and_unseen_categories_are_fine(tmp_path: Path) -> None:
    retrain(tmp_path / "run", bundle_of(), [0])
    frame = table("binary").drop(columns="y")
    loaded = load_predictor(tmp_path / "run")
    assert torch.equal(loaded.outputs(frame[["kind", "b", "a"]]), loaded.outputs(frame))
    strange = frame.assign(kind="never seen", a=np.nan)
    assert loaded.outputs(strange).isfinite().all()


def test_weights_that_do_not_fit_their_network_are_refused(tmp_path: Path) -> None:
    retrain(tmp_path / "run", bundle_of(), [0])
    with RunStore.take(tmp_path / "run") as store:
        weights, _ = store.read_weights("model.safetensors")
        store.write_weights("model.safetensors", weights, {"architecture": "4-4"})
    with pytest.raises(StoreError, match="do not fit"):
        load_predictor(tmp_path / "run")
    with RunStore.take(tmp_path / "run") as store:
        store.write_json("preprocessing.json", {"encoder": {}})
    with pytest.raises(StoreError, match=r"preprocessing\.json.*damaged"):
        load_predictor(tmp_path / "run")


def test_a_race_ends_with_the_time(tmp_path: Path) -> None:
    def dawdle(event: dict[str, Any]) -> None:
        if event["step"] > 3:  # after the first training
            time.sleep(1.0)

    bundle = bundle_of()
    begun = time.perf_counter()
    found = retrain(tmp_path / "run", bundle, [4, 5, 6, 7, 8], listen=dawdle, seconds=2.0)
    assert time.perf_counter() - begun < 6.0  # not the 12 that all epochs would take
    assert 1 <= len(found.results) < 5
    assert found.race.trainings == len(found.results)
    kept = json.loads((tmp_path / "run" / "retrain.json").read_text())
    assert kept["plan"] == found.race.to_json()
    predictor = load_predictor(tmp_path / "run")
    assert len(predictor.predict(table("binary"))) == 120


@pytest.mark.parametrize("epochs", [{}, "3", 1.5, None])
def test_a_damaged_number_of_epochs_is_named(tmp_path: Path, epochs: Any) -> None:
    bundle = bundle_of()
    retrain(tmp_path / "run", bundle, [0])
    with RunStore.take(tmp_path / "run") as store:
        kept = store.read_json("retrain.json")
        kept["results"][0]["epochs"] = epochs
        store.write_json("retrain.json", kept)
    with pytest.raises(StoreError, match=r"retrain\.json"):
        retrain(tmp_path / "run", bundle, [0])


def test_a_training_that_runs_over_keeps_its_epochs_so_far(tmp_path: Path) -> None:
    found = retrain(
        tmp_path / "run", bundle_of(), [4], listen=lambda _: time.sleep(0.3), seconds=0.2
    )
    assert len(found.results[0]["valid_losses"]) == 1
    assert found.results[0]["best_epoch"] == 1


def test_reserves_join_while_there_is_time(tmp_path: Path) -> None:
    bundle, reserves = bundle_of(), ("8-4", "4-4", "8-8")
    found = retrain(tmp_path / "run", bundle, [4], seconds=60.0, reserves=reserves)
    assert [one["architecture"] for one in found.results[:3]] == ["8-4", "4-4", "8-8"]
    assert found.race.finalists == ("8-4",)
    assert found.race.late == ("4-4", "8-8")
    assert found.race.seeds == found.race.seeds[:1] + tuple(range(5, 14))  # ten, and no more
    assert len({one["seed"] for one in found.results}) == 10
    kept = json.loads((tmp_path / "run" / "retrain.json").read_text())
    assert kept["plan"] == found.race.to_json()
    again = retrain(tmp_path / "other", bundle, [4], seconds=math.inf, reserves=reserves)
    assert len(again.results) == 1  # nobody joins where time does not matter


HALVING: dict[str, Any] = {
    **{"seeds": [4, 5], "text": "8-4,4-4,4-8,8-8", "dropouts": (0.0, 0.3), "rounds": (1, 2)},
}


def test_a_halving_race_keeps_the_winner_of_its_last_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short trainings are given the smaller losses, and still win nothing."""

    def lucky(*given: Any) -> Trained:
        found = train_child(*given)
        return dataclasses.replace(found, valid_loss=found.valid_loss + given[5])

    monkeypatch.setattr(one_training, "train_child", lucky)
    found = retrain(tmp_path / "run", bundle_of(), **HALVING)
    assert [one["epochs"] for one in found.results] == [1, 1, 1, 1, 2, 2, 3, 3, 3]
    last = found.results[-3:]
    assert {one["architecture"] for one in last} == {found.architecture}
    assert min(one["valid_loss"] for one in last) > max(
        one["valid_loss"] for one in found.results[:4]
    )
    best = min(last, key=lambda one: one["valid_loss"])
    weights, metadata = RunStore.open(tmp_path / "run").read_weights("model.safetensors")
    assert metadata["architecture"] == found.architecture
    bundle = bundle_of()
    family = make_family(SETTINGS, bundle.encoder, bundle.task)
    child = family.child(found.architecture, seed=best["seed"], dropout=best["dropout"])
    parts = (bundle.train, bundle.valid, bundle.task.loss, RECIPE, 3, best["seed"])
    expected = train_child(child, *parts).module.state_dict()
    assert all(torch.equal(weights[name], expected[name]) for name in weights)


@pytest.mark.parametrize("stop", [2, 4, 5, 8, 9, 12, 15, 17])
def test_an_interrupted_halving_race_goes_on_to_the_same_bytes(tmp_path: Path, stop: int) -> None:
    bundle = bundle_of()
    told: list[dict[str, Any]] = []
    expected = retrain(tmp_path / "whole", bundle, **HALVING, listen=told.append)
    assert [event["step"] for event in told] == list(range(1, 18))
    assert {event["steps"] for event in told} == {17}

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        retrain(tmp_path / "run", bundle, **HALVING, listen=stumble)
    assert retrain(tmp_path / "run", bundle, **HALVING) == expected
    assert files(tmp_path / "run") == files(tmp_path / "whole")


@pytest.mark.parametrize("after", [1, 5, 7])
def test_a_halving_race_that_runs_out_of_time_has_a_network(tmp_path: Path, after: int) -> None:
    def dawdle(event: dict[str, Any]) -> None:
        if event["step"] == after:
            time.sleep(2.0)

    found = retrain(tmp_path / "run", bundle_of(), **HALVING, listen=dawdle, seconds=1.5)
    assert len(found.results) < 9
    longest = max(one["epochs"] for one in found.results)
    assert found.race.epochs == longest
    own = [one for one in found.results if one["epochs"] == longest]
    assert found.architecture == min(own, key=lambda one: one["valid_loss"])["architecture"]
    _, metadata = RunStore.open(tmp_path / "run").read_weights("model.safetensors")
    assert metadata["architecture"] == found.architecture
    with RunStore.take(tmp_path / "run") as store:
        kept = Race.from_json(store.read_json("retrain.json")["plan"])
    assert kept.next(found.results) is None


class TwoHeads(nn.Module):
    """A network with an auxiliary head, if it is asked for."""

    def __init__(self, inputs: int, auxiliary: bool) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(inputs, 4), nn.ReLU())
        self.output = nn.Linear(4, 1)
        if auxiliary:
            self.auxiliary = nn.Linear(4, 1)

    def both(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        units = self.body(inputs)
        return self.output(units), self.auxiliary(units)

    def forward(self, inputs: Tensor) -> Tensor:
        found: Tensor = self.output(self.body(inputs))
        return found


@pytest.mark.parametrize("weight", [0.0, 0.4])
def test_an_auxiliary_head_is_trained_and_not_kept(tmp_path: Path, weight: float) -> None:
    bundle = bundle_of()
    asked: list[dict[str, Any]] = []

    def child(_: str, **options: Any) -> TwoHeads:
        asked.append(options)
        return TwoHeads(bundle.train.inputs.shape[1], options["auxiliary"])

    family: Any = SimpleNamespace(child=child, of=lambda _: None, asked=None)
    store = RunStore.create(tmp_path / "run", CONFIG)
    recipe = dataclasses.replace(RECIPE, auxiliary=weight)
    race = Race(("one",), (0.0,), (3,), 2)
    retrain_child(family, race, bundle, recipe, store, lambda _: None)
    assert asked == [{"seed": 3, "dropout": 0.0, "auxiliary": weight > 0}]
    weights = load_file(tmp_path / "run" / "model.safetensors")
    assert set(weights) == set(TwoHeads(2, auxiliary=False).state_dict())


class Unsteady(nn.Module):
    """A network that diverges: while it learns, or only where test rows are unlike others."""

    def __init__(self, inputs: int, ways: str) -> None:
        super().__init__()
        self.output = nn.Linear(inputs, 1)
        self.ways = ways

    def forward(self, inputs: Tensor) -> Tensor:
        found: Tensor = self.output(inputs)
        if self.ways == "always":
            return found * math.inf
        strange = inputs[:, :1] > 50
        return torch.where(strange, math.nan, found) if self.ways == "in testing" else found


def unsteady(folder: Path, seeds: tuple[int, ...] = (3,), **ways: str) -> Retrained:
    """A race of networks by name, each of which goes its way."""
    bundle = bundle_of()
    test = bundle.test.inputs.clone()
    test[0, 0] = 100.0
    bundle = dataclasses.replace(bundle, test=dataclasses.replace(bundle.test, inputs=test))
    width = bundle.train.inputs.shape[1]
    trained: list[tuple[str, int]] = []

    def child(text: str, **options: Any) -> nn.Module:
        trained.append((text, options["seed"]))
        own = ways[text]
        return Unsteady(width, "always" if own == f"seed {options['seed']}" else own)

    family: Any = SimpleNamespace(
        child=child, of=lambda _: None, asked=None, short=str, cost=lambda *_: 5
    )
    race = Race(tuple(ways), (0.0,), seeds, 2)
    with RunStore.take(folder) if folder.exists() else RunStore.create(folder, CONFIG) as store:
        try:
            return retrain_child(family, race, bundle, RECIPE, store, lambda _: None)
        except DivergedError:
            store.write_json("trained.json", trained)
            raise


def test_a_finalist_that_diverges_loses(tmp_path: Path) -> None:
    found = unsteady(tmp_path / "run", bad="always", good="never", worse="in testing")
    assert found.architecture == "good"
    assert [one["valid_loss"] is None for one in found.results] == [True, False, True]
    assert set(found.results[0]["test"]) == set()
    assert all(map(math.isfinite, found.test.values()))
    _, metadata = RunStore.open(tmp_path / "run").read_weights("model.safetensors")
    assert metadata["architecture"] == "good"


def test_the_mean_is_over_the_seeds_that_have_not_diverged(tmp_path: Path) -> None:
    found = unsteady(tmp_path / "run", (3, 4, 5), one="seed 4")
    assert [one["valid_loss"] is None for one in found.results] == [False, True, False]
    for name in found.test:
        values = [found.results[k]["test"][name] for k in (0, 2)]
        assert found.test[name] == pytest.approx(np.mean(values))


def test_where_all_diverge_nothing_is_kept_but_that(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    for attempt in ("first", "again"):
        with pytest.raises(DivergedError, match="smaller learning rate"):
            unsteady(folder, (3, 4), bad="always", worse="in testing")
        trained = json.loads((folder / "trained.json").read_text())
        assert trained == ([["bad", 3], ["worse", 3]] if attempt == "first" else [])
    names = {path.name for path in folder.iterdir()}
    own = {".lock", "digests.json"}
    assert names == {"config.json", "retrain.json", "timing.json", "trained.json", *own}


def test_a_smaller_limit_whose_network_diverges_is_left_out(tmp_path: Path) -> None:
    bundle = bundle_of()
    width = bundle.train.inputs.shape[1]
    family: Any = SimpleNamespace(
        child=lambda text, **_: Unsteady(width, text),
        **{"of": lambda _: None, "asked": None, "short": str, "cost": lambda *_: 5},
    )
    store = RunStore.create(tmp_path / "run", CONFIG)
    ladder = [{"limit": 20, "architecture": "always"}, {"limit": 10, "architecture": "never"}]
    race = Race(("never",), (0.0,), (3,), 2)
    ground = Material(Ground(family, bundle))
    rows = train_rungs(Alone(), ground, ladder, race, RECIPE, store, lambda _: None)
    assert [row["limit"] for row in rows] == [10]


def test_a_training_that_time_cut_short_does_not_count_beside_whole_ones() -> None:
    race = Race(("a",), (0.0,), (5, 6, 7), 3)

    def one(seed: int, epochs: int, accuracy: float) -> dict[str, Any]:
        own = {"architecture": "a", "dropout": 0.0, "seed": seed, "epochs": 3}
        losses = [1.0 - accuracy] * epochs
        return {
            **own,
            "valid_loss": losses[-1],
            "valid_losses": losses,
            "test": {"accuracy": accuracy},
        }

    found = summarise(race, [one(5, 3, 0.9), one(6, 3, 0.8), one(7, 1, 0.2)], 1.0)
    assert found.test["accuracy"] == pytest.approx(0.85)
    assert found.seeds == 2
    two = dataclasses.replace(race, seeds=(5, 6))
    alone = summarise(two, [one(5, 2, 0.9), one(6, 1, 0.5)], 1.0)
    assert alone.test["accuracy"] == pytest.approx(0.9)
    assert alone.seeds == 1
