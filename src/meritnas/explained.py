"""The front door for Python: how a run's network fails, where the run does not say it yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from meritnas.errors import StoreError, UsageError
from meritnas.plugins import Trusted
from meritnas.report.page.page import report_at_end
from meritnas.run.failing import FILE, write_failures
from meritnas.run.job import Job
from meritnas.store.checked_path import checked_path
from meritnas.store.run_store import RunStore


def explain_failures(run: str | Path, data: Any = None, trust: Trusted = ()) -> dict[str, Any]:
    """Find out which test rows a run's network gets wrong, and how; the run keeps it.

    Every run finds that out at its end. This is for runs of earlier versions, and for those whose
    failures.json was lost.

    Args:
        run: its folder; a run that has ended.
        data: the data, if the search was started with data in memory.
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.

    Returns:
        What failures.json has.

    Raises:
        UsageError: The run keeps no rows for testing.
        StoreError: It has no trained network yet.
    """
    with RunStore.take(checked_path("run", run)) as store:
        if not store.has("result.json"):
            raise StoreError(
                f"run {store.folder} has not ended yet; continue it with: "
                f"meritnas search --resume {store.folder}"
            )
        job = Job.reopen(store, data, trust)
        if not len(job.bundle.test):
            raise UsageError(
                f"run {store.folder} keeps no {job.prepared.kind.rows} for testing, so nothing can "
                "be said about them; search on more data"
            )
        write_failures(job, store)
        found: dict[str, Any] = store.read_json(FILE)
    report_at_end(store.folder)
    return found
