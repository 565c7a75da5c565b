"""The widths of a trained network as decisions: its units, the most important first."""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional as F

from meritnas.errors import SpaceError, told
from meritnas.nn.follows import Follows, Normal, Units

_KEPT = (0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)

_ELEMENTWISE = (
    *(nn.ReLU, nn.ReLU6, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.LeakyReLU, nn.ELU),
    *(nn.Hardswish, nn.Identity, nn.Dropout, nn.Dropout2d),
)
_POOLING = (nn.MaxPool2d, nn.AvgPool2d, nn.AdaptiveAvgPool2d, nn.AdaptiveMaxPool2d)
_FUNCTIONS = (
    *(F.relu, F.gelu, F.silu, F.leaky_relu, F.dropout, F.max_pool2d, F.avg_pool2d),
    *(F.adaptive_avg_pool2d, torch.relu, torch.tanh, torch.sigmoid),
)
_METHODS = ("relu", "tanh", "sigmoid", "contiguous")
_JOINING = (operator.add, operator.iadd, torch.add, operator.mul, torch.mul)
_FLATTENING = (torch.flatten,)


def prunable(
    module: nn.Module, example: Tensor, kept: Sequence[float] = _KEPT, divisor: int = 1
) -> nn.Module:
    """A trained network whose widths are decisions, which a search makes smaller.

    It is a copy that computes what the network computes. Units that are added to each other go
    together; in each layer they are sorted by the norm of all weights that make or read them, so
    that a narrower layer has the most important ones. What is not understood stays as it is.

    Args:
        module: trained; its layers are linear ones, convolutions and norms, and what is between
            them keeps units apart (activations, pooling, sums, flattening).
        example: a batch that it reads.
        kept: the shares of units that may be kept; 1 for all is always among them.
        divisor: widths are multiples of this, or whole.

    Raises:
        SpaceError: Its code cannot be traced, or no width in it can be decided.
    """
    shares = sorted({*kept, 1.0})
    if not all(isinstance(share, int | float) and 0 < share <= 1 for share in shares):
        raise SpaceError(f"the shares of units to keep are above 0 and at most 1, got {told(kept)}")
    whole = copy.deepcopy(module)
    try:
        graph = fx.symbolic_trace(whole.eval())
    except Exception as error:
        raise SpaceError(
            f"this network cannot be traced ({type(error).__name__}: {error}), so that nobody "
            "knows which layers read which; write a build function with decided widths"
        ) from error
    with torch.no_grad():
        ShapeProp(graph).propagate(example)
    found = _Flow(dict(whole.named_modules()))
    for node in graph.graph.nodes:
        found.read(node)
    groups = [group for group in found.groups() if not group.fixed and group.units > 1]
    if not groups:
        raise SpaceError(
            "no width of this network can be decided: each is read by something that is no linear "
            "layer, convolution or norm; write a build function with decided widths"
        )
    for group in groups:
        group.sort(found.modules)
    _put_in(whole, found, groups, shares, divisor)
    return whole.train(module.training)


@dataclass(eq=False)
class _Group:
    """Units that go together.

    Attributes:
        units: how many.
        fixed: whether all must stay.
        makers: names of layers that make them.
        readers: (names of layers that read them, numbers of each unit).
        norms: names of norms over them.
    """

    units: int
    fixed: bool = False
    makers: list[str] = field(default_factory=list)
    readers: list[tuple[str, int]] = field(default_factory=list)
    norms: list[str] = field(default_factory=list)

    @torch.no_grad()
    def sort(self, modules: dict[str, nn.Module]) -> None:
        """Put the most important units first, everywhere."""
        squares = torch.zeros(self.units)
        for name in self.makers:
            squares += _rows(modules[name]).square().sum(1)
        for name, each in self.readers:
            squares += _columns(modules[name], each).square().sum((0, 2))
        for name in self.norms:
            weight = modules[name].weight
            if isinstance(weight, Tensor):
                squares += weight.square()
        order = torch.sort(squares, descending=True, stable=True).indices
        for name in (*self.makers, *self.norms):
            for tensor in modules[name].state_dict().values():
                if tensor.dim():
                    tensor.copy_(tensor[order])
        for name, each in self.readers:
            weight = modules[name].weight
            assert isinstance(weight, Tensor)
            places = (order[:, None] * each + torch.arange(each)).flatten()
            weight.copy_(weight[:, places])


