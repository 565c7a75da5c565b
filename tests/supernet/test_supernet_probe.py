from __future__ import annotations

import numpy as np
import pytest
import torch

from meritnas import tabular_space
from meritnas.data.bundle import Part
from meritnas.data.stream import BatchStream
from meritnas.errors import DivergedError
from meritnas.supernet.gates import mixture, one_path, tracked
from meritnas.supernet.probe import Probe
from meritnas.workers.virtual import VirtualWorkers


def mean_square(
    outputs: torch.Tensor, target: torch.Tensor, weights: torch.Tensor | None = None
) -> torch.Tensor:
    losses = (outputs[:, 0] - target).square()
    return losses.mean() if weights is None else (losses * weights).mean()


def part(rows: int, seed: int) -> Part:
    generator = torch.Generator().manual_seed(seed)
    return Part(torch.randn(rows, 3, generator=generator), torch.randn(rows, generator=generator))


@pytest.fixture
def probe() -> Probe:
    supernet = tabular_space(3, 1, 2, (2, 4)).supernet(0)
    train, valid = part(40, 0), part(35, 1)
    streams = BatchStream(train, 8, 0), BatchStream(valid, 8, 1)
    return Probe(supernet, mean_square, *streams, valid)


def child_losses(picks: np.ndarray, rows: Part) -> list[float]:
    family = tabular_space(3, 1, 2, (2, 4))
    supernet = family.supernet(0)
    found = []
    for row in picks:
        child = family.child(family.space.architecture(row))
        child.load_state_dict(supernet.extract(row))
        found.append(mean_square(child(rows.inputs), rows.target).item())
    return found


def test_losses_are_those_of_the_children(probe: Probe) -> None:
    picks = np.array([[0, 0], [1, 0], [0, 0], [1, 1]])
    batch = probe.valid_batch()
    found = probe.losses(picks, batch)
    np.testing.assert_allclose(found, child_losses(picks, Part(batch.inputs, batch.target)), 1e-5)
    assert found[0] == found[2]


def test_the_held_out_loss_is_over_all_rows(probe: Probe) -> None:
    picks = np.array([[1, 0]])
    expected = child_losses(picks, part(35, 1))[0]
    assert probe.held_out_loss(picks[0]) == pytest.approx(expected, rel=1e-5)


def test_every_pass_is_counted(probe: Probe) -> None:
    assert probe.passes == 0
    probe.losses(np.array([[0, 0], [1, 1], [0, 1]]), probe.valid_batch())
    assert probe.passes == 3
    probe.losses(np.empty((0, 2), dtype=np.int64), probe.valid_batch())
    assert probe.passes == 3
    assert probe.evaluation_passes == 35 // 8
    probe.held_out_loss(np.array([0, 1]))
    assert probe.passes == 3 + 4
    supernet = tabular_space(3, 1, 2, (2, 4)).supernet(0)
    weights = dict(supernet.named_parameters())  # type: ignore[attr-defined]
    probe.loss(supernet.whole(), probe.train_batch(), weights)
    assert probe.passes == 8


def test_the_loss_is_taken_with_the_given_weights_and_differentiable_in_them(probe: Probe) -> None:
    supernet = tabular_space(3, 1, 2, (2, 4)).supernet(0)
    gates = one_path([0, 1])
    leaves = {
        name: param.detach()[tuple(slice(e) for e in supernet.blocks(gates)[name])]
        .clone()
        .requires_grad_()
        for name, param in supernet.named_parameters()  # type: ignore[attr-defined]
    }
    batch = probe.train_batch()
    loss = probe.loss(gates, batch, leaves)
    expected = probe.losses(np.array([[0, 1]]), batch)[0]
    assert loss.item() == pytest.approx(expected, rel=1e-5)
    gradients = torch.autograd.grad(loss, list(leaves.values()))
    assert all(g.shape == leaf.shape for g, leaf in zip(gradients, leaves.values(), strict=True))
    moved = {name: leaf.detach() + 0.3 for name, leaf in leaves.items()}
    assert probe.loss(gates, batch, moved).item() != pytest.approx(expected, rel=1e-3)


def test_a_probe_continues_where_its_state_was_saved(probe: Probe) -> None:
    for _ in range(7):
        probe.train_batch()
    probe.losses(np.array([[0, 0]]), probe.valid_batch())
    state = probe.state_dict()
    expected = [probe.train_batch().inputs for _ in range(6)]
    expected += [probe.valid_batch().inputs for _ in range(6)]
    probe.losses(np.array([[0, 0]]), probe.valid_batch())
    probe.load_state_dict(state)
    found = [probe.train_batch().inputs for _ in range(6)]
    found += [probe.valid_batch().inputs for _ in range(6)]
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))
    assert probe.passes == 1


