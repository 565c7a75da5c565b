"""How much memory this process may have."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_OF_A_CONTAINER = Path("/sys/fs/cgroup/memory.max")


def machine_memory() -> int | None:
    """Bytes that this process may have at most; None where that cannot be told."""
    try:
        known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    except (AttributeError, OSError, ValueError):
        return None
    with suppress(OSError, ValueError):  # no container, or one without a bound
        known.append(int(_OF_A_CONTAINER.read_text()))
    return min(known)
