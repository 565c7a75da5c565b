"""What a network in C takes of a device, as `c.json` says it, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.names import metric_name
from meritnas.report.numbers import score_text

FILE = "c.json"


def c_lines(costs: Mapping[str, Any]) -> Sequence[str]:
    """Flash, RAM and, where it is in int8, scores before and after; a line each."""
    code, by = costs.get("code_bytes"), costs.get("compiled_by")
    constants = f"{costs.get('constant_bytes', 0):,} bytes of constants in {costs.get('numbers')}"
    compiled = "code unknown, as there is no cc" if code is None else f"{code:,} of code ({by})"
    arena, peak = costs.get("arena_bytes", 0), costs.get("counted_peak_bytes", 0)
    counted = "as --max-peak-kb counts" if arena == peak else f"--max-peak-kb counts {peak:,}"
    lines = [f"- flash: {constants}, {compiled}", f"- RAM: {arena:,} bytes of arena, {counted}"]
    scores = costs.get("scores", {})
    for name, before in scores.get("float32", {}).items():
        after = score_text(scores["int8"][name])
        told = f"{score_text(before)} in float32, {after} in int8"
        lines.append(f"- {metric_name(name)} on {costs['test_rows']:,} test rows: {told}")
    return lines
