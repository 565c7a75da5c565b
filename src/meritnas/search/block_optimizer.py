from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.sgd import sgd

from meritnas.search.recipe import ADAM_EPS, TrainRecipe
from meritnas.supernet.supernet import leading_block

Extents = Mapping[str, tuple[int, ...]]


def decay_matrices(weights: Sequence[Tensor], factor: float) -> None:
    """Multiply weights with at least two dimensions; biases and the like stay."""
    matrices = [weight for weight in weights if weight.ndim > 1]
    if matrices:
        torch._foreach_mul_(matrices, factor)


class BlockOptimizer:
    """Adam or SGD that updates only the leading blocks of parameters that a path used.

    TabNAS (section 3.1) updates only the weights of the sampled child. A zero gradient is not
    enough for that: momentum would still move the rest. Here weights and optimiser state beyond a
    block are neither read nor written, so a step costs what the child costs, not the supernet.

    `leaves` hands out the blocks as tensors to differentiate: views of the parameters where a
    block is contiguous in memory, else copies that `step` writes back.

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
        self._steps = {name: torch.zeros(()) for name in self._params}
        self._fused = {param.device.type for param in self._params.values()} <= {"cpu", "cuda"}

    def leaves(self, extents: Extents) -> dict[str, Tensor]:
        """The blocks, ready for autograd."""
        leaves = {}
        for name, extent in extents.items():
            param = self._params[name]
            block = leading_block(param, extent).contiguous()
            # The stored tensor itself must never start to record gradients.
            leaves[name] = (block.detach() if block is param else block).requires_grad_()
        return leaves

    @torch.no_grad()
    def step(self, leaves: Mapping[str, Tensor], grads: tuple[Tensor, ...], rate: float) -> None:
        """Update the blocks behind these leaves, in place."""
        weights = list(leaves.values())
        blocks = {
            name: [leading_block(moment, leaf.shape) for moment in self._moments[name]]
            for name, leaf in leaves.items()
        }
        moments = [[block.contiguous() for block in found] for found in blocks.values()]
        if self._recipe.weight_decay:
            decay_matrices(weights, self._recipe.decay_at(rate))
        self._apply(weights, list(grads), moments, [self._steps[name] for name in leaves], rate)
        for (name, leaf), found in zip(leaves.items(), moments, strict=True):
            if leaf.data_ptr() != self._params[name].data_ptr():
                leading_block(self._params[name], leaf.shape).copy_(leaf)
            for block, moved in zip(blocks[name], found, strict=True):
                if block.data_ptr() != moved.data_ptr():
                    block.copy_(moved)

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
                weight_decay=0.0,
                momentum=0.9,
                lr=rate,
                dampening=0.0,
                nesterov=False,
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
            weight_decay=0.0,
            eps=ADAM_EPS,
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
