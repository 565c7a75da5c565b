"""The command that explains a run, for reports of runs that were not explained yet."""

from __future__ import annotations

import shlex

from meritnas.report.run_files import RunFiles


def explain_lead(run: RunFiles, file: str, what: str) -> str:
    """The sentence before a command: what it finds out, and why that is not here if it was once."""
    why = ""
    if run[file]:
        why = f"{file}.json is not about this network. "
    elif (run.folder / f"{file}.json").is_file():
        why = f"{file}.json has nothing that can be read. "
    return f"{why}This finds out {what}:"


_CALLS = {
    "": "meritnas.explain({run!r}, data=data)",
    "failures": "meritnas.explain_failures({run!r}, data=data)",
    "modalities": "meritnas.explain_modalities({run!r}, ['gaussian'], data=data)",
}
_FLAGS = {"": "", "failures": " --failures", "modalities": " --modalities --noise gaussian"}


def explain_code(run: RunFiles, what: str = "") -> str:
    """The command that explains a run; for data in memory, which no command has, the call.

    Args:
        run: it.
        what: "failures" or "modalities" for these alone.
    """
    folder, data = str(run.folder), run.config.get("data")
    if isinstance(data, dict) and data.get("location") is None:
        return _CALLS[what].format(run=folder)
    return f"meritnas explain {shlex.quote(folder)}{_FLAGS[what]}"
