from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from meritnas.training.race import Race, Training, best_of, has_diverged, timed_race

RACES = st.builds(
    Race,
    st.lists(st.sampled_from(["8-8", "8-4", "4-8", "4-4"]), min_size=1, unique=True).map(tuple),
    st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=1, unique=True).map(tuple),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(tuple),
    st.integers(1, 50),
)
# Few different losses, so that some are equal.
LOSSES = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=20, max_size=20)


def result(training: Training, loss: float | None) -> dict[str, Any]:
    return {**vars(training), "valid_loss": loss}


def run(race: Race, losses: Sequence[float | None]) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    while (training := race.next(results)) is not None:
        results.append(result(training, losses[len(results)]))
        assert len(results) <= len(losses)
    return results


def test_the_order_of_a_race() -> None:
    race = Race(("8-8", "4-8", "4-4"), (0.0, 0.1), (5, 6, 7), 3)
    order = [(r["architecture"], r["dropout"], r["seed"]) for r in run(race, [3, 2, 4, 1, 9, 0])]
    assert order == [
        ("8-8", 0.0, 5),
        ("8-8", 0.1, 5),
        ("4-8", 0.1, 5),  # with the dropout that did better
        ("4-4", 0.1, 5),
        ("4-4", 0.1, 6),  # the winner again
        ("4-4", 0.1, 7),
    ]


@given(RACES, LOSSES)
def test_a_race_has_as_many_trainings_as_it_says(race: Race, losses: list[float]) -> None:
    results = run(race, losses)
    assert len(results) == race.trainings
    trained = [(r["architecture"], r["dropout"], r["seed"]) for r in results]
    assert len(set(trained)) == len(trained)  # nothing is trained twice
    assert {r["architecture"] for r in results} == set(race.finalists)
    assert {r["dropout"] for r in results} == set(race.dropouts)
    assert {r["seed"] for r in results} == set(race.seeds)


@given(RACES, LOSSES)
def test_the_smallest_loss_of_the_first_seed_wins(race: Race, losses: list[float]) -> None:
    results = run(race, losses)
    first = [r for r in results if r["seed"] == race.seeds[0]]
    least = min(r["valid_loss"] for r in first)
    winner = next(r for r in first if r["valid_loss"] == least)  # the earlier where equal
    assert best_of(first) is winner
    own = [
        r
        for r in results
        if (r["architecture"], r["dropout"]) == (winner["architecture"], winner["dropout"])
    ]
    assert race.winners(results) == own
    assert [r["seed"] for r in own] == list(race.seeds)
    # The later finalists are trained with the dropout that suited the first one best.
    chosen = best_of(results[: len(race.dropouts)])["dropout"]
    others = [r for r in first if r["architecture"] != race.finalists[0]]
    assert all(r["dropout"] == chosen for r in others)


@given(RACES, LOSSES)
def test_what_comes_next_depends_on_the_results_alone(race: Race, losses: list[float]) -> None:
    results = run(race, losses)
    again = Race.from_json(json.loads(json.dumps(race.to_json())))
    assert again == race
    for done, expected in enumerate(results):
        kept = json.loads(json.dumps(results[:done]))
        training = again.next(kept)
        assert training is not None
        assert result(training, losses[done]) == expected
    assert again.next(results) is None


@given(RACES, LOSSES, st.integers(1, 20))
def test_a_race_cut_short_is_over_after_what_was_trained(
    race: Race, losses: list[float], done: int
) -> None:
    results = run(race, losses)[:done]
    cut = race.cut(len(results))
    assert cut.trainings == len(results)
    assert cut.next(results) is None
    assert run(cut, losses) == results  # nothing else would have been trained
    assert best_of(cut.winners(results)) in results


FAVOURITES = tuple(f"{k}-8" for k in range(1, 21))


@given(
    st.integers(1, 3),
    st.integers(1, 3),
    st.integers(0, 4),
    st.integers(1, 5000),
    st.integers(2, 60),
)
def test_a_timed_race_costs_what_can_be_afforded(
    finalists: int, seeds: int, rungs: int, epochs: int, usual: int
) -> None:
    race = Race(FAVOURITES[:finalists], (0.0, 0.1), tuple(range(seeds)), 1)
    found = timed_race(race, FAVOURITES, rungs, epochs, usual)
    trainings = found.trainings + rungs * (len(race.dropouts) + seeds - 1)
    assert found.epochs == 1 or trainings * found.epochs <= epochs
    assert (found.dropouts, found.seeds) == (race.dropouts, race.seeds)
    assert found.finalists == FAVOURITES[: len(found.finalists)]
    if len(found.finalists) < finalists:  # given up for longer trainings
        assert trainings * usual > epochs
    if len(found.finalists) > finalists:
        assert found.epochs >= usual


def test_more_time_means_more_finalists_then_longer_trainings() -> None:
    race = Race(FAVOURITES[:3], (0.0, 0.1), (0,), 1)
    found = [timed_race(race, FAVOURITES, 0, e, 40) for e in (10, 160, 400, 840, 10_000)]
    assert [len(one.finalists) for one in found] == [1, 3, 9, 20, 20]
    assert [one.epochs for one in found] == [5, 40, 40, 40, 80]


def test_whoever_diverges_loses() -> None:
    race = Race(("8-8", "4-8", "4-4"), (0.0, 0.1), (5, 6, 7), 3)
    results = run(race, [None, 3.0, None, 2.0, None, 9.0])
    assert [(r["architecture"], r["dropout"], r["seed"]) for r in results[2:]] == [
        ("4-8", 0.1, 5),  # with the dropout that did not diverge
        ("4-4", 0.1, 5),
        ("4-4", 0.1, 6),
        ("4-4", 0.1, 7),
    ]
    assert [one["seed"] for one in race.winners(results)] == [5, 7]  # without what diverged
    assert best_of(race.winners(results))["valid_loss"] == 2.0


@given(RACES)
def test_a_race_in_which_all_diverge_is_over_without_further_seeds(race: Race) -> None:
    results = run(race, [None] * 20)
    assert len(results) == len(race.dropouts) + len(race.finalists) - 1
    assert has_diverged(best_of(results))
    assert race.winners(results) == []


@given(RACES, st.lists(st.sampled_from([0.1, 0.2, None]), min_size=20, max_size=20))
def test_a_winner_has_not_diverged_unless_all_have(race: Race, losses: list[float | None]) -> None:
    results = run(race, losses)
    first = [r for r in results if r["seed"] == race.seeds[0]]
    assert has_diverged(best_of(first)) == all(map(has_diverged, first))
    assert not any(map(has_diverged, race.winners(results)))
