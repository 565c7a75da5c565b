"""What a run or an exported file costs by itself, held against its limits."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from meritnas.errors import UsageError
from meritnas.exporting.c.source import HEADER as C_HEADER
from meritnas.exporting.c.source import SOURCE as C_SOURCE
from meritnas.exporting.int8_python import int8_weights
from meritnas.exporting.measured_c import measure_c
from meritnas.exporting.measured_files import (
    measure_folder,
    measure_onnx,
    measure_torch,
    weights_file,
)
from meritnas.exporting.measured_module import Found, measure_module
from meritnas.exporting.preprocessing_export import FILE as DESCRIBED
from meritnas.exporting.python_export import SOURCE
from meritnas.exporting.trained import load_trained, network_input
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import FILE as INT8_FILE
from meritnas.families.source import WEIGHTS
from meritnas.plugins import Trusted
from meritnas.settings.checks import check_arguments
from meritnas.settings.limits import Limits
from meritnas.store.checked_path import checked_path
from meritnas.store.run_store import RunStore

_OWN_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class Check:
    """One cost of a network, as it was found, and its limit.

    Attributes:
        cost: params, flops, size, size-int8, peak or latency; or file, the bytes of a file that
            has more than weights.
        found: in whole units of the cost; None where this form does not tell.
        limit: at most this; None for no limit.
        how: how it was found, or why not.
    """

    cost: str
    found: int | None
    limit: int | None
    how: str

    @property
    def breached(self) -> bool:
        """Whether it is more than the limit."""
        return self.found is not None and self.limit is not None and self.found > self.limit


@dataclass(frozen=True)
class Verified:
    """What a network costs by itself.

    Attributes:
        path: the run, the folder or the file.
        checks: of each cost.
        rungs: networks of the run's trade-off curve next to this one, a sentence each.
    """

    path: Path
    checks: tuple[Check, ...]
    rungs: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether every limit is kept, as far as this form tells."""
        return not any(check.breached for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        checks = [{**asdict(check), "breached": check.breached} for check in self.checks]
        return {
            "path": str(self.path),
            "kept": self.kept,
            "checks": checks,
            "rungs": list(self.rungs),
        }


def verify(
    path: str | Path,
    limits: Limits | None = None,
    network: str | None = None,
    run_code: bool = False,
    trust: Trusted = (),
) -> Verified:
    """Count and measure what a network costs, from what was written, and compare with its limits.

    Of a run the network is built anew and gets the run's weights. Of an exported file what the file
    itself holds is counted; the limits that it was made under are in `preprocessing.json` beside
    it. Latency is the median of many calls with one row, in one thread, on this machine.

    Args:
        path: a run's folder; `model.onnx`; `model.pt2`; `model.c`; or a folder with `model.py`.
        limits: others than the network's own.
        network: of a run, one on its trade-off curve instead.
        run_code: whether `model.py` may be run, to count and measure what its file does not tell.
        trust: of a run, what of a user's own may be imported.

    Raises:
        UsageError: There is nothing that can be verified.
    """
    check_arguments(verify, network=network, run_code=run_code)
    given = checked_path("path", path)
    if (given / "config.json").is_file():
        return _run(given, limits, network, trust)
    if network is not None:
        raise UsageError(f"{given} is no run; leave out the network, or name the run")
    place, found = _file(given, run_code=run_code)
    own = _kept_limits(place.parent) if limits is None else limits.by_cost()
    return Verified(place, _checks(found, own))


def _file(given: Path, *, run_code: bool) -> tuple[Path, Mapping[str, Found]]:
    """What a file tells of each cost."""
    if given.suffix == ".onnx":
        return given, measure_onnx(given)
    if given.suffix == ".pt2":
        return given, measure_torch(given)
    if given.name in (C_SOURCE, C_HEADER):
        return given.parent / C_SOURCE, measure_c(given.parent)
    folder = given.parent if given.name in (SOURCE, WEIGHTS, INT8_FILE) else given
    if (folder / SOURCE).is_file() and (folder / weights_file(folder)).is_file():
        return folder / SOURCE, measure_folder(folder, run_code=run_code)
    if (folder / C_SOURCE).is_file() and (folder / C_HEADER).is_file():
        return folder / C_SOURCE, measure_c(folder)
    raise UsageError(
        f"{given} is nothing that can be verified; give a run, model.onnx, model.pt2, {C_SOURCE}, "
        f"or a folder with {SOURCE} and {WEIGHTS}"
    )


def _run(given: Path, limits: Limits | None, network: str | None, trust: Trusted) -> Verified:
    trained = load_trained(given, network, trust)
    store = RunStore.open(given)
    result = store.decode("result.json", dict)
    stored = (trained.folder / _OWN_WEIGHTS).stat().st_size
    found = {
        **measure_module(trained.predictor.module, *network_input(trained)),
        "size": Found(stored, f"bytes of {_OWN_WEIGHTS}"),
    }
    held = trained.limits if limits is None else limits.by_cost()
    if INT8_SIZE in held:
        packed = len(int8_weights(trained.predictor.module))
        found[INT8_SIZE] = Found(packed, f"bytes of {INT8_FILE}, made of the run's weights")
    checks = _checks(found, held)
    return Verified(given, checks, tuple(_rungs(result, trained.architecture.text)))


def _kept_limits(folder: Path) -> dict[str, int]:
    """The limits that an export was made under; none where the file beside it is not there."""
    path = folder / DESCRIBED
    if not path.is_file():
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8")).get("limits", {})
        return {str(cost): int(limit) for cost, limit in found.items()}
    except (ValueError, AttributeError, TypeError) as error:
        raise UsageError(f"{path} is damaged ({error}); export the network again") from error


def _checks(found: Mapping[str, Found], limits: Mapping[str, int]) -> tuple[Check, ...]:
    told = [
        Check(cost, each.amount, limits.get(cost), each.how)
        for cost, each in found.items()
        if each.amount is not None or cost in limits
    ]
    others = [
        Check(cost, None, limit, "is not counted again")
        for cost, limit in limits.items()
        if cost not in found
    ]
    return (*told, *others)


def _rungs(result: Mapping[str, Any], text: str) -> Sequence[str]:
    """What the next larger and the next smaller network of the curve have, beside this one."""
    rows = sorted(result.get("pareto", ()), key=lambda row: row["params"])
    here = next((row for row in rows if row["architecture"] == text), None)
    if here is None:
        return ()
    smaller = [row for row in rows if row["params"] < here["params"]][-1:]
    larger = [row for row in rows if row["params"] > here["params"]][:1]
    pairs = [("smaller", row) for row in smaller] + [("larger", row) for row in larger]
    return [_rung(word, row, here) for word, row in pairs]


def _rung(word: str, row: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    metric = next(iter(row["test"]))
    change = row["test"][metric] - here["test"][metric]
    params = row["params"] - here["params"]
    return (
        f"the next {word} network, {row['short']}: {row['params']:,} parameters ({params:+,}), "
        f"{metric} {row['test'][metric]:.4g} ({change:+.2g})"
    )
