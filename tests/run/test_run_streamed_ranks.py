"""Rows that are streamed come to the same bits whoever reads them, and nobody reads all of them."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import streamed_tasks
from rank_tasks import tell
from streamed_tasks import GROUP, Kept

from meritnas.errors import WorkersError
from meritnas.run.local_ranks import LocalRanks
from meritnas.workers.workers import ONE

GROUPS = 16


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{i}": rng.normal(size=GROUPS * GROUP) for i in range(3)})
    frame["k"] = rng.choice(["a", "b", "c", None], len(frame))
    frame["y"] = np.where((frame["n0"] > 0) ^ (frame["k"] == "a"), "yes", "no")
    path = tmp_path_factory.mktemp("data") / "sales.parquet"
    frame.to_parquet(path, row_group_size=GROUP)
    return path


def test_ranks_come_to_the_bits_of_one_and_read_a_part_each_also_after_one_was_killed(
    table: Path,
) -> None:
    alone = streamed_tasks.search(table, ONE, Kept())
    assert alone["read"] == GROUPS * "x"
    kept = Kept()
    with LocalRanks(2, 1, partial(streamed_tasks.search_twice, table)) as ranks:
        told = tell(streamed_tasks.search(table, ranks, Kept()), ranks)
        with pytest.raises(WorkersError, match=r"process 1 .* was killed by SIGKILL"):
            streamed_tasks.search(table, ranks, kept)
    found = [ast.literal_eval(one) for one in told]
    assert [one["digest"] for one in found] == [alone["digest"]] * 2
    parts = [one["read"] for one in found]
    assert all("x" in group for group in zip(*parts, strict=True))
    assert all("-" in part for part in parts)
    assert kept.state is not None
    assert kept.state["step"] == streamed_tasks.DYING
    assert streamed_tasks.search(table, ONE, kept)["digest"] == alone["digest"]
