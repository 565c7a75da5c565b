"""The gradients of a weight step: of one path, or the mean over the paths of several workers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from meritnas.data.stream import Batch, BatchToRead, Carry
from meritnas.supernet.gates import Gates
from meritnas.supernet.probe import Probe
from meritnas.supernet.supernet import Remembering, Supernet, leading_block
from meritnas.training.block_optimizer import BlockOptimizer, Extents

Drawn = tuple[Gates, BatchToRead]
"""What one worker trains in a step, and on what, which is read where it is computed."""


@dataclass(frozen=True)
class WeightGradients:
    """What a weight step moves, and by which gradients.

    Attributes:
        loss: the mean over workers, without gradient.
        leaves: blocks of weights by name, as `BlockOptimizer.leaves` gives them.
        grads: one for each leaf; None where it took no part.
        used: for blocks that nobody used whole, which of their numbers somebody used: booleans.
    """

    loss: Tensor
    leaves: Mapping[str, Tensor]
    grads: Sequence[Tensor | None]
    used: Mapping[str, Tensor] = field(default_factory=dict)


def path_gradients(
    probe: Probe, supernet: Supernet, optimizer: BlockOptimizer, drawn: Drawn
) -> WeightGradients:
    """Of the only worker's path."""
    gates, batch = drawn[0], drawn[1].read()
    leaves = optimizer.leaves(supernet.blocks(gates))
    loss = probe.loss(gates, batch, leaves)
    # A path of zeros may leave out what is usually trained.
    grads = torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)
    return WeightGradients(loss.detach(), leaves, grads)


def mean_gradients(
    probe: Probe, supernet: Supernet, optimizer: BlockOptimizer, drawn: Sequence[Drawn]
) -> WeightGradients:
    """Of the paths of all workers, block by block: the mean over those that used a weight.

    Leading blocks of one weight may differ between workers. Then each of its numbers is divided
    by how many workers used it, and what lies in the smallest block around them, but in none of
    theirs, is not `used`.

    Sums are made on every rank, in the order of workers, so that all ranks have the same bits
    whatever their number.
    """
    blocks = [supernet.blocks(gates) for gates, _ in drawn]
    passes = probe.passes

    def work(v: int) -> Tensor:
        found = path_gradients(probe, supernet, optimizer, drawn[v])
        carry = _carry(drawn[v])
        after = None if carry is None else carry.after
        return torch.cat([_flat(found), *([] if after is None else [after.reshape(-1)])])

    states = [_remembered(supernet, one) for one in drawn]
    lengths = [_flat_length(own) + state for own, state in zip(blocks, states, strict=True)]
    # Rows that are read where they are trained on stay with the rank that has read others of them.
    loads = lengths if all(isinstance(batch, Batch) for _, batch in drawn) else None
    shares = probe.workers.each(work, lengths, loads)
    for one, share, state in zip(drawn, shares, states, strict=True):
        _carry_on(one, share[len(share) - state :])
    probe.passes = passes + len(drawn)  # whoever made them
    losses: list[Tensor] = []
    grads: dict[str, list[Tensor]] = {}
    for share, own in zip(shares, blocks, strict=True):
        losses.append(share[0])
        for name, grad in _grads_in(share, own):
            grads.setdefault(name, []).append(grad)
    means = {name: _mean(found) for name, found in grads.items()}
    leaves = optimizer.leaves({name: tuple(mean.shape) for name, (mean, _) in means.items()})
    used = {name: part for name, (_, part) in means.items() if part is not None}
    return WeightGradients(
        torch.stack(losses).mean(), leaves, [mean for mean, _ in means.values()], used
    )


def _carry(one: Drawn) -> Carry | None:
    """Where the batch of a worker continues another one, what is carried on."""
    batch = one[1]  # one that is read where it is computed continues none
    return batch.carry if isinstance(batch, Batch) else None


def _remembered(supernet: Supernet, one: Drawn) -> int:
    """How many numbers a worker's network remembers of its batch."""
    if _carry(one) is None:
        return 0
    assert isinstance(supernet, Remembering)
    return len(one[1]) * supernet.remembered


def _carry_on(one: Drawn, numbers: Tensor) -> None:
    """Every rank has what all networks remember: any may go on with any stretch of a text."""
    carry = _carry(one)
    if carry is not None:
        carry.after = numbers.view(len(one[1]), -1).clone()


def _flat(found: WeightGradients) -> Tensor:
    """The loss, for each block whether it took part, and all gradients: one row of numbers."""
    took_part = found.loss.new_tensor([grad is not None for grad in found.grads])
    pairs = zip(found.leaves.values(), found.grads, strict=True)
    numbers = [(torch.zeros_like(leaf) if grad is None else grad) for leaf, grad in pairs]
    return torch.cat([found.loss.reshape(1), took_part, *(one.reshape(-1) for one in numbers)])


def _flat_length(blocks: Extents) -> int:
    return 1 + len(blocks) + sum(math.prod(extents) for extents in blocks.values())


def _grads_in(share: Tensor, blocks: Extents) -> Iterator[tuple[str, Tensor]]:
    """The gradients of the blocks that took part, from what `_flat` made."""
    took_part = share[1 : 1 + len(blocks)].tolist()
    sizes = [math.prod(extents) for extents in blocks.values()]
    numbers = share[1 + len(blocks) : _flat_length(blocks)].split(sizes)
    for (name, extents), took, grad in zip(blocks.items(), took_part, numbers, strict=True):
        if took:
            yield name, grad.view(extents)


def _mean(grads: Sequence[Tensor]) -> tuple[Tensor, Tensor | None]:
    """The mean over those that have a number, and which numbers anybody has if not all."""
    shapes = {grad.shape for grad in grads}
    if len(shapes) == 1:
        total = grads[0]
        for grad in grads[1:]:
            total = total + grad
        return (total / len(grads) if len(grads) > 1 else total), None
    around = [max(extents) for extents in zip(*shapes, strict=True)]
    total, count = grads[0].new_zeros(around), grads[0].new_zeros(around)
    for grad in grads:
        leading_block(total, grad.shape).add_(grad)
        leading_block(count, grad.shape).add_(1)
    used = count > 0
    return total / count.clamp(min=1), None if bool(used.all()) else used
