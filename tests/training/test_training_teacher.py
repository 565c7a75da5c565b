from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_training_retrain import CONFIG, RECIPE, SETTINGS, bundle_of, files
from torch import Tensor, nn

from meritnas import convnet_space
from meritnas.data.bundle import Bundle, Part
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.stream import BatchStream
from meritnas.data.task import Task
from meritnas.errors import UsageError
from meritnas.prepare.family import make_family
from meritnas.settings.recipe import TrainRecipe
from meritnas.store.run_store import RunStore
from meritnas.tasks.crew import Alone
from meritnas.tasks.task import Material
from meritnas.training import teacher
from meritnas.training.one_training import Ground, OneTraining
from meritnas.training.race import Race, Training, best_of
from meritnas.training.retrain import Retrained, retrain_with
from meritnas.training.teacher import answers_of, check_trees, mean_answers, trees_out_of_fold
from meritnas.training.train import train_child

TASKS = {
    "binary": Task("binary", "y", ("a", "b")),
    "multiclass": Task("multiclass", "y", ("a", "b", "c")),
    "regression": Task("regression", "y"),
}


def rows(kind: str, n: int = 200) -> Part:
    """Numbers of which the first settles the answer."""
    inputs = torch.randn(n, 3, generator=torch.Generator().manual_seed(0))
    first = inputs[:, 0]
    target = {
        "binary": (first > 0).float(),
        "multiclass": (first > -0.5).long() + (first > 0.5).long(),
        "regression": first.clone(),
    }[kind]
    return Part(inputs, target)


def answers(kind: str, target: Tensor) -> Tensor:
    """What a teacher says who is sure of this."""
    return nn.functional.one_hot(target, 3).float() if kind == "multiclass" else target.clone()


@pytest.mark.parametrize("kind", TASKS)
def test_a_network_that_only_listens_to_its_teacher_learns_what_that_says(kind: str) -> None:
    task, part = TASKS[kind], rows(kind)
    other = part.target.flip(0)  # what the teacher says has nothing to do with the labels
    recipe = TrainRecipe(batch_size=50, averaging=0.0, teacher_share=1.0)

    def trained(train: Part) -> dict[str, Tensor]:
        torch.manual_seed(0)
        module = nn.Linear(3, task.outputs)
        train_child(module, train, rows(kind, 20), task.loss, recipe, 1, 0)
        return module.state_dict()

    taught = trained(dataclasses.replace(part, taught=answers(kind, other)))
    by_labels = trained(dataclasses.replace(part, target=other))
    untaught = trained(part)
    for name, value in by_labels.items():
        torch.testing.assert_close(taught[name], value, atol=1e-4, rtol=1e-4)
    assert not torch.allclose(taught["weight"], untaught["weight"], atol=1e-3)


def test_a_batch_has_the_answers_to_its_own_rows() -> None:
    part = dataclasses.replace(rows("regression", 100), taught=torch.arange(100.0))
    part = dataclasses.replace(part, target=torch.arange(100.0) * 2)
    stream = BatchStream(part, 32, 0)
    for _ in range(7):
        batch = stream.next()
        assert batch.taught is not None
        assert torch.equal(batch.taught * 2, batch.target)
    for some in (part.slice(5, 9), part.rows(torch.tensor([7, 3])), part.drawn(0.1, 0)):
        assert some.taught is not None
        assert torch.equal(some.taught * 2, some.target)


