from __future__ import annotations

import gc
import os
from collections.abc import Iterator

import pytest
import torch
from hypothesis import settings

# A busy machine is no reason for a test to fail. New examples are for those who can look into
# what they show: a change is judged by the same ones each time.
settings.register_profile("meritnas", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("meritnas")


# What imports have made stays; looking through it for garbage took a fifth of the suite's time.
gc.freeze()
gc.set_threshold(50_000, 20, 20)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Runs set the number of threads for the whole process; every test starts with one.

    Threads change the order of sums.
    """
    torch.set_num_threads(1)


@pytest.fixture(scope="session", autouse=True)
def _no_waiting_for_the_disk() -> Iterator[None]:
    """A run waits dozens of times until a file would outlive a power cut, which no test makes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _file: None)
        yield
