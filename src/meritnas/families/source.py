"""Python source of a network, taken from the files that its classes are written in.

Files of children import torch, the standard library and each other; `meritnas.errors` and
`meritnas.wording` only for checks, which are left out of what is written.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from meritnas.errors import UsageError
from meritnas.families.collector import Collector

_WIDEST = 100
WEIGHTS = "weights.safetensors"
"""The file beside the source."""

LOAD = '''def load(path: str | Path | None = None) -> Network:
    """The trained network, ready to use; None for the weights beside this file."""
    stored = Path(path or Path(__file__).with_name("weights.safetensors")).read_bytes()
    start = 8 + int.from_bytes(stored[:8], "little")
    network = Network()
    weights = network.state_dict()
    for name, about in json.loads(stored[8:start]).items():
        if name != "__metadata__":
            first, end = about["data_offsets"]
            numbers = torch.frombuffer(
                bytearray(stored[start + first : start + end]), dtype=weights[name].dtype
            )
            weights[name] = numbers.reshape(about["shape"])
    network.load_state_dict(weights)
    return network.eval()
'''

_LOAD_INT8 = '''def load(path: str | Path | None = None) -> Network:
    """The trained network, ready to use; None for the weights beside this file.

    Matrices and kernels are whole numbers of 8 bits in the file, with a scale for each row.
    """
    stored = Path(path or Path(__file__).with_name("weights-int8.safetensors")).read_bytes()
    start = 8 + int.from_bytes(stored[:8], "little")
    parts = {}
    for name, about in json.loads(stored[8:start]).items():
        first, end = about["data_offsets"]
        parts[name] = bytearray(stored[start + first : start + end])

    def take(part: str, kind: torch.dtype, *shape: int) -> torch.Tensor:
        numbers = torch.Size(shape).numel()
        if not numbers:
            return torch.empty(shape, dtype=kind)
        found = torch.frombuffer(parts[part][: numbers * kind.itemsize], dtype=kind)
        del parts[part][: numbers * kind.itemsize]
        return found.reshape(shape)

    network = Network()
    weights = network.state_dict()
    for name, own in sorted(weights.items()):
        if name.endswith("num_batches_tracked"):  # of use in training alone
            continue
        if own.dtype != torch.float32 or name.endswith(("running_mean", "running_var")):
            weights[name] = take("bytes", own.dtype, *own.shape)
        elif own.dim() > 1 and own.numel() >= 2 * len(own):
            numbers = take("int8", torch.int8, *own.shape)
            scales = take("scales", torch.float32, len(own))
            weights[name] = numbers * scales.reshape(-1, *[1] * (own.dim() - 1))
        else:
            weights[name] = take("float32", torch.float32, *own.shape)
    if any(parts.values()):
        raise ValueError("the file has more weights than the network")
    network.load_state_dict(weights)
    return network.eval()
'''


def with_int8_weights(source: str) -> str:
    """The same file of a network, for weights as `families.int8_weights` packs them."""
    if not source.endswith(LOAD):
        raise UsageError(
            "this space writes its networks itself, and their weights in float32; leave out "
            "--quantize"
        )
    return source.removesuffix(LOAD) + _LOAD_INT8


def network_source(
    child: type,
    arguments: Mapping[str, Any],
    text: str,
    about: str,
    methods: str = "",
) -> str:
    """A file with the network as a torch Module, and all that it is made of; needs torch only.

    Args:
        child: the class of such networks.
        arguments: of its `__init__`, plain values; tables of what names stand for are written
            with the names that are among them only.
        text: the architecture's.
        about: what the docstring of the class says.
        methods: more of the class, indented.
    """
    collector = Collector(frozenset(_words(arguments)))
    collector.add(child.__module__, child.__name__)
    collector.need("json")
    collector.need("torch")
    given = "".join(
        f"            {name}={_literal(v, 12, name)},\n" for name, v in arguments.items()
    )
    network = (
        f'class Network({child.__name__}):\n    """{about}"""\n\n'
        f"    def __init__(self) -> None:\n        super().__init__(\n{given}        )\n{methods}"
    )
    collector.add_names(child.__module__, methods)
    # Names of modalities are in it, which may hold what would end a docstring.
    wrapped = textwrap.fill(escaped(text), 96, break_long_words=False, break_on_hyphens=False)
    return f'''"""A network that MeritNAS found; needs torch.

{wrapped}

preprocessing.json says how data becomes inputs, and what scores stand for.
"""

from __future__ import annotations

{collector.imports()}
{collector.definitions()}


{network}

{LOAD}'''


def escaped(name: str) -> str:
    """A name as it can stand in comments and docstrings."""
    return json.dumps(name, ensure_ascii=False)[1:-1]


def _words(value: Any) -> Iterator[str]:
    """All texts in plain values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in (*value.keys(), *value.values()):
            yield from _words(each)
    elif isinstance(value, Sequence):
        for each in value:
            yield from _words(each)


def _literal(value: Any, indent: int, name: str = "") -> str:
    """A plain value as Python, on several lines where it is too long for one."""
    line = _flat(value)
    fits = indent + len(name) + 1 + len(line) + 1 <= _WIDEST
    if fits or not isinstance(value, list | tuple | Mapping):
        return line
    deeper = indent + 4
    room = " " * deeper
    if isinstance(value, Mapping):
        rows = [f"{_flat(k)}: {_literal(v, deeper, _flat(k) + ' ')}" for k, v in value.items()]
        begin, end = "{}"
    else:
        rows = [_literal(each, deeper) for each in value]
        begin, end = "[]" if isinstance(value, list) else "()"
    return begin + "\n" + "".join(f"{room}{row},\n" for row in rows) + " " * indent + end


def _flat(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_flat(k)}: {_flat(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flat, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_flat, value)) + ("," if len(value) == 1 else "") + ")"
    return repr(value)