@pytest.mark.parametrize("kind", TASKS)
def test_trees_answer_to_each_row_without_having_seen_it(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task, part, seen = TASKS[kind], rows(kind), []
    fitted = teacher.fitted_trees

    def watched(task: Task, inputs: TableInputs, train: Part, *more: Any) -> Any:
        trees = fitted(task, inputs, train, *more)
        known = {tuple(row) for row in train.inputs.tolist()}

        class Watched:
            def stages(self, new: Tensor) -> Any:
                assert not known & {tuple(row) for row in new.tolist()}
                seen.append(len(new))
                return trees.stages(new)

        return Watched()

    monkeypatch.setattr(teacher, "fitted_trees", watched)
    found = trees_out_of_fold(task, TableInputs(3), part, 1.0, 0)
    assert sum(seen) == 2 * len(part)  # to choose how many trees, and to answer
    assert found.dtype == torch.float32
    # In the order of the rows: what is said is what is so, nearly.
    if kind == "regression":
        assert float((found - part.target).square().mean()) < 0.1
    else:
        said = found.argmax(dim=1) if kind == "multiclass" else found.round()
        assert float((said == part.target).float().mean()) > 0.9
    assert torch.equal(found, trees_out_of_fold(task, TableInputs(3), part, 1.0, 0))


def test_trees_do_not_tell_labels_that_are_noise() -> None:
    part = rows("binary", 400)
    noise = (torch.rand(400, generator=torch.Generator().manual_seed(1)) < 0.5).float()
    part = dataclasses.replace(part, target=noise)
    said = trees_out_of_fold(TASKS["binary"], TableInputs(3), part, 1.0, 0)
    assert abs(float(np.corrcoef(said, noise)[0, 1])) < 0.2


def test_too_few_rows_for_trees_are_refused() -> None:
    part = rows("multiclass")
    check_trees(TASKS["multiclass"], part)
    with pytest.raises(UsageError, match="at least 50 training rows, and there are 49"):
        check_trees(TASKS["multiclass"], part.slice(0, 49))
    rare = torch.zeros(100)
    rare[:4] = 1
    with pytest.raises(UsageError, match="at least 5 training rows of each class"):
        check_trees(TASKS["binary"], Part(torch.zeros(100, 1), rare))


@pytest.mark.parametrize("kind", TASKS)
def test_several_networks_answer_with_the_mean_of_their_chances(kind: str) -> None:
    task, part = TASKS[kind], rows(kind, 10)
    networks = [nn.Linear(3, task.outputs) for _ in range(3)]
    found = mean_answers(task, networks, part.inputs)
    each = torch.stack([answers_of(task, module(part.inputs)) for module in networks])
    assert torch.allclose(found, each.mean(dim=0))
    if kind == "multiclass":
        assert torch.allclose(found.sum(dim=1), torch.ones(10))


def test_a_teacher_whose_weights_an_earlier_version_named_answers_as_it_did() -> None:
    family, text = convnet_space(3, (1, 4, 4)), "4x4 plain3(16x1) plain3(32x1)"
    child, task = family.child(text, seed=1).eval(), TASKS["multiclass"]
    images = torch.rand(6, 1, 4, 4)
    rows = Part(images, torch.zeros(6, dtype=torch.int64))
    names = ("rest.blocks.0.", "stage1block1."), ("rest.rest.blocks.0.", "stage2block1.")
    before = {}
    for name, value in child.state_dict().items():
        for now, then in (*names, ("rest.rest.rest.output.", "output.")):
            name = then + name.removeprefix(now) if name.startswith(now) else name
        before[name] = value
    one = OneTraining(Training(text, 0.0, 0, 1), RECIPE, 1, teachers=((text, before),))
    ground = Ground(family, Bundle("images", rows, rows, rows, None, task))
    expected = mean_answers(task, [child], images)
    assert torch.equal(one._taught(ground).sample.taught, expected)


RACE = Race(("8-4", "4-4"), (0.0, 0.3), (4, 5), 3, taught=2)


def run_race(folder: Path, listen: Any = lambda _: None, bundle: Bundle | None = None) -> Retrained:
    bundle = bundle or bundle_of()
    ground = Material(Ground(make_family(SETTINGS, bundle.encoder, bundle.task), bundle))
    is_new = not folder.exists()
    with RunStore.create(folder, CONFIG) if is_new else RunStore.take(folder) as store:
        return retrain_with(Alone(), ground, RACE, RECIPE, store, listen)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Retrained]:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("race") / "run"
    return folder, run_race(folder)


