"""Who has started this process: torchrun, as one of a group on one or on several machines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """What torchrun tells each of the processes that it starts.

    Attributes:
        rank: which one this is.
        size: how many there are, on all machines.
        local_rank: which one it is of those on its machine.
        local_size: how many there are on its machine.
        address: of the machine where they find each other.
        port: likewise.
        restarts: how often torchrun may start all of them again.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    address: str
    port: int
    restarts: int = 0

    @property
    def on_one_machine(self) -> bool:
        """Whether nobody is elsewhere."""
        return self.local_size == self.size


def launched(environment: Mapping[str, str] = os.environ) -> Launch | None:
    """The group that torchrun has put this process in; None where it has not, or for one alone.

    Other launchers set `RANK` and `WORLD_SIZE` as well, for programs that know nothing of each
    other: torchrun's own name for the run is what counts.
    """
    if "TORCHELASTIC_RUN_ID" not in environment or environment.get("WORLD_SIZE", "1") == "1":
        return None
    return Launch(
        rank=int(environment["RANK"]),
        size=int(environment["WORLD_SIZE"]),
        local_rank=int(environment["LOCAL_RANK"]),
        local_size=int(environment["LOCAL_WORLD_SIZE"]),
        address=environment["MASTER_ADDR"],
        port=int(environment["MASTER_PORT"]),
        restarts=int(environment.get("TORCHELASTIC_MAX_RESTARTS", "0")),
    )
