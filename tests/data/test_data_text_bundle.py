from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from meritnas import recurrent_space
from meritnas.data.bundle import Bundle, Part
from meritnas.data.stream import BatchStream, ContinuingStream, make_stream
from meritnas.data.texts.bundle import encode_text
from meritnas.data.texts.encoder import TextEncoder
from meritnas.data.texts.source import load_text
from meritnas.engine.loop import Search
from meritnas.engine.plan import Plan
from meritnas.errors import DataError
from meritnas.settings.recipe import TrainRecipe
from meritnas.strategy.catalogue import strategy_spec
from meritnas.strategy.problem import Problem
from meritnas.supernet.gates import one_path
from meritnas.supernet.probe import Probe
from meritnas.training.metrics import main_metric, scores_on
from meritnas.training.train import loss_on, train_child

CELL = "|tanh~0|+|relu~0|sigmoid~1|+|identity~0|tanh~1|relu~2|"
RECIPE = TrainRecipe(
    learning_rate=0.03, batch_size=8, weight_decay=0.0, averaging=0.0, clip=1.0, dropout=0.0
)


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle[TextEncoder]:
    """Sentences whose last word is their first: who remembers can tell."""
    rng = np.random.default_rng(0)
    folder: Path = tmp_path_factory.mktemp("text")
    lines = []
    for first in rng.choice(["a", "b", "c"], 1000):
        lines.append(f"{first} and {first}.")
    (folder / "echo.txt").write_text("\n".join(lines))
    return encode_text(load_text(folder / "echo.txt"), columns=8, steps=9)


def test_a_text_becomes_three_parts_of_pieces(bundle: Bundle[TextEncoder]) -> None:
    assert bundle.task.kind == "language"
    assert bundle.task.outputs == len(bundle.encoder.words) == 7
    assert bundle.train.columns == 8
    assert bundle.valid.columns == bundle.test.columns == 10
    assert bundle.train.inputs.shape[1] == bundle.valid.inputs.shape[1] == 9
    assert main_metric(bundle.task) == "perplexity"


def test_batches_go_on_where_they_were_and_begin_anew_with_the_text(
    bundle: Bundle[TextEncoder],
) -> None:
    stream = make_stream(bundle.train, 999, 0)
    assert isinstance(stream, ContinuingStream)
    first = stream.next()
    assert first.carry is not None
    assert first.carry.state is None
    first.carry.after = torch.zeros(8, 2)
    second = stream.next()
    assert torch.equal(first.target[:, -1], second.inputs[:, 0])
    assert second.carry is not None
    assert second.carry.state is first.carry.after
    second.carry.after = torch.ones(8, 2)
    saved = stream.state_dict()
    other = make_stream(bundle.train, 8, 0)
    other.load_state_dict(saved)
    third, again = stream.next(), other.next()
    assert torch.equal(third.inputs, again.inputs)
    assert again.carry is not None
    assert again.carry.state is not None
    assert torch.equal(again.carry.state, torch.ones(8, 2))
    for _ in range(stream.steps_per_epoch - 3):
        stream.next()
    begun = stream.next()
    assert torch.equal(begun.inputs, first.inputs)
    assert begun.carry is not None
    assert begun.carry.state is None
    with pytest.raises(DataError, match="resume with the data of the saved run"):
        make_stream(bundle.test, 8, 0).load_state_dict(saved)


@pytest.mark.parametrize("text", [CELL, "gru", "lstm"])
def test_a_batch_that_is_looked_at_twice_is_the_same_both_times(
    text: str, bundle: Bundle[TextEncoder]
) -> None:
    """As second-order DARTS does for its differences."""
    space = recurrent_space(bundle.task.outputs, 8)
    supernet, path = space.supernet(0), one_path(space.space.picks(space.parse(text)))
    stream = make_stream(bundle.train, 8, 0)
    valid = BatchStream(bundle.valid, 8, 1)
    probe = Probe(supernet, bundle.task.loss, stream, valid, bundle.valid)
    for _ in range(3):
        batch = probe.train_batch()
        losses = [float(probe.loss(path, batch, probe.weights())) for _ in range(2)]
        assert losses[0] == losses[1]
    assert batch.carry is not None
    assert batch.carry.state is not None


def test_parts_without_order_are_shuffled_and_others_need_enough_pieces() -> None:
    part = Part(torch.zeros(4, 3, dtype=torch.int64), torch.zeros(4, 3, dtype=torch.int64))
    assert isinstance(make_stream(part, 2, 0), BatchStream)
    with pytest.raises(DataError, match="a part of 4 pieces in 5 columns does not continue"):
        ContinuingStream(Part(part.inputs, part.target, columns=5))


@pytest.mark.parametrize("text", [CELL, "gru", "lstm"])
def test_losses_know_nothing_at_first_and_a_trained_network_remembers(
    text: str, bundle: Bundle[TextEncoder]
) -> None:
    space = recurrent_space(bundle.task.outputs, 16)
    child = space.child(text)
    before = loss_on(child, bundle.valid, bundle.task.loss)
    assert before == pytest.approx(bundle.task.chance_loss, rel=0.05)
    trained = train_child(
        child, bundle.train, bundle.valid, bundle.task.loss, RECIPE, epochs=6, seed=0
    )
    # One word of five cannot be known, and another only by who remembers it.
    least = np.log(3) / 5
    assert least * 0.9 < trained.valid_loss < 1.5 * least
    scores = scores_on(trained.module, bundle.task, bundle.test)
    assert scores["perplexity"] == pytest.approx(np.exp(scores["log_loss"]))
    assert scores["log_loss"] < 1.5 * least


def test_reading_a_text_as_it_goes_on_is_not_reading_pieces(
    bundle: Bundle[TextEncoder],
) -> None:
    child = recurrent_space(bundle.task.outputs, 8).child(CELL)
    apart = Part(bundle.test.inputs, bundle.test.target)
    assert loss_on(child, bundle.test, bundle.task.loss) != loss_on(child, apart, bundle.task.loss)


@pytest.mark.parametrize("name", ["advantage", "darts", "shapley", "manas-ls", "random"])
def test_a_search_carries_the_state_in_training_only(
    name: str, bundle: Bundle[TextEncoder]
) -> None:
    space = recurrent_space(bundle.task.outputs, 8)
    supernet = space.supernet(0)
    train = make_stream(bundle.train, 8, 0)
    valid = BatchStream(bundle.valid, 8, 1)
    task = bundle.task
    probe = Probe(supernet, task.loss, train, valid, bundle.valid, task.score)
    plan = Plan(2, 2, 2)
    problem = Problem(
        space.feasible(), space.costs, 2, 0, nodes=space.nodes, chance_loss=task.chance_loss
    )
    options = {"permutations": 1} if name == "shapley" else {}
    strategy = strategy_spec(name, options).make(problem)
    search = Search(supernet, probe, strategy, RECIPE, plan, np.random.default_rng(0))
    picks = np.array([0] * 7)
    held = probe.held_out_loss(picks)
    assert probe.held_out_loss(picks) == held
    for clock in plan.clocks(0):
        if clock.phase != "frozen":
            search.weight_step(clock)
        state = train.state_dict()["carried"]
        if clock.phase == strategy.turns.phase:
            strategy.update(probe, clock)
        assert torch.equal(train.state_dict()["carried"], state)
    assert probe.held_out_loss(picks) != held
    assert len(strategy.derive(probe)) > 0
    probe.score(one_path([0] + [1] * 6), probe.valid_batch())