def test_the_winner_is_trained_once_more_by_the_mean_of_all_before_it(
    undisturbed: tuple[Path, Retrained], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder, found = undisturbed
    untaught = [one for one in found.results if not one.get("taught")]
    taught = [one for one in found.results if one.get("taught")]
    winner = best_of(untaught)
    assert len(untaught) == 4
    assert [one["seed"] for one in taught] == [4, 5]
    assert {(one["architecture"], one["dropout"]) for one in taught} == {
        (winner["architecture"], winner["dropout"])
    }
    # The result is the better of what was taught and what was not.
    assert found.race.winners(found.results)[0] in found.results
    best = best_of(found.results)
    assert best["valid_loss"] == min(one["valid_loss"] for one in found.results)
    assert found.test_best == best["test"]
    assert not (folder / "finalists.safetensors").exists()
    asked: list[int] = []

    def counted(task: Task, networks: list[nn.Module], inputs: Tensor) -> Tensor:
        asked.append(len(networks))
        assert torch.equal(inputs, bundle_of().train.sample.inputs)
        return mean_answers(task, networks, inputs)

    monkeypatch.setattr("meritnas.training.one_training.mean_answers", counted)
    assert run_race(tmp_path / "run") == found
    assert asked == [4, 4]


@pytest.mark.parametrize("stop", [2, 5, 9, 12, 13, 15, 16, 18])
def test_an_interrupted_race_of_taught_ones_goes_on_to_the_same_bytes(
    tmp_path: Path, undisturbed: tuple[Path, Retrained], stop: int
) -> None:
    whole, expected = undisturbed

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_race(tmp_path / "run", stumble)
    seen: list[int] = []
    assert run_race(tmp_path / "run", lambda event: seen.append(event["step"])) == expected
    assert seen == list(range(3 * ((stop - 1) // 3) + 1, 19))  # finished trainings are kept
    assert files(tmp_path / "run") == files(whole)


def test_networks_whose_weights_are_lost_are_trained_anew(
    tmp_path: Path, undisturbed: tuple[Path, Retrained]
) -> None:
    whole, expected = undisturbed

    def stumble(event: dict[str, Any]) -> None:
        if event["step"] == 14:  # while the first is taught
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_race(tmp_path / "run", stumble)
    with RunStore.take(tmp_path / "run") as store:
        store.remove("finalists.safetensors")
    assert run_race(tmp_path / "run") == expected
    assert files(tmp_path / "run") == files(whole)


def told(training: Training, loss: float | None) -> dict[str, Any]:
    return {**training.to_json(), "valid_loss": loss}


def test_nobody_is_taught_before_all_others_are_trained() -> None:
    results: list[dict[str, Any]] = []
    order = []
    while (following := RACE.next(results)) is not None:
        order.append(following)
        losses = {("8-4", 0.0): 3.0, ("8-4", 0.3): 2.0, ("4-4", 0.3): 1.0}
        results.append(told(following, losses[following.architecture, following.dropout]))
    assert [one.taught for one in order] == [False] * 4 + [True] * 2
    assert {(one.architecture, one.dropout) for one in order[4:]} == {("4-4", 0.3)}
    assert len(order) == RACE.trainings
    assert (RACE.span(1), RACE.span(9)) == (18, 12)  # of six; of four stages one after the other
    assert Race.from_json(RACE.to_json()) == RACE
    assert "taught" not in Race(("8-4",), (0.0,), (0,), 3).to_json()


@pytest.mark.parametrize("taught_loss", [0.5, 1.5])
@pytest.mark.parametrize("done", range(1, 7))
def test_a_race_that_time_cuts_short_has_nothing_left(done: int, taught_loss: float) -> None:
    results: list[dict[str, Any]] = []
    for number in range(done):
        following = RACE.next(results)
        assert following is not None
        results.append(told(following, taught_loss if following.taught else 1.0 + number))
    cut = RACE.cut(results)
    assert cut.next(results) is None
    assert cut.winners(results)
    assert Race.from_json(cut.to_json()) == cut


def test_when_all_diverge_nobody_is_taught() -> None:
    results: list[dict[str, Any]] = []
    while (following := RACE.next(results)) is not None:
        results.append(told(following, None))
    assert not any(one.get("taught") for one in results)