def test_losses_that_are_no_numbers_are_an_error(probe: Probe) -> None:
    valid = part(35, 1)
    valid.target[3] = float("inf")
    supernet = tabular_space(3, 1, 2, (2, 4)).supernet(0)
    streams = BatchStream(valid, 35, 0), BatchStream(valid, 35, 1)
    broken = Probe(supernet, mean_square, *streams, valid)
    with pytest.raises(DivergedError):
        broken.losses(np.array([[0, 0]]), broken.valid_batch())
    with pytest.raises(DivergedError):
        broken.held_out_loss(np.array([0, 0]))
    assert np.isfinite(probe.held_out_loss(np.array([0, 0])))


def test_gradients_are_those_of_the_gates_and_land_nowhere_else(probe: Probe) -> None:
    batch = probe.valid_batch()
    gates, rows = tracked([0, 1], (2, 2))
    loss, slopes = probe.gradients(gates, batch, rows)
    assert loss == pytest.approx(probe.losses(np.array([[0, 1]]), batch)[0], rel=1e-5)
    assert probe.passes == 2
    step = 1e-3
    for i, pick in enumerate((0, 1)):
        moved = [row.detach().clone() for row in rows]
        found = []
        for sign in (1, -1):
            moved[i][pick] = 1.0 + sign * step
            found.append(probe.gradients(mixture(moved), batch, [])[0])
        assert slopes[i][pick].item() == pytest.approx((found[0] - found[1]) / (2 * step), abs=2e-3)
        assert slopes[i][1 - pick] == 0
    supernet = probe._supernet
    assert all(param.grad is None for param in supernet.parameters())  # type: ignore[attr-defined]


def test_weights_are_constants_that_follow_the_supernet(probe: Probe) -> None:
    weights = probe.weights()
    assert not any(weight.requires_grad for weight in weights.values())
    supernet = probe._supernet
    with torch.no_grad():
        for param in supernet.parameters():  # type: ignore[attr-defined]
            param.add_(1.0)
    named = dict(supernet.named_parameters())  # type: ignore[attr-defined]
    assert all(torch.equal(weight, named[name]) for name, weight in probe.weights().items())


def test_gradients_by_weights_are_asked_for_by_giving_them(probe: Probe) -> None:
    batch = probe.train_batch()
    held = {name: weight.detach().requires_grad_() for name, weight in probe.weights().items()}
    _, slopes = probe.gradients(one_path([0, 1]), batch, list(held.values()), held)
    assert any(slope.abs().max() > 0 for slope in slopes)
    assert not any(weight.requires_grad for weight in probe.weights().values())
    _, none = probe.gradients(one_path([0, 1]), batch, tracked([0, 1], (2, 2))[1])
    assert all(slope.abs().max() == 0 for slope in none)


def test_gradients_that_are_no_numbers_are_an_error() -> None:
    valid = part(35, 1)
    valid.target[3] = float("inf")
    supernet = tabular_space(3, 1, 2, (2, 4)).supernet(0)
    streams = BatchStream(valid, 35, 0), BatchStream(valid, 35, 1)
    broken = Probe(supernet, mean_square, *streams, valid)
    gates, rows = tracked([0, 1], (2, 2))
    with pytest.raises(DivergedError):
        broken.gradients(gates, broken.valid_batch(), rows)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_pieces_of_a_batch_have_the_gradient_of_the_whole(probe: Probe, count: int) -> None:
    """With five workers and eight rows the batch stays whole."""
    batch = probe.valid_batch()
    rows = [torch.tensor([0.3, 0.7], requires_grad=True) for _ in range(2)]
    whole_loss, whole = probe.gradients(mixture([row * 2 for row in rows]), batch, rows)
    probe.workers = VirtualWorkers(count)
    loss, slopes = probe.gradients(mixture([row * 2 for row in rows]), batch, rows)
    assert loss == pytest.approx(whole_loss, rel=1e-5)
    assert probe.passes == 2
    for one, other in zip(slopes, whole, strict=True):
        assert one.shape == other.shape
        torch.testing.assert_close(one, other)


def test_scores_are_the_same_however_many_workers_there_are(probe: Probe) -> None:
    batch = probe.valid_batch()
    several = [one_path([i % 2, i // 2 % 2]) for i in range(7)]
    alone = probe.scores(several, batch).tolist()
    assert alone == [probe.score(gates, batch) for gates in several]
    assert len(set(alone)) == 4
    for count in (2, 3, 8):
        probe.workers = VirtualWorkers(count)
        assert probe.scores(several, batch).tolist() == alone
    assert probe.passes == 14 + 3 * 7


def test_findings_are_dealt_out_and_their_passes_counted(probe: Probe) -> None:
    batch = probe.valid_batch()

    def look(number: int) -> list[float]:
        loss, _ = probe.whole_gradients(one_path([number % 2, 1]), batch, [])
        return [loss, float(number)]

    alone = probe.dealt(look, 5, 2)
    probe.workers = VirtualWorkers(3)
    assert probe.dealt(look, 5, 2).tolist() == alone.tolist()
    assert alone[:, 1].tolist() == [*range(5)]
    assert probe.passes == 10
