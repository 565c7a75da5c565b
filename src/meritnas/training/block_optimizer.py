"""Adam and SGD that update only the part of the weights that a path used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from meritnas.devices.placement import CPU, has_fused_steps, zeros_on
from meritnas.settings.recipe import TrainRecipe
from meritnas.supernet.supernet import leading_block

Extents = Mapping[str, tuple[int, ...]]

_WHOLE: Mapping[str, Tensor] = MappingProxyType({})


def decay_matrices(weights: Sequence[Tensor], factor: float) -> None:
    """Multiply weights with at least two dimensions; biases and the like stay."""
    matrices = [weight for weight in weights if weight.ndim > 1]
    if matrices and factor != 1.0:
        torch._foreach_mul_(matrices, factor)


def clipped(grads: list[Tensor], most: float) -> list[Tensor]:
    """Gradients scaled down together so that their common norm is at most `most`.

    As `torch.nn.utils.clip_grad_norm_`, but copies: autograd may give one tensor for two weights.
    """
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(grads)))
    # On the device all along: nothing waits for the number.
    return list(torch._foreach_mul(grads, torch.clamp(most / (norm + 1e-6), max=1.0)))


class BlockOptimizer:
    """Adam or SGD that updates only the leading blocks of parameters that a path used.

    TabNAS (section 3.1) updates only the weights of the sampled child. A zero gradient is not
    enough for that: momentum would still move the rest. Here weights and optimiser state beyond a
    block are neither read nor written, so a step costs what the child costs, not the supernet.

    `leaves` hands out the blocks as tensors to differentiate: views of the parameters where a
    block is in one piece in memory, else copies that `step` writes back.

    Deviation: Adam's bias correction counts a parameter's steps, not each weight's (a weight
    seen for the first time late moves up to three times the usual first step).
    """

    def __init__(self, module: nn.Module, recipe: TrainRecipe) -> None:
        self._params = {name: param.detach() for name, param in module.named_parameters()}
        self._recipe = recipe
        count = 2 if recipe.optimizer == "adam" else 1
        self._moments = {
            name: [torch.zeros_like(param) for _ in range(count)]
            for name, param in self._params.items()
        }
        self._fused = has_fused_steps(self._params.values())
        # A fused kernel counts on its own device.
        self._steps = {
            name: zeros_on(param.device if self._fused else CPU)
            for name, param in self._params.items()
        }

    def leaves(self, extents: Extents) -> dict[str, Tensor]:
        """The blocks, ready for autograd."""
        leaves = {}
        for name, extent in extents.items():
            param = self._params[name]
            block = leading_block(param, extent)
            if not _in_one_piece(block):
                block = block.contiguous()
            # The stored tensor itself must never start to record gradients.
            leaves[name] = (block.detach() if block is param else block).requires_grad_()
        return leaves

    @torch.no_grad()
    def step(
        self,
        leaves: Mapping[str, Tensor],
        grads: Sequence[Tensor | None],
        rate: float,
        parts: Mapping[str, Tensor] = _WHOLE,
    ) -> None:
        """Update the blocks behind these leaves, in place.

        Args:
            leaves: as `leaves` gave them.
            grads: one for each leaf; None where a leaf took no part, which then keeps its
                weights, its momentum and its count of steps.
            rate: the learning rate.
            parts: for blocks that are not to be updated whole, which of their numbers are:
                booleans; the others keep their weights and their momentum.
        """
        pairs = list(zip(leaves.items(), grads, strict=True))
        used = {name: leaf for (name, leaf), grad in pairs if grad is not None}
        if not used:
            return
        weights = list(used.values())
        found = [grad for grad in grads if grad is not None]
        if self._recipe.clip is not None:
            found = clipped(found, self._recipe.clip)
        found = [_laid_out_as(grad, leaf) for grad, leaf in zip(found, weights, strict=True)]
        blocks = [
            [leading_block(moment, leaf.shape) for moment in self._moments[name]]
            for name, leaf in used.items()
        ]
        moments = [
            [_laid_out_as(block, leaf) for block in own]
            for own, leaf in zip(blocks, weights, strict=True)
        ]
        kept = _rest(used, moments, parts)
        decay_matrices(weights, self._recipe.decay_at(rate))
        self._apply(weights, found, moments, [self._steps[name] for name in used], rate)
        for tensor, rest, before in kept:
            tensor.masked_scatter_(rest, before)
        for name, leaf in used.items():
            if leaf.data_ptr() != self._params[name].data_ptr():
                leading_block(self._params[name], leaf.shape).copy_(leaf)
        for own, moved in zip(blocks, moments, strict=True):
            for block, new in zip(own, moved, strict=True):
                if block.data_ptr() != new.data_ptr():
                    block.copy_(new)

    def _apply(
        self,
        weights: list[Tensor],
        grads: list[Tensor],
        moments: list[list[Tensor]],
        steps: list[Tensor],
        rate: float,
    ) -> None:
        first = [found[0] for found in moments]
        if self._recipe.optimizer == "sgd":
            sgd(
                weights,
                grads,
                first,  # type: ignore[arg-type]
                fused=self._fused,
                weight_decay=self._recipe.gradient_decay,
                momentum=self._recipe.momentum,
                lr=rate,
                dampening=0.0,
                nesterov=self._recipe.nesterov,
                maximize=False,
            )
            return
        adam(
            weights,
            grads,
            first,
            [found[1] for found in moments],
            [],
            steps,
            fused=self._fused,
            amsgrad=False,
            beta1=0.9,
            beta2=0.999,
            lr=rate,
            weight_decay=self._recipe.gradient_decay,
            eps=self._recipe.adam_eps,
            maximize=False,
        )

    def state_dict(self) -> dict[str, Any]:
        """Moments and step counts by parameter name."""
        return {"moments": self._moments, "steps": self._steps}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue from a saved state."""
        for name, moments in self._moments.items():
            for moment, saved in zip(moments, state["moments"][name], strict=True):
                moment.copy_(saved)
            self._steps[name].copy_(state["steps"][name])


def _rest(
    used: Mapping[str, Tensor], moments: Sequence[Sequence[Tensor]], parts: Mapping[str, Tensor]
) -> list[tuple[Tensor, Tensor, Tensor]]:
    """What is to be put back after a step: (tensor, where it is not updated, what is there)."""
    kept = []
    for (name, leaf), own in zip(used.items(), moments, strict=True):
        if name in parts:
            rest = ~parts[name]
            kept += [(each, rest, each.masked_select(rest)) for each in (leaf, *own)]
    return kept


def _in_one_piece(block: Tensor) -> bool:
    """Whether a block has its numbers next to each other, in one of torch's two orders."""
    if block.is_contiguous():
        return True
    return block.ndim == 4 and block.is_contiguous(memory_format=torch.channels_last)


def _laid_out_as(tensor: Tensor, weight: Tensor) -> Tensor:
    """The tensor, or a copy of it that has its numbers in the same order in memory as the weight.

    Fused kernels on a CPU walk through memory and never ask which number is which.
    """
    if tensor.stride() == weight.stride():
        return tensor
    strides = zip(tensor.shape, tensor.stride(), weight.stride(), strict=True)
    if all(own == other for extent, own, other in strides if extent > 1):
        return tensor
    return torch.empty_like(weight).copy_(tensor)
