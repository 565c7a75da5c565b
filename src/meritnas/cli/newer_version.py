"""A note where a run was made by a newer version."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from meritnas.cli.messages import say
from meritnas.store.json_text import MOST_BYTES, parse_json, read_bytes
from meritnas.version import __version__, is_newer

Given = TypeVar("Given", Path, Path | None, str)


def tell_newer_version(run: Given) -> Given:
    """Say it where a newer version made a run that is about to be used; the run, as it is.

    Whoever opens the run complains about all else: its format, or that it is none.
    """
    try:
        config = parse_json(read_bytes(Path(run or "", "config.json"), MOST_BYTES))
        made = str(config["versions"]["meritnas"])
    except (OSError, ValueError, LookupError, TypeError):
        return run
    if run and is_newer(made):
        say(
            f"note: {run} was made by MeritNAS {made}, which is newer than {__version__}; where "
            "something looks wrong, use that version"
        )
    return run
