from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meritnas.settings.halving import IMAGES, Halving
from meritnas.training.race import Race, Training, best_of, has_diverged
from meritnas.training.race_length import timed_race

PARTS = (
    st.lists(st.sampled_from([f"{k}-8" for k in range(1, 11)]), min_size=1, unique=True).map(tuple),
    st.lists(st.sampled_from([0.0, 0.1, 0.5]), min_size=1, unique=True).map(tuple),
    st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True).map(tuple),
    st.integers(1, 50),
)
PLAIN = st.builds(Race, *PARTS)
RACES = st.one_of(PLAIN, st.builds(Race.halving, *PARTS))
# Few different losses, so that some are equal.
LOSSES = st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4]), min_size=40, max_size=40)


FAVOURITES = tuple(f"{k}-8" for k in range(1, 21))


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
    assert sum(r["epochs"] for r in results) == race.length
    trained = [Training.of(r) for r in results]
    assert len(set(trained)) == len(trained)  # nothing is trained twice
    assert {r["architecture"] for r in results} == set(race.finalists)
    assert {r["dropout"] for r in results} == set(race.dropouts)
    assert {r["seed"] for r in results} == set(race.seeds)


@given(RACES, LOSSES)
def test_the_smallest_loss_of_the_first_seed_wins(race: Race, losses: list[float]) -> None:
    results = [r for r in run(race, losses) if r["epochs"] == race.epochs]
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
    others = [r for r in first if r["architecture"] != results[0]["architecture"]]
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


@given(PLAIN, LOSSES, st.integers(1, 20))
def test_a_race_cut_short_is_over_after_what_was_trained(
    race: Race, losses: list[float], done: int
) -> None:
    results = run(race, losses)[:done]
    cut = race.cut(results)
    assert cut.trainings == len(results)
    assert cut.next(results) is None
    assert run(cut, losses) == results  # nothing else would have been trained
    assert best_of(cut.winners(results)) in results


@given(RACES, LOSSES, st.integers(1, 40), st.booleans())
def test_a_race_cut_anywhere_is_over_and_has_the_best_so_far(
    race: Race, losses: list[float], done: int, late: bool
) -> None:
    results = run(race, losses)
    if late and len(results) == race.trainings:  # with someone who came afterwards
        race = race.joined_by("99-8")
        results = run(race, [*losses[: len(results)], *losses])
    results = results[:done]
    cut = race.cut(results)
    assert cut == Race.from_json(json.loads(json.dumps(cut.to_json())))
    assert cut.next(results) is None
    assert best_of(results) in cut.winners(results)
    assert cut.epochs == best_of(results)["epochs"] == max(r["epochs"] for r in results)


def test_the_better_half_goes_on_to_a_round_twice_as_long() -> None:
    race = Race.halving(tuple("abcdefg"), (0.0, 0.1), (5, 6), 40)
    assert race.rounds == (5, 10)
    order = [
        (r["architecture"], r["dropout"], r["seed"], r["epochs"])
        for r in run(race, [5, 2, 3, 1, 4, 7, 6, 9, 7, 8, 6, 5, 3, 2, 1])
    ]
    assert order == [
        *((text, 0.0, 5, 5) for text in "abcdefg"),
        *((text, 0.0, 5, 10) for text in "dbce"),  # best first
        *(("e", dropout, 5, 40) for dropout in (0.0, 0.1)),
        ("b", 0.1, 5, 40),
        ("b", 0.1, 6, 40),
    ]
    assert race.length == 7 * 5 + 4 * 10 + 4 * 40


@pytest.mark.parametrize(
    ("finalists", "epochs", "rounds"),
    [
        (3, 100, ()),  # few finalists: the race without rounds
        (8, 15, ()),  # short trainings
        (8, 16, (4,)),  # four go on to the end
        (8, 40, (5, 10)),
        (4, 40, (10,)),
        (20, 160, (10, 20, 40)),
    ],
)
def test_rounds_are_as_many_as_there_are_halvings_that_are_worth_it(
    finalists: int, epochs: int, rounds: tuple[int, ...]
) -> None:
    race = Race.halving(FAVOURITES[:finalists], (0.0,), (0,), epochs)
    assert race.rounds == rounds
    assert race.length <= Race(race.finalists, (0.0,), (0,), epochs).length


def test_halving_four_costs_what_three_cost_without() -> None:
    three = Race.halving(FAVOURITES[:3], (0.0, 0.1), (0, 1, 2), 40)
    four = Race.halving(FAVOURITES[:4], (0.0, 0.1), (0, 1, 2), 40)
    assert three.length == four.length == 6 * 40


def test_with_rounds_the_best_plain_network_goes_on_whatever_others_have_done() -> None:
    race = replace(
        Race.halving(tuple("abcd"), (0.0,), (5,), 16, Halving(to_the_end=1, least_epochs=2)),
        plain=("p", "q"),
    )
    assert race.rounds == (2, 4)
    results = run(race, [0.4, 0.3, 0.2, 0.1, 0.1, 0.2, 0.9, 0.8, 0.05, 0.04])
    assert [(r["architecture"], r["epochs"]) for r in results] == [
        *((text, 2) for text in "abcd"),
        *((text, 4) for text in "dc"),
        *((text, 4) for text in "pq"),
        ("d", 16),
        ("q", 16),
    ]
    assert race.winners(results) == results[-1:]
    assert (race.length, race.trainings) == (8 + 8 + 8 + 32, len(results))
    assert Race.from_json(json.loads(json.dumps(race.to_json()))) == race


