"""What takes long to make and is never changed, made once for all workers of pytest-xdist."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that the first worker who asks for it fills; others wait for that.

    Args:
        factory: of the session.
        name: of the folder.
        make: fills a folder, empty but for that.
    """
    own = factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    place = shared / name
    with FileLock(f"{place}.lock"):
        if not place.exists():
            part = Path(tempfile.mkdtemp(dir=shared))
            make(part)
            part.rename(place)
    return place
