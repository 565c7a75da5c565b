"""A user's own network as a graph of torch's operations: drawn, and written as Python."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from itertools import count
from typing import Any

import torch
from torch import Tensor, fx, nn

from meritnas.errors import UsageError
from meritnas.families.drawing import Drawing, Node
from meritnas.families.source import LOAD, escaped
from meritnas.families.tabular.embed import EmbedTable

_NO_SOURCE = (
    "this network cannot be written as Python by itself ({}), because its source is yours; use "
    "--to onnx or --to torch-export"
)
_MOST_NODES = 60
_MOST_NUMBERS = 1000
"""That are written into a file of Python, of one tensor."""

_IMPORTED = ("torch", "device", "inf", "nan", "self", "getattr")
_SUMS = ("add", "iadd", "add_")
_FORGOTTEN = re.compile(r";  (?:\w+ = )+None$", re.MULTILINE)
"""What torch.fx writes after the last use of a name."""


class _DrawnTracer(fx.Tracer):
    """Takes the embeddings of a table's categories for one layer."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        """Whether a module is not looked into."""
        return isinstance(m, EmbedTable) or super().is_leaf_module(m, module_qualified_name)


def traced(network: nn.Module, tracer: fx.Tracer) -> fx.GraphModule | None:
    """A network as a graph; None where its code does not lend itself to that."""
    try:
        return fx.GraphModule(network, tracer.trace(network))
    except Exception:  # whatever a user's code does with what is no tensor
        return None


def drawing_of(network: nn.Module) -> tuple[Drawing, ...]:
    """The layers of a network, chains of them as one step; none where it cannot be traced."""
    graph = traced(network, _DrawnTracer())
    if graph is None:
        return ()
    modules = dict(graph.named_modules())
    inputs = [node.name for node in graph.graph.nodes if node.op == "placeholder"]
    steps: dict[fx.Node, tuple[str, list[str]]] = {}  # a source, and what is done to it
    nodes: list[Node] = []
    names: dict[fx.Node, str] = {}
    count = 0
    for node in graph.graph.nodes:
        read = [one for one in node.all_input_nodes if one in names or one in steps]
        if _is_shape(node, read):
            continue
        if node.op == "placeholder":
            names[node] = node.name
        elif node.op == "output":
            nodes.append(Node("output", tuple(_reading(one, steps, names) for one in read)))
        elif len(read) == 1 and _sums(node) is False:
            source, done = _chain(read[0], steps, names)
            steps[node] = (source, [*done, _words(node, modules)])
            if len(node.users) > 1:  # several read it, so it has a name
                count += 1
                nodes.append(Node(f"part {count}", (_reading(node, steps, names),)))
                names[node] = f"part {count}"
        elif read:
            count += 1
            joined = "" if _sums(node) else _words(node, modules)
            reads = tuple(_reading(one, steps, names) for one in read)
            nodes.append(Node(f"part {count}", reads, joined))
            names[node] = f"part {count}"
    if not nodes or len(nodes) > _MOST_NODES:
        return ()
    return (Drawing("network", tuple(inputs), tuple(nodes)),)


def _is_shape(node: fx.Node, read: list[fx.Node]) -> bool:
    """Whether it is about sizes and not about what flows."""
    if node.op in ("placeholder", "output"):
        return False
    return (
        not read
        or (_called(node) == "getattr" and "shape" in node.args)
        or (_called(node) in ("size", "dim", "numel"))
    )


def _chain(
    node: fx.Node, steps: dict[fx.Node, tuple[str, list[str]]], names: dict[fx.Node, str]
) -> tuple[str, list[str]]:
    return (names[node], []) if node in names else steps[node]


def _reading(
    node: fx.Node, steps: dict[fx.Node, tuple[str, list[str]]], names: dict[fx.Node, str]
) -> tuple[str, str]:
    source, done = _chain(node, steps, names)
    return source, ", ".join(word for word in done if word)