def test_trainings_to_the_end_are_made_to_fit_once_epochs_have_been_timed() -> None:
    race = Race(("a", "b"), (0.0,), (5,), 16, (4,), plain=("p", "q"))
    seconds = {"a": 3.0, "b": 1.0, "p": 2.0, "q": 9.0}
    short = run(replace(race, epochs=99), [0.1, 0.2, 0.1, 0.2, 0.0, 0.0])[:4]
    before = race.fitted(short[:3], seconds.__getitem__, 20.0)
    assert before == race  # a short training is still to come
    assert race.fitted(short, seconds.__getitem__, 1000.0) == race  # never longer than planned
    fitted = race.fitted(short, seconds.__getitem__, 50.0)
    assert fitted == replace(race, epochs=10)  # "a" and "p" take 5 seconds an epoch
    assert race.fitted(short, seconds.__getitem__, 1.0).epochs == 5  # longer than a short one
    results = [*short, result(Training("a", 0.0, 5, 10), 0.1)]
    assert fitted.next(results) == Training("p", 0.0, 5, 10)
    assert fitted.fitted(results, seconds.__getitem__, 1.0) == fitted  # all as long as the first


@pytest.mark.parametrize("rounds", [(), (2,)])
def test_a_plain_network_is_trained_where_all_others_have_diverged(rounds: tuple[int, ...]) -> None:
    race = Race(("a", "b"), (0.0,), (5,), 8, rounds, plain=("p", "q"))
    losses: list[float | None] = [None, None, 0.2, 0.1, 0.3]
    results = run(race, losses)
    assert len(results) == (5 if rounds else 4)
    assert best_of(results)["architecture"] == "q"
    assert best_of(results)["epochs"] == 8


def test_without_rounds_all_plain_networks_are_trained_to_the_end() -> None:
    race = Race(("a",), (0.0,), (5,), 8, plain=("p", "q"))
    assert [r["architecture"] for r in run(race, [1, 2, 3])] == ["a", "p", "q"]
    assert (race.length, race.trainings) == (24, 3)


def test_a_short_training_never_beats_one_to_the_end() -> None:
    race = Race.halving(("a", "b", "c", "d"), (0.0,), (5,), 40)
    results = run(race, [0.1, 0.3, 0.2, 0.1, 0.9, 0.8])
    assert results[-1]["epochs"] == 40
    assert best_of(results) is results[-1]
    assert race.winners(results) == [results[-1]]


def test_whoever_comes_late_is_trained_to_the_end_and_needs_to_beat_all_seeds() -> None:
    race = Race.halving(("a", "b", "c", "d"), (0.0,), (5, 6), 40)
    results = run(race, [0.1, 0.3, 0.2, 0.4, 0.9, 1.0, 0.7])  # "a" wins against "c"
    assert race.waiting(results, ("x", "a", "y")) == ["b", "d", "x", "y"]
    late = race.joined_by("b")
    assert late.next(results) == Training("b", 0.0, 5, 40)
    lost = [*results, result(Training("b", 0.0, 5, 40), 0.8)]  # the winner's other seed has 0.7
    assert late.next(lost) is None
    assert late.winners(lost) == [results[-3], results[-1]]
    won = [*results, result(Training("b", 0.0, 5, 40), 0.6)]
    assert late.next(won) == Training("b", 0.0, 6, 40)
    assert late.cut(won).winners(won) == won[-1:]
    again = race.seeded_by(7)
    assert again.next(results) == Training("a", 0.0, 7, 40)


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
    beside = rungs * (len(race.dropouts) + seeds - 1) * found.epochs
    assert found.epochs == 1 or found.length + beside <= epochs
    assert (found.dropouts, found.seeds) == (race.dropouts, race.seeds)
    assert found.finalists == FAVOURITES[: len(found.finalists)]
    if len(found.finalists) < finalists:  # given up for longer trainings
        more = Race.halving(race.finalists, race.dropouts, race.seeds, usual)
        assert more.length + beside * usual / found.epochs > epochs
    if len(found.finalists) > finalists:
        assert found.epochs >= usual


def test_more_time_means_more_finalists_then_longer_trainings() -> None:
    race = Race(FAVOURITES[:3], (0.0, 0.1), (0,), 1)
    found = [timed_race(race, FAVOURITES, 0, e, 40) for e in (10, 160, 400, 840, 10_000)]
    assert [len(one.finalists) for one in found] == [1, 4, 16, 20, 20]
    assert [one.epochs for one in found] == [5, 40, 68, 80, 80]
    assert [one.length for one in found] == [10, 160, 400, 620, 620]


def test_for_images_trainings_get_longer_before_there_are_more_of_them() -> None:
    race = Race(FAVOURITES[:3], (0.0,), (0,), 1)
    found = [timed_race(race, FAVOURITES, 0, e, 10, IMAGES) for e in (20, 40, 80, 200, 10_000)]
    assert [len(one.finalists) for one in found] == [3, 3, 4, 16, 20]
    assert [one.epochs for one in found] == [6, 23, 40, 43, 60]


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
    results = run(race, [None] * 40)
    tried = 1 if race.rounds else len(race.dropouts)  # short trainings have one dropout
    assert len(results) == tried + len(race.finalists) - 1
    assert has_diverged(best_of(results))
    assert race.winners(results) == []


@given(RACES, st.lists(st.sampled_from([0.1, 0.2, None]), min_size=40, max_size=40))
def test_a_winner_has_not_diverged_unless_all_have(race: Race, losses: list[float | None]) -> None:
    results = run(race, losses)
    first = [r for r in results if r["seed"] == race.seeds[0]]
    if race.rounds and not all(map(has_diverged, results[: len(race.finalists)])):
        assert not has_diverged(best_of(results))  # a short training is better than none
    assert has_diverged(best_of(first)) == all(map(has_diverged, first))
    assert not any(map(has_diverged, race.winners(results)))