def _rows(layer: nn.Module) -> Tensor:
    assert isinstance(layer.weight, Tensor)
    return layer.weight.flatten(1)


def _columns(layer: nn.Module, each: int) -> Tensor:
    """Weights [outputs, units, all else]."""
    assert isinstance(layer.weight, Tensor)
    weight = layer.weight.flatten(2) if layer.weight.dim() > 2 else layer.weight.unsqueeze(2)
    return weight.reshape(len(weight), weight.shape[1] // each, -1)


class _Flow:
    """Which units flow where, node by node of a graph."""

    def __init__(self, modules: dict[str, nn.Module]) -> None:
        self.modules = modules
        self._parents: dict[_Group, _Group] = {}
        self._at: dict[fx.Node, tuple[_Group, int] | None] = {}  # and numbers of each unit
        self.inputs: dict[str, tuple[_Group, int] | None] = {}
        self.outputs: dict[str, _Group] = {}

    def groups(self) -> list[_Group]:
        """All that there are, in the order in which they are made."""
        return [group for group in self._parents if self._parents[group] is group]

    def root(self, group: _Group) -> _Group:
        """The group that a group has become a part of."""
        while self._parents[group] is not group:
            group = self._parents[group]
        return group

    def at(self, node: Any) -> tuple[_Group, int] | None:
        """The units that a node holds, if they are known."""
        found = self._at.get(node) if isinstance(node, fx.Node) else None
        return None if found is None else (self.root(found[0]), found[1])

    def read(self, node: fx.Node) -> None:
        """Follow the units through one node."""
        self._at[node] = None
        first = node.all_input_nodes[0] if node.all_input_nodes else None
        if node.op == "call_module" and len(node.all_input_nodes) == 1:
            self._at[node] = self._through(str(node.target), node, first)
        elif self._keeps(node) and len(node.all_input_nodes) == 1:
            self._at[node] = self.at(first)
        elif self._flattens(node):
            self._at[node] = self._flattened(first)
        elif node.op == "call_function" and node.target in _JOINING:
            self._at[node] = self._joined(node)
        elif _is_shape(node):
            return
        else:
            self._fix(node)

    def _through(self, name: str, node: fx.Node, first: Any) -> tuple[_Group, int] | None:
        layer, before = self.modules[name], self.at(first)
        used_again = name in self.outputs
        depthwise = isinstance(layer, nn.Conv1d | nn.Conv2d) and layer.groups > 1
        if used_again or (depthwise and (before is None or not _is_depthwise(layer))):
            self._fix(node)
            if used_again:
                self.outputs[name].fixed = True
            return None
        if depthwise or isinstance(layer, Normal):
            if before is None or before[1] != 1 or not _over_units(layer, before[0]):
                self._fix(node)
                return None
            kind = before[0].makers if depthwise else before[0].norms
            kind.append(name)
            self.inputs[name], self.outputs[name] = before, before[0]
            return before
        if isinstance(layer, nn.Linear | nn.Conv1d | nn.Conv2d):
            if isinstance(layer, nn.Linear) and len(_shape(first)) != 2:
                self._fix(node)  # which dimension are units of is not known
                before = None
            group = _Group(len(_rows(layer)), makers=[name])
            self._parents[group] = group
            if before is not None:
                before[0].readers.append((name, before[1]))
            self.inputs[name], self.outputs[name] = before, group
            return group, 1
        if isinstance(layer, nn.Flatten):
            return self._flattened(first) if layer.start_dim == 1 else self._fix(node)
        if isinstance(layer, (_ELEMENTWISE, _POOLING)):
            return before
        return self._fix(node)

    def _keeps(self, node: fx.Node) -> bool:
        """Whether it leaves units as they are: an activation, pooling, a mean over places."""
        if (node.op == "call_method" and node.target == "mean") or node.target is torch.mean:
            over = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim")
            return over in ((2, 3), [2, 3], (-2, -1), [-2, -1]) and not node.kwargs.get("keepdim")
        if node.op == "call_method":
            return node.target in _METHODS
        return node.op == "call_function" and node.target in _FUNCTIONS

    def _flattens(self, node: fx.Node) -> bool:
        named = node.op == "call_method" and node.target == "flatten"
        return (named or node.target in _FLATTENING) and 1 in node.args[1:2]

    def _flattened(self, first: Any) -> tuple[_Group, int] | None:
        before, shape = self.at(first), _shape(first)
        return None if before is None else (before[0], before[1] * math.prod(shape[2:]))

    def _joined(self, node: fx.Node) -> tuple[_Group, int] | None:
        """Units that are added are one group."""
        sides = [self.at(one) for one in node.all_input_nodes]
        one = sides[0] if sides else None
        if len(node.args) == 2 and len(sides) == 1:  # with a number
            return one
        if len(sides) != 2 or any(side is None for side in sides):
            return self._fix(node)
        (left, each), (right, other) = sides  # type: ignore[misc]
        same = _shape(node.all_input_nodes[0]) == _shape(node.all_input_nodes[1])
        if each != other or not same:
            return self._fix(node)
        if left is not right:
            self._parents[right] = left
            left.makers += right.makers
            left.readers += right.readers
            left.norms += right.norms
            left.fixed |= right.fixed
        return left, each

    def _fix(self, node: fx.Node) -> tuple[_Group, int] | None:
        """What a node reads in a way that is not understood must stay as it is; None."""
        for one in node.all_input_nodes:
            before = self.at(one)
            if before is not None:
                before[0].fixed = True
        return None


def _is_depthwise(layer: nn.Module) -> bool:
    assert isinstance(layer, nn.Conv1d | nn.Conv2d)
    return layer.groups == layer.in_channels == layer.out_channels


def _over_units(layer: nn.Module, group: _Group) -> bool:
    if isinstance(layer, nn.LayerNorm):
        return layer.normalized_shape == (group.units,) and layer.bias is not None
    return True


def _shape(node: Any) -> tuple[int, ...]:
    found = node.meta.get("tensor_meta")
    return tuple(found.shape) if hasattr(found, "shape") else ()


def _is_shape(node: fx.Node) -> bool:
    """Whether it asks about sizes only, or is where something comes in."""
    name = getattr(node.target, "__name__", node.target)
    return node.op in ("placeholder", "get_attr") or name in ("getattr", "size", "dim")


def _put_in(
    whole: nn.Module, flow: _Flow, groups: Sequence[_Group], shares: Sequence[float], divisor: int
) -> None:
    """Put `Follows` in the place of every layer that a decided group flows through."""
    named: dict[_Group, Units] = {}
    for group in groups:
        widths = {max(1, round(share * group.units / divisor) * divisor) for share in shares}
        fitting = tuple(sorted({min(width, group.units) for width in widths} | {group.units}))
        if len(fitting) > 1:
            named[group] = Units(group.makers[0], fitting, 1, group.units)

    def units(at: tuple[_Group, int] | None, count: int) -> Units:
        group = None if at is None else flow.root(at[0])
        if at is None or group not in named:
            return Units(None, (), 1, count)
        own = named[group]
        return Units(own.decision, own.widths, at[1], count)

    for name, made in flow.outputs.items():
        layer = flow.modules[name]
        inputs, outputs = units(flow.inputs[name], _reads(layer)), units((made, 1), made.units)
        if inputs.decision is not None or outputs.decision is not None:
            parent, _, own = name.rpartition(".")
            setattr(whole.get_submodule(parent), own, Follows(layer, inputs, outputs))


def _reads(layer: nn.Module) -> int:
    if isinstance(layer, nn.Linear):
        return layer.in_features
    return layer.in_channels if isinstance(layer, nn.Conv1d | nn.Conv2d) else 0
