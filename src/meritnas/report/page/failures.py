"""What a run says about how its network fails, for the sections that show it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meritnas.prepare.config import kind_of_run
from meritnas.report.explain_hint import explain_code, explain_lead
from meritnas.report.page.section import Section
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork


def failures_of(run: RunFiles) -> Mapping[str, Any]:
    """The run's failures.json; nothing where there is none, or where it is of another network."""
    found = run["failures"]
    return found if found.get("weights") == run.weights_digest else {}


def rows_text(run: RunFiles) -> str:
    """What the numbers are of: `the 113 test rows`."""
    found, what = failures_of(run), kind_of_run(run.config).rows
    looked, every = int(found["rows"]), int(found["of"])
    if looked == every:
        return f"the {every:,} test {what}"
    return f"{looked:,} of the {every:,} test {what}, drawn at random"


def failures_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """How to find out how the network fails, for a run that does not say it."""
    del network
    if failures_of(run) or not run.finished or not run["result"].get("test"):
        return None
    lead = explain_lead(run, "failures", "which test rows the network gets wrong, and how")
    return Section("failures", "How it fails", lead, code=explain_code(run, "failures"))