def _sums(node: fx.Node) -> bool:
    """Whether it is a sum of what it reads."""
    return node.op != "call_module" and _called(node) in _SUMS and len(node.all_input_nodes) > 1


def _called(node: fx.Node) -> str:
    return node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")


def _words(node: fx.Node, modules: dict[str, nn.Module]) -> str:
    """What a step does, in a word or two; nothing for what changes shapes only."""
    if node.op != "call_module":
        called = _called(node).removeprefix("_").rstrip("_")
        return "" if called in ("getattr", "getitem", "size", "view", "reshape") else called
    module = modules[str(node.target)]
    kind = type(module).__name__.lower()
    if isinstance(module, nn.Linear):
        return f"linear {module.out_features}"
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        return f"conv {'x'.join(map(str, module.kernel_size))}, {module.out_channels}"
    return "" if isinstance(module, nn.Identity) else kind


def source_of(network: nn.Module, text: str, about: str) -> str:
    """A Python file with a network that needs torch alone.

    Args:
        network: on a device where tensors have numbers.
        text: of the architecture.
        about: what it is.

    Raises:
        UsageError: Its code cannot be traced, or it has layers that are not torch's own.
    """
    graph = traced(network.eval(), fx.Tracer())
    if graph is None:
        raise UsageError(_NO_SOURCE.format("its forward depends on more than tensors"))
    _leave_out_identities(graph)
    lines = "\n".join(f"        {line}" for line in _made(network, graph.graph))
    forward = textwrap.indent(_forward(graph.graph), "    ")
    body = forward[forward.index("def forward") :]
    return f'''"""A network that MeritNAS found; needs torch.

{escaped(text)}

preprocessing.json says how data becomes inputs, and what scores stand for.
"""

from __future__ import annotations

import json
from math import inf, nan
from pathlib import Path

import torch
from torch import device, nn


def _put(
    network: nn.Module, path: str, part: nn.Module | torch.Tensor, stored: bool = True
) -> None:
    """Give a network a part at a place; what is on the way there is made.

    Args:
        network: to which.
        path: where.
        part: a layer, a parameter or another tensor.
        stored: whether a tensor is in the file of weights.
    """
    *way, name = path.split(".")
    for each in way:
        if each not in network._modules:
            network.add_module(each, nn.Module())
        network = network.get_submodule(each)
    if isinstance(part, nn.Module):
        network.add_module(name, part)
    elif isinstance(part, nn.Parameter):
        network.register_parameter(name, part)
    else:
        network.register_buffer(name, part, persistent=stored)


class Network(nn.Module):
    """{about}"""

    def __init__(self) -> None:
        super().__init__()
{lines}

    {body}


{LOAD}'''


def _leave_out_identities(graph: fx.GraphModule) -> None:
    for node in list(graph.graph.nodes):
        if node.op != "call_module" or not node.args:
            continue
        if type(graph.get_submodule(str(node.target))) is nn.Identity:
            node.replace_all_uses_with(node.args[0])
            graph.graph.erase_node(node)


def _forward(graph: fx.Graph) -> str:
    """What a graph does, as Python."""
    names = _few_names(graph)
    for number, node in enumerate(graph.nodes):
        node.name = f"value{number}value"  # torch.fx takes no name twice
        node.type = None  # annotations name what the file does not import
    code = graph.python_code("self")
    called = set(re.findall(r"\w+", code.src))
    strange = sorted(name for name in code.globals if name in called and name not in _IMPORTED)
    if strange:
        raise UsageError(_NO_SOURCE.format(f"it calls {', '.join(strange)}"))
    written = _FORGOTTEN.sub("", code.src.strip())
    named = re.sub(r"\bvalue(\d+)value\b", lambda found: names[int(found[1])], written)
    return re.sub(r"^ *(\w+) = \1\n", "", named, flags=re.MULTILINE)


