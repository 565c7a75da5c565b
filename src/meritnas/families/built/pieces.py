"""What each part of a network costs, found by running it on torch's meta device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from meritnas.families.int8_weights import packed_bytes
from meritnas.families.live_memory import peak_by_place
from meritnas.families.stored_size import stored_bytes

Layer = tuple[type, str, tuple[int, ...]]
"""A layer's kind, its settings, and the shape that it reads: what its time follows from."""


class Call(NamedTuple):
    """One of torch's operations, and what it was given."""

    operation: Any
    arguments: Sequence[Any]
    named: Mapping[str, Any]


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
    """

    params: int
    stored: int
    in_int8: int
    flops: int


@dataclass
class Observer:
    """Runs networks on the meta device; layers that were run before are not run again.

    Attributes:
        known: of a layer with such settings: the shape that it gives, its multiply-adds.
    """

    known: dict[Layer, tuple[torch.Size, int]] = field(default_factory=dict)

    def pieces(self, network: nn.Module, inputs: Tensor) -> dict[str, Piece]:
        """What each module of a network costs.

        Args:
            network: on the device of the inputs; it is changed, and thrown away afterwards.
            inputs: one row.
        """
        watch = self._run(network, inputs)
        found = {}
        for module, name in watch.names.items():
            params = sum(p.numel() for p in module._parameters.values() if p is not None)
            own = _own_tensors(module)
            prefix = f"{name}." if name else ""
            flops = watch.flops.get(name, 0)
            if params or own or flops:
                stored = stored_bytes(own, prefix) if own else 0
                found[name] = Piece(params, stored, packed_bytes(own), flops)
        return found

    def calls(self, network: nn.Module, inputs: Tensor) -> dict[str, Layer | Call]:
        """What runs: layers whose work follows from their settings, and operations outside them.

        By the name of the module and a number that counts what runs in it. Views, which compute
        nothing, and operations that read no tensor are left out.

        Args:
            network: on the device of the inputs; it is changed, and thrown away afterwards.
            inputs: one row.
        """
        return self._run(network, inputs).calls

    def _run(self, network: nn.Module, inputs: Tensor) -> _Watch:
        watch = _Watch({module: name for name, module in network.named_modules()})
        network.eval()
        for module in watch.names:
            if type(module) in _PLAIN and not module._forward_hooks:
                module.forward = partial(self._known_layer, module, module.forward, watch)
            else:
                module.forward = partial(_inside, module, module.forward, watch)
        with torch.no_grad(), _Counting(watch):
            network(inputs)
        return watch

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

    def _known_layer(
        self, module: nn.Module, run: Callable[..., Any], watch: _Watch, inputs: Tensor
    ) -> Any:
        name = watch.names[module]
        key = (type(module), module.extra_repr(), tuple(inputs.shape))
        watch.note(name, key)
        if key not in self.known:
            with watch.inside_layer(name):
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
        self.calls: dict[str, Layer | Call] = {}
        self._running = [""]
        self._in_layer = False
        self._noted: dict[str, int] = {}

    @contextmanager
    def inside(self, name: str) -> Iterator[None]:
        """While a module runs."""
        self._running.append(name)
        try:
            yield
        finally:
            self._running.pop()

    @contextmanager
    def inside_layer(self, name: str) -> Iterator[None]:
        """While a layer runs that is noted as a whole."""
        self._in_layer = True
        try:
            with self.inside(name):
                yield
        finally:
            self._in_layer = False

    def note(self, name: str, call: Layer | Call) -> None:
        """Something runs in a module."""
        number = self._noted[name] = self._noted.get(name, 0) + 1
        self.calls[f"{name}#{number}"] = call

    def operation(self, call: Call) -> None:
        """An operation runs in what is running, if that is not noted as a whole."""
        if not self._in_layer:
            self.note(self._running[-1], call)

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
    """Notes operations, and the multiply-adds of matrix products and convolutions."""

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
        if not func.is_view and any(isinstance(one, Tensor) for one in tree_leaves(args)):
            self._watch.operation(Call(func, args, kwargs or {}))
        return found


def _own_tensors(module: nn.Module) -> dict[str, Tensor]:
    """What of a module itself stands in a file."""
    kept = {
        name: buffer
        for name, buffer in module._buffers.items()
        if buffer is not None and name not in module._non_persistent_buffers_set
    }
    return {**{n: p for n, p in module._parameters.items() if p is not None}, **kept}
