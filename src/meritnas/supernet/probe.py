"""A strategy's only access to the supernet; it counts every pass."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
import torch
from torch import Tensor

from meritnas.data.bundle import Part
from meritnas.data.rows_at_once import rows_at_once
from meritnas.data.stream import Batch, BatchToRead, Stream, joined
from meritnas.devices.placement import beside, on_cpu, zeros_beside
from meritnas.devices.precision import computing_in, single
from meritnas.errors import DivergedError
from meritnas.supernet.gates import Gates, one_path
from meritnas.supernet.supernet import Recurrent, Supernet, module_of
from meritnas.workers.virtual import VirtualWorkers

_COMMON_SEED = 0

Loss = Callable[[Tensor, Tensor, Tensor | None], Tensor]
"""(outputs [n, outputs], target [n], weights of the rows [n] or None) -> mean loss, or score."""


class Probe:
    """A strategy's only window on the supernet; it counts every pass.

    Args:
        supernet: what is looked at.
        loss: what weights are trained for and architectures judged by.
        train: batches to train weights on.
        valid: batches that beliefs learn on.
        held: the whole part that architectures are judged on, which those usually come from.
        score: how good outputs are, the larger the better; minus the loss if None.
        workers: who computes the losses of several architectures.
        precision: in which the supernet computes.
        held_passes: what a judgement on `held` costs, where `valid` has batches of another part.

    Attributes:
        workers: as above.
        passes: forward passes of a batch so far, whoever asked for them and whoever computed them.
    """

    def __init__(
        self,
        supernet: Supernet,
        loss: Loss,
        train: Stream,
        valid: Stream,
        held: Part,
        score: Loss | None = None,
        workers: VirtualWorkers | None = None,
        precision: str = "float32",
        held_passes: int | None = None,
    ) -> None:
        self._supernet = supernet
        self._loss = loss
        self._train = train
        self._valid = valid
        self._held = held
        self._score = score or (lambda *outputs: -loss(*outputs))
        self._precision = precision
        self._held_passes = held_passes
        self._constants: dict[str, Tensor] | None = None
        self.workers = workers or VirtualWorkers()
        self.passes = 0

    @property
    def evaluation_passes(self) -> int:
        """What `held_out_loss` costs, in passes of a validation batch."""
        return self._held_passes or self._valid.steps_per_epoch

    @property
    def epoch_steps(self) -> int:
        """How many weight steps make an epoch; in each, every worker takes a training batch."""
        return max(1, self._train.steps_per_epoch // self.workers.count)

    def train_batch(self) -> Batch:
        """The next batch to train weights on, for all workers together."""
        return self._train.next()

    def train_batches(self) -> Sequence[BatchToRead]:
        """The next batch of each worker to train weights on."""
        return self._train.of_workers(self.workers.count)

    def valid_batch(self) -> Batch:
        """The next batch to judge architectures on."""
        return self._valid.next()

    def valid_rows(self, rows: int) -> Batch:
        """The next batches to judge on as one, until there are so many rows, or all of a part."""
        batches = [self._valid.next()]
        size = len(batches[0].target)
        for _ in range(min(-(-rows // size), self._valid.steps_per_epoch) - 1):
            batches.append(self._valid.next())
        return joined(batches)

    def loss(self, gates: Gates, batch: Batch, weights: Mapping[str, Tensor]) -> Tensor:
        """The loss under gates with these tensors in place of the supernet's parameters.

        Where batches continue each other, what the network remembers is carried on, but no gradient
        (truncated back-propagation through time).
        """
        self.passes += 1
        if batch.carry is None:
            outputs = self._outputs(batch.inputs, gates, weights)
        else:
            outputs, state = self._advanced(batch, gates, weights)
            batch.carry.after = state.detach()
        return self._loss(outputs, batch.target, batch.weights)

    def _outputs(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        with computing_in(self._precision, inputs):
            return single(self._supernet(inputs, gates, weights))

    def _advanced(
        self, batch: Batch, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The outputs of a batch that goes on where another ended, and the state after it."""
        assert isinstance(self._supernet, Recurrent)
        assert batch.carry is not None
        with computing_in(self._precision, batch.inputs):
            outputs, state = self._supernet.advance(batch.inputs, gates, weights, batch.carry.state)
        return single(outputs), single(state)

    def weights(self) -> dict[str, Tensor]:
        """The supernet's weights by name, as constants: views without a gradient, not copies."""
        if self._constants is None:
            named = module_of(self._supernet).named_parameters()
            self._constants = {name: param.detach() for name, param in named}
        return dict(self._constants)

    def gradients(
        self,
        gates: Gates,
        batch: Batch,
        leaves: Sequence[Tensor],
        weights: Mapping[str, Tensor] | None = None,
    ) -> tuple[float, list[Tensor]]:
        """The loss under gates, and its gradient by each leaf; zeros where it does not count.

        Every worker takes a piece of the batch; loss and gradients are means over all rows, as of
        the whole batch but for norms with the statistics of a batch, which are those of a piece.
        A batch of less than two rows for each worker is not divided.

        Args:
            gates: usually tracked ones.
            batch: what to judge on.
            leaves: tensors that record gradients: gates, or some of `weights`.
            weights: in place of the supernet's own, which are taken as constants.
        """
        count, rows, passes = self.workers.count, len(batch.target), self.passes
        if count == 1 or rows < 2 * count:
            return self.whole_gradients(gates, batch, leaves, weights)
        bounds = [v * rows // count for v in range(count + 1)]

        def work(v: int) -> Tensor:
            piece = batch.piece(bounds[v], bounds[v + 1])
            loss, found = self.whole_gradients(gates, piece, leaves, weights, again=True)
            share = (bounds[v + 1] - bounds[v]) / rows
            return share * torch.cat(
                [torch.tensor([loss]), *(on_cpu(one.reshape(-1)) for one in found)]
            )

        sizes = [leaf.numel() for leaf in leaves]
        shares = self.workers.each(work, [1 + sum(sizes)] * count)
        self.passes = passes + 1  # of the batch, whoever looked at its pieces
        total = functools.reduce(operator.add, shares)
        found = zip(total[1:].split(sizes), leaves, strict=True)
        return float(total[0]), [beside(one.view_as(leaf), leaf) for one, leaf in found]

    def whole_gradients(
        self,
        gates: Gates,
        batch: Batch,
        leaves: Sequence[Tensor],
        weights: Mapping[str, Tensor] | None = None,
        *,
        again: bool = False,
    ) -> tuple[float, list[Tensor]]:
        """The same by one worker alone.

        Nothing lands on the supernet's own weights, and nothing is kept for their gradients.

        Args:
            gates: usually tracked ones.
            batch: what to judge on.
            leaves: tensors that record gradients: gates, or some of `weights`.
            weights: in place of the supernet's own, which are taken as constants.
            again: whether what gates and weights were made from is needed another time.
        """
        if weights is None:
            own = self.weights()
            weights = {name: own[name] for name in self._supernet.blocks(gates)}
        loss = self.loss(gates, batch, weights)
        if not torch.isfinite(loss):
            raise DivergedError
        if not leaves or not loss.requires_grad:
            return loss.item(), [torch.zeros_like(leaf) for leaf in leaves]
        found = torch.autograd.grad(loss, list(leaves), retain_graph=again, allow_unused=True)
        gradients = [
            torch.zeros_like(leaf) if gradient is None else gradient
            for leaf, gradient in zip(leaves, found, strict=True)
        ]
        # Gates may be on another device than weights.
        norms = [beside(norm, loss) for norm in torch._foreach_norm(gradients)]
        if not torch.isfinite(torch.stack(norms)).all():
            raise DivergedError
        return loss.item(), gradients

    def losses(self, picks: np.ndarray, batch: Batch) -> np.ndarray:
        """Losses [n] of architectures given as a pick matrix [n, decisions], without gradients.

        Rows are dealt out to the workers like cards.
        """
        self.passes += len(picks)
        count = self.workers.count
        lengths = [len(picks[v::count]) for v in range(count)]
        shares = self.workers.each(lambda v: self._losses(picks[v::count], batch), lengths)
        losses = np.empty(len(picks))
        for v, share in enumerate(shares):
            losses[v::count] = share.tolist()
        if not np.isfinite(losses).all():
            raise DivergedError
        return losses

    def _losses(self, picks: np.ndarray, batch: Batch) -> Tensor:
        with torch.no_grad():
            with computing_in(self._precision, batch.inputs):
                outputs = self._supernet.each(batch.inputs, picks.tolist())
            found = [self._loss(single(one), batch.target, batch.weights) for one in outputs]
        return torch.stack(found) if found else zeros_beside(batch.inputs, 0)

    def remembering(self) -> AbstractContextManager[None]:
        """Inside, `score` and `loss_under` compute once what gates leave as it was on a batch."""
        return self._supernet.remembering()

    def loss_under(self, gates: Gates, batch: Batch) -> float:
        """The loss under gates on a batch, without gradients; nothing is carried on."""
        self.passes += 1
        with torch.no_grad():
            if batch.carry is None:
                outputs = self._outputs(batch.inputs, gates)
            else:
                outputs, _ = self._advanced(batch, gates)
            found = float(self._loss(outputs, batch.target, batch.weights))
        if not np.isfinite(found):
            raise DivergedError
        return found

    def score(self, gates: Gates, batch: Batch) -> float:
        """How good the network under gates is on a batch, without gradients."""
        return float(self.scores([gates], batch)[0])

    def scores(self, several: Sequence[Gates], batch: Batch) -> np.ndarray:
        """The same for several gates: scores [n].

        Each worker takes some that follow each other, as neighbours have more in common.
        """
        self.passes += len(several)
        count = self.workers.count
        bounds = [v * len(several) // count for v in range(count + 1)]

        def work(v: int) -> Tensor:
            own = several[bounds[v] : bounds[v + 1]]
            found = [self._score_of(gates, batch) for gates in own]
            return torch.tensor(found, dtype=torch.float64)

        lengths = [bounds[v + 1] - bounds[v] for v in range(count)]
        scores = torch.cat(self.workers.each(work, lengths)).numpy()
        if not np.isfinite(scores).all():
            raise DivergedError
        return scores

    def _score_of(self, gates: Gates, batch: Batch) -> float:
        with torch.no_grad():
            outputs = self._outputs(batch.inputs, gates)
            return float(self._score(outputs, batch.target, batch.weights))

    def dealt(self, work: Callable[[int], Sequence[float]], items: int, width: int) -> np.ndarray:
        """What some work with the probe finds out about each item: numbers [items, width].

        Items are dealt out to the workers like cards; passes count whoever makes them.

        Args:
            work: item -> numbers [width].
            items: how many there are.
            width: how many numbers each comes to.
        """
        count, passes = self.workers.count, self.passes

        def share(v: int) -> Tensor:
            rows = []
            for item in range(v, items, count):
                self.passes = 0
                rows.append([*work(item), self.passes])
            return torch.tensor(rows, dtype=torch.float64).reshape(-1)

        lengths = [len(range(v, items, count)) * (width + 1) for v in range(count)]
        found = np.empty((items, width + 1))
        for v, numbers in enumerate(self.workers.each(share, lengths)):
            found[v::count] = numbers.numpy().reshape(-1, width + 1)
        self.passes = passes + int(found[:, width].sum())
        return found[:, :width]

    def held_out_loss(self, picks: np.ndarray) -> float:
        """The one-shot loss of one architecture [decisions] on the whole validation part."""
        return float(self.held_out_losses(picks[None])[0])

    def held_out_losses(self, picks: np.ndarray) -> np.ndarray:
        """The same for each row of a pick matrix [n, decisions]: losses [n]."""
        self.passes += self.evaluation_passes * len(picks)
        losses = self._losses_on(self._held, picks)
        if not np.isfinite(losses).all():
            raise DivergedError
        return losses

    def common_losses(self, picks: np.ndarray, rows: int) -> np.ndarray:
        """One-shot losses [n] of architectures [n, decisions] on the same validation rows.

        Args:
            picks: option indices, a row for each architecture.
            rows: so many of the validation part, the same at every call; all where it has fewer.

        Returns:
            Not finite for an architecture whose outputs are not.
        """
        part = self._held
        if rows < len(part):
            # At random, as a part may be in the order of its classes.
            generator = torch.Generator().manual_seed(_COMMON_SEED)
            part = part.rows(torch.randperm(len(part), generator=generator)[:rows])
        passes = -(-self.evaluation_passes * len(part) // len(self._held))
        self.passes += passes * len(picks)
        return self._losses_on(part, picks)

    def _losses_on(self, part: Part, picks: np.ndarray) -> np.ndarray:
        """Mean one-shot losses [n] of architectures [n, decisions] on a part.

        Networks and pieces of the part are dealt out to the workers together, like cards.
        """
        at_once = rows_at_once(part.inputs)
        starts = range(0, len(part), at_once)
        jobs = [(gates, s) for gates in map(one_path, picks.tolist()) for s in starts]
        count = self.workers.count

        def work(v: int) -> Tensor:
            found = [self._piece(gates, part.slice(s, s + at_once)) for gates, s in jobs[v::count]]
            return torch.stack(found) if found else torch.empty(0, dtype=torch.float64)

        lengths = [len(jobs[v::count]) for v in range(count)]
        pieces = np.empty(len(jobs))
        for v, share in enumerate(self.workers.each(work, lengths)):
            pieces[v::count] = share.tolist()
        # One after the other, as they are in the part, and not in numpy's order.
        rows = pieces.reshape(len(picks), len(starts)).tolist()
        return np.array([functools.reduce(operator.add, row, 0.0) for row in rows]) / len(part)

    def _piece(self, gates: Gates, rows: Part) -> Tensor:
        """The sum of the losses of some rows, in double precision."""
        with torch.no_grad():
            loss = self._loss(self._outputs(rows.inputs, gates), rows.target, rows.weights)
            return on_cpu(loss.double()) * len(rows)

    @property
    def rows_at_once(self) -> int:
        """How many validation rows a network is given at a time."""
        return rows_at_once(self._held.inputs)

    def state_dict(self) -> dict[str, Any]:
        """Where the batches stand, and the count of passes."""
        return {
            "train": self._train.state_dict(),
            "valid": self._valid.state_dict(),
            "passes": self.passes,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        self._train.load_state_dict(state["train"])
        self._valid.load_state_dict(state["valid"])
        self.passes = state["passes"]
