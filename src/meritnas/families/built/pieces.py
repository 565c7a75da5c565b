"""What each part of a network costs, found by running it on torch's meta device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from meritnas.families.int8_weights import packed_bytes
from meritnas.families.live_memory import peak_by_place
from meritnas.families.stored_size import stored_bytes

Signature = tuple[type, str, tuple[int, ...]]
"""A layer's kind, its settings, and the shape that it reads: what its time follows from."""

_PLAIN = (
    *(nn.Linear, nn.Conv1d, nn.Conv2d, nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm, nn.GroupNorm),
    *(nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.PReLU, nn.LeakyReLU, nn.ELU),
    *(nn.Hardswish, nn.Identity, nn.MaxPool2d, nn.AvgPool2d, nn.Dropout, nn.AdaptiveAvgPool2d),
)
"""Layers whose outputs' shape and multiply-adds follow from their settings as printed."""


@dataclass(frozen=True)
class Piece:
    """What one module of a network costs, without the modules inside it.

    Attributes:
        params: its weights.
        stored: bytes of its weights and buffers in a file.
        in_int8: the same in a file of 8-bit weights.
        flops: multiply-adds of its matrix products and convolutions for one row.
        signature: what its time follows from, where that can be measured alone.
    """

    params: int
    stored: int
    in_int8: int
    flops: int
    signature: Signature | None


Pieces = Mapping[str, Piece]
"""By the module's name."""


@dataclass
class Observer:
    """Runs networks on the meta device; layers that were run before are not run again.

    Attributes:
        known: of a layer with such settings: the shape that it gives, its multiply-adds.
    """

    known: dict[Signature, tuple[torch.Size, int]] = field(default_factory=dict)

    def pieces(self, network: nn.Module, inputs: Tensor) -> dict[str, Piece]:
        """What each module of a network costs.

        Args:
            network: on the device of the inputs; it is changed, and thrown away afterwards.
            inputs: one row.
        """
        names = {module: name for name, module in network.named_modules()}
        watch = _Watch(names)
        network.eval()
        with ExitStack() as hooks:
            for module in names:
                hooks.enter_context(self._watched(module, watch))
            with torch.no_grad(), _Counting(watch):
                network(inputs)
        found = {}
        for module, name in names.items():
            params = sum(p.numel() for p in module._parameters.values() if p is not None)
            own = _own_tensors(module)
            prefix = f"{name}." if name else ""
            flops, signature = watch.flops.get(name, 0), watch.signatures.get(name)
            if params or own or flops or signature is not None:
                stored = stored_bytes(own, prefix) if own else 0
                found[name] = Piece(params, stored, packed_bytes(own), flops, signature)
        return found

    def peaks(self, network: nn.Module, inputs: Tensor) -> dict[str, int]:
        """The most bytes of activations that are alive while operations of each module run.

        Args:
            network: on the device of the inputs; it is changed, and thrown away afterwards.
            inputs: one row.
        """
        watch = _Watch({module: name for name, module in network.named_modules()})
        network.eval()
        for module in watch.names:
            module.forward = partial(_inside, module, module.forward, watch)
        return peak_by_place(network, [inputs], watch.running)

    @contextmanager
    def _watched(self, module: nn.Module, watch: _Watch) -> Iterator[None]:
        run = module.forward
        if type(module) in _PLAIN and not module._forward_hooks:
            module.forward = partial(self._known_layer, module, run, watch)
        else:
            module.forward = partial(_inside, module, run, watch)
        yield

    def _known_layer(
        self, module: nn.Module, run: Callable[..., Any], watch: _Watch, inputs: Tensor
    ) -> Any:
        name = watch.names[module]
        key = (type(module), module.extra_repr(), tuple(inputs.shape))
        watch.signatures[name] = key
        if key not in self.known:
            with watch.inside(name):
                before = watch.flops.get(name, 0)
                outputs = run(inputs)
            self.known[key] = (outputs.shape, watch.flops.get(name, 0) - before)
            return outputs
        shape, flops = self.known[key]
        watch.add(name, flops)
        return torch.empty(shape, device=inputs.device)


class _Watch:
    """Which module is running, and what was counted for each."""

    def __init__(self, names: Mapping[nn.Module, str]) -> None:
        self.names = names
        self.flops: dict[str, int] = {}
        self.signatures: dict[str, Signature] = {}
        self._running = [""]

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """While a module runs."""
        self._running.append(name)
        try:
            yield
        finally:
            self._running.pop()

    def running(self) -> str:
        """The name of the module that runs."""
        return self._running[-1]

    def add(self, name: str, flops: int) -> None:
        """So many more for a module."""
        if flops:
            self.flops[name] = self.flops.get(name, 0) + flops

    def count(self, flops: int) -> None:
        """So many more for what is running."""
        self.add(self._running[-1], flops)


def _inside(
    module: nn.Module, run: Callable[..., Any], watch: _Watch, *inputs: Any, **named: Any
) -> Any:
    with watch.inside(watch.names[module]):
        return run(*inputs, **named)


class _Counting(TorchDispatchMode):
    """Counts the multiply-adds of matrix products and convolutions, whoever calls them."""

    def __init__(self, watch: _Watch) -> None:
        super().__init__()
        self._watch = watch

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Otherwise torch would load its compiler, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        count = flop_registry.get(func._overloadpacket)
        if count is not None:  # an operation of two numbers each
            self._watch.count(count(*args, **(kwargs or {}), out_val=found) // 2)
        return found


def _own_tensors(module: nn.Module) -> dict[str, Tensor]:
    """What of a module itself stands in a file."""
    kept = {
        name: buffer
        for name, buffer in module._buffers.items()
        if buffer is not None and name not in module._non_persistent_buffers_set
    }
    return {**{n: p for n, p in module._parameters.items() if p is not None}, **kept}
