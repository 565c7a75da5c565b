"""Times operations on this device: one file that needs Python and torch, and nothing else.

    python device_times.py parts.json times.json

`meritnas latency ... --list parts.json` writes the parts, each a list of torch's operations with
the shapes of what they read. Each part is run on numbers made up, in one thread: in every round all
parts, eight times each. What is written is the median over nine rounds, in whole microseconds, by
the parts' keys; `meritnas search ... --latency-table times.json` takes that.
"""

from __future__ import annotations

import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

FORMAT = 1
ROUNDS = 9
CALLS = 8


def runnable(operations: list[dict[str, Any]], device: str) -> Callable[[], None]:
    """A function that runs operations one after the other.

    Args:
        operations: each with its `name`, such as `aten.relu.default`, and its arguments.
        device: where.
    """
    calls = []
    for operation in operations:
        namespace, name, overload = operation["name"].split(".")
        function = getattr(getattr(getattr(torch.ops, namespace), name), overload)
        arguments = [argument(one, device) for one in operation["args"]]
        named = {key: argument(one, device) for key, one in operation["kwargs"].items()}
        calls.append((function, arguments, named))

    def run() -> None:
        for function, arguments, named in calls:
            function(*arguments, **named)

    return run


def argument(value: Any, device: str) -> Any:
    """An argument as torch takes it, from how it is written."""
    if isinstance(value, list):
        return [argument(one, device) for one in value]
    if not isinstance(value, dict):
        return value
    if "shape" in value:
        kind = getattr(torch, value["dtype"])
        if kind.is_floating_point:
            return torch.rand(value["shape"], dtype=kind, device=device)
        return torch.zeros(value["shape"], dtype=kind, device=device)
    if "device" in value:
        return torch.device(device)
    return getattr(torch, value["torch"])


def measured(
    parts: dict[str, list[dict[str, Any]]], device: str = "cpu", rounds: int = ROUNDS
) -> dict[str, int]:
    """How long each part takes: whole microseconds, the median of some rounds."""
    runs = {key: runnable(operations, device) for key, operations in parts.items()}
    wait = torch.cuda.synchronize if device.startswith("cuda") else _no_wait
    found: dict[str, list[float]] = {key: [] for key in runs}
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.inference_mode():
            for number in range(rounds + 1):
                for key, run in runs.items():
                    wait()
                    begun = time.perf_counter()
                    for _ in range(CALLS):
                        run()
                    wait()
                    if number:  # the first round warms caches up
                        found[key].append((time.perf_counter() - begun) / CALLS)
    finally:
        torch.set_num_threads(before)
    return {key: max(1, round(1e6 * statistics.median(took))) for key, took in found.items()}


def _no_wait() -> None:
    pass


def machine() -> str:
    """What times are of."""
    return f"{platform.machine()} {platform.system()}, torch {torch.__version__}"


def main(arguments: list[str]) -> None:
    """Read a list of parts, write their times."""
    if len(arguments) not in (2, 3):
        sys.exit("usage: python device_times.py PARTS.json TIMES.json [DEVICE]")
    listed = json.loads(Path(arguments[0]).read_text(encoding="utf-8"))
    if listed.get("format") != FORMAT:
        sys.exit(f"{arguments[0]} is no list of parts of format {FORMAT}; make it again")
    device = arguments[2] if len(arguments) == 3 else "cpu"
    found = measured(listed["parts"], device)
    table = {"format": FORMAT, "machine": machine(), "microseconds": found}
    Path(arguments[1]).write_text(json.dumps(table, indent=1), encoding="utf-8")
    print(f"{len(found)} parts timed: {arguments[1]}")


if __name__ == "__main__":
    main(sys.argv[1:])
