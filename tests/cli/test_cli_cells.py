from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from cli_helpers import EVENTS, Forked, Outcome
from test_cli_process import assert_same_run, wait_for

from meritnas.engine import loop

Command = Callable[..., Outcome]

_SIZE = ("--channels", "4", "--supernet-channels", "4")
_LENGTH = ("--epochs", "2", "--retrain-epochs", "1", "--retrain-seeds", "1", "--finalists", "1")
_TRAINING = ("--batch-size", "16", "--seed", "3", "--threads", "1", "--strategy", "gdas", "--quiet")


@pytest.fixture(scope="module", autouse=True)
def many_events() -> Iterator[None]:
    """As many as the processes of `Forked` have, so that logs can be compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
        yield


@pytest.mark.parametrize("space", ["nasbench201", "darts-s4"])
def test_killed_in_the_middle_a_search_of_cells_ends_like_an_undisturbed_one(
    meritnas: Command, space: str
) -> None:
    """S4 stands for the small spaces: its noise is the one thing that could go astray."""
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, (80, 8, 8), dtype=np.uint8)
    np.savez("pictures.npz", images=pixels, labels=np.arange(80) % 2)
    cells = "1" if space == "nasbench201" else "3"
    size = (*_SIZE, "--cells", cells, "--supernet-cells", cells)
    arguments = ("search", "pictures.npz", "--space", space, *size, *_LENGTH, *_TRAINING)
    torch.manual_seed(5)
    undisturbed = meritnas(*arguments, "--out", "undisturbed")
    assert undisturbed.code == 0, undisturbed.err

    run = Path("run")
    process = Forked(*arguments, "--out", run)
    wait_for(run / "checkpoint.pt", process)
    process.kill()
    process.communicate()
    assert not (run / "architecture.json").exists()
    step = torch.load(run / "checkpoint.pt", weights_only=True)["step"]
    plan = json.loads((run / "plan.json").read_text())["search"]
    assert 0 < step < sum(plan.values())

    torch.manual_seed(6)
    assert meritnas("search", "--resume", run, "--quiet").code == 0
    assert_same_run(run, Path("undisturbed"))
