"""This version of MeritNAS, and whether another one is newer."""

from __future__ import annotations

import re

__version__ = "0.2.0"
"""Of this package."""


def is_newer(version: str) -> bool:
    """Whether a version comes after this one."""
    return _parts(version) > _parts(__version__)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
