from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

# Threads change the order of sums, and a busy machine is no reason for a test to fail.
settings.register_profile("meritnas", deadline=None)
settings.load_profile("meritnas")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Runs set the number of threads for the whole process; every test starts with one."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """A run waits dozens of times until a file would outlive a power cut, which no test makes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield
