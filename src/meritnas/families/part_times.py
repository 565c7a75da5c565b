"""Parts of networks as lists of operations, and their times from a table made elsewhere."""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from meritnas.data.files.plain_file import read_plain_file
from meritnas.devices.placement import placed
from meritnas.errors import UsageError
from meritnas.families.device_times import FORMAT, machine
from meritnas.families.latency import Clock, Parts, microseconds_on

Key = TypeVar("Key", bound=Hashable)


class Listing(Clock):
    """Writes parts down and says that each takes a microsecond.

    Attributes:
        parts: operations by the parts' keys.
    """

    def __init__(self) -> None:
        self.parts: dict[str, list[dict[str, Any]]] = {}

    def times(self, parts: Parts[Key], rounds: int) -> dict[Key, int]:
        """Nothing is run for its time."""
        del rounds
        for module, inputs in parts.values():
            operations = operations_of(module, inputs)
            self.parts[key_of(operations)] = operations
        return dict.fromkeys(parts, 1)

    def table(self) -> dict[str, Any]:
        """As `device_times` reads it."""
        return {"format": FORMAT, "parts": self.parts}


class Measuring(Clock):
    """Times parts on this machine and remembers what they took.

    Args:
        device: where they run.
    """

    def __init__(self, device: str = "cpu") -> None:
        self._device = device
        self._found: dict[str, int] = {}

    def times(self, parts: Parts[Key], rounds: int) -> dict[Key, int]:
        """As a search would time them."""
        found = microseconds_on(parts, self._device, rounds)
        for key, (module, inputs) in parts.items():
            self._found[key_of(operations_of(module, inputs))] = found[key]
        return found

    def table(self) -> dict[str, Any]:
        """As `KnownTimes` reads it."""
        return {"format": FORMAT, "machine": machine(), "microseconds": self._found}


class KnownTimes(Clock):
    """Says what a table says.

    Args:
        file: the table.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        content = read_plain_file(file)
        try:
            data = json.loads(content)
            known = dict(data["microseconds"])
            fits = data["format"] == FORMAT and all(
                isinstance(took, int) and not isinstance(took, bool) and took > 0
                for took in known.values()
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            fits, known = False, {}
        if not fits:
            raise UsageError(
                f"{file} is no table of times; make one with meritnas latency DATA --out FILE, or "
                "on another device with device_times.py"
            )
        self._known: dict[str, int] = known

    def times(self, parts: Parts[Key], rounds: int) -> dict[Key, int]:
        """Complains about a part that the table has no time of."""
        del rounds
        keys = {key: key_of(operations_of(*part)) for key, part in parts.items()}
        missing = [key for key in keys.values() if key not in self._known]
        if missing:
            raise UsageError(
                f"{self._file} has no time of {len(missing)} of {len(keys)} parts of these "
                "networks; make the table with meritnas latency from the same data, space and "
                "sizes, by the same versions of MeritNAS and torch"
            )
        return {key: self._known[name] for key, name in keys.items()}


class _Writer(TorchDispatchMode):
    """Writes down operations that make or change numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.operations: list[dict[str, Any]] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Otherwise torch would load its compiler, which takes seconds."""
        return False

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        operation = {
            "name": str(func),
            "args": [written(one) for one in args],
            "kwargs": {name: written(one) for name, one in (kwargs or {}).items()},
        }
        if not func.is_view:
            self.operations.append(operation)
        return func(*args, **(kwargs or {}))


def operations_of(module: Any, inputs: Tensor | tuple[Tensor, ...]) -> list[dict[str, Any]]:
    """The operations of a part, run without numbers where it can be."""
    given = (inputs,) if isinstance(inputs, Tensor) else inputs
    try:
        with torch.device("meta"):
            return _run(
                placed(copy.deepcopy(module), "meta"), [placed(one, "meta") for one in given]
            )
    except Exception:  # a user's own code may need numbers
        return _run(module, given)


def _run(module: Any, given: Sequence[Tensor]) -> list[dict[str, Any]]:
    with torch.no_grad(), _Writer() as writer:
        module(*given)
    return writer.operations


def key_of(operations: list[dict[str, Any]]) -> str:
    """What tells a part from others."""
    text = json.dumps(operations, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def written(value: Any) -> Any:
    """An argument of an operation as `device_times` reads it: of tensors, their shape."""
    if isinstance(value, Tensor):
        return {"shape": list(value.shape), "dtype": str(value.dtype).removeprefix("torch.")}
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    if isinstance(value, torch.device):
        return {"device": True}
    if isinstance(value, torch.dtype | torch.memory_format | torch.layout):
        return {"torch": str(value).removeprefix("torch.")}
    return value