def _few_names(graph: fx.Graph) -> list[str]:
    """Values are called x, y, z, as few as there are at a time: a name that is free is taken again.

    Returns:
        The name of each node.
    """
    last = {read: node for node in graph.nodes for read in node.all_input_nodes}
    inputs = [str(node.target) for node in graph.nodes if node.op == "placeholder"]
    fresh = (f"{'xyz'[k % 3]}{k // 3 or ''}" for k in count())
    names: dict[fx.Node, str] = {}
    free: list[str] = []
    for node in graph.nodes:
        free += [names[read] for read in node.all_input_nodes if last[read] is node]
        if node.op == "placeholder":
            names[node] = str(node.target)
        else:
            names[node] = free.pop() if free else next(n for n in fresh if n not in inputs)
        if node not in last:
            free.append(names[node])
    return list(names.values())


def _made(network: nn.Module, graph: fx.Graph) -> Iterator[str]:
    """Lines that make the parts of a network: layers that are called, tensors of their own."""
    called = {node.target for node in graph.nodes if node.op == "call_module"}
    read = {node.target for node in graph.nodes if node.op == "get_attr"}
    weights = network.state_dict()
    for name, module in network.named_modules():
        if name in called:
            yield f'_put(self, "{name}", {_layer(name, module)})'
            continue
        for own, tensor in [*module._parameters.items(), *module._buffers.items()]:
            place = f"{name}.{own}" if name else own
            read.discard(place)
            if tensor is not None and place in weights:
                yield f'_put(self, "{place}", {_stored(tensor)})'
            elif tensor is not None:
                yield f'_put(self, "{place}", {_written_out(place, tensor)}, stored=False)'
    for place in read:
        raise UsageError(_NO_SOURCE.format(f"it reads '{place}' by itself"))


def _layer(name: str, module: nn.Module) -> str:
    """How a layer is made."""
    made = ""
    try:
        made = _shortened(f"nn.{module!r}", inspect.signature(type(module)).parameters)
        again = eval(made, {"nn": nn})  # torch's own words for a layer of torch
    except Exception:
        again = None
    if type(again) is not type(module) or not _alike(again, module):
        raise UsageError(_NO_SOURCE.format(f"'{name}' is no layer of torch's own"))
    return made


def _shortened(made: str, parameters: Mapping[str, inspect.Parameter]) -> str:
    """A call without what is so by default, of which older versions of torch know less."""
    call = ast.parse(made, mode="eval").body
    assert isinstance(call, ast.Call)
    usual = {name: one.default for name, one in parameters.items()}
    call.keywords = [
        one for one in call.keywords if one.arg not in usual or not _is(one.value, usual[one.arg])
    ]
    return ast.unparse(call)


def _is(written: ast.expr, default: Any) -> bool:
    """Whether what is written is a default, which stands for all dimensions alike."""
    try:
        value = ast.literal_eval(written)
    except ValueError:  # a name, such as inf
        return False
    return all(one == default for one in (value if isinstance(value, tuple) else (value,)))


def _stored(tensor: Tensor) -> str:
    """How a tensor is made whose numbers are in the file of weights."""
    empty = f"torch.empty({tuple(tensor.shape)}, dtype={tensor.dtype})"
    return f"nn.Parameter({empty})" if isinstance(tensor, nn.Parameter) else empty


def _written_out(place: str, tensor: Tensor) -> str:
    """How a tensor is made whose numbers are in no file."""
    if tensor.numel() > _MOST_NUMBERS:
        raise UsageError(_NO_SOURCE.format(f"'{place}' is large and not among its weights"))
    return f"torch.tensor({tensor.tolist()}, dtype={tensor.dtype})"


def _alike(one: nn.Module, other: nn.Module) -> bool:
    def shapes(module: nn.Module) -> dict[str, torch.Size]:
        return {name: value.shape for name, value in module.state_dict().items()}

    return repr(one) == repr(other) and shapes(one) == shapes(other)
