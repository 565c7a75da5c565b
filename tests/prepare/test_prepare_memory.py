from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from meritnas import (
    Retraining,
    SpaceError,
    TableReading,
    darts_space,
    fusion_space,
    nasbench201_space,
    search,
)
from meritnas.data import memory as data_memory
from meritnas.data.columns.inputs import TableInputs
from meritnas.data.memory import machine_memory
from meritnas.families.darts.spec import Darts
from meritnas.families.fusion.spec import Fusion
from meritnas.families.nasbench201.spec import Nasbench201
from meritnas.families.recurrent.family import recurrent_space
from meritnas.families.recurrent.spec import Recurrent
from meritnas.families.tabular.family import tabular_space
from meritnas.families.tabular.spec import Tabular
from meritnas.prepare import memory
from meritnas.prepare.memory import BYTES_A_WEIGHT, check_weights
from meritnas.supernet.supernet import module_of

VIEWS: Any = {"left": [(4,)], "right": [(5,)]}
SPACES: list[tuple[Any, Any]] = [
    (Tabular(2, (8, 64)), tabular_space(TableInputs(20), 3, 2, (8, 64))),
    (Recurrent(16, 4), recurrent_space(50, 16, 4)),
    (Fusion(8, 4, 2, 2), fusion_space(VIEWS, 3, 2, 2, 8, 4)),
    (Nasbench201(16, 2, 16, 2, 1), nasbench201_space(10, 16, 2)),
    (Nasbench201(16, 2, 32, 1, 1), nasbench201_space(10, 16, 2)),
    (Nasbench201(16, 2, 32, 1, 4), nasbench201_space(10, 16, 2)),
    (Darts(16, 6, 16, 6, 1), darts_space(10, 16, 6)),
    (Darts(32, 6, 16, 3, 4), darts_space(10, 32, 6)),
]


@pytest.mark.parametrize(("spec", "family"), SPACES, ids=lambda each: type(each).__name__)
def test_the_weights_of_a_supernet_are_known_about_before_it_is_made(
    spec: Any, family: Any
) -> None:
    about = spec.shared_weights(family)
    with torch.device("meta"):
        module = module_of(spec.supernet(family, 0))
    count = sum(weight.numel() for weight in module.parameters())
    assert count / 2 <= about <= 2 * count


def test_more_weights_than_half_of_the_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "machine_memory", lambda: 8_000_000_000)
    most = 4_000_000_000 // BYTES_A_WEIGHT
    check_weights(most, "the network")
    said = (
        r"the network would take 4\.0 GB to train, more than half of the 8\.0 GB of memory here; "
    )
    with pytest.raises(SpaceError, match=said + "offer smaller sizes, or give --max-params"):
        check_weights(most + 1, "the network")
    monkeypatch.setattr(memory, "machine_memory", lambda: None)
    check_weights(10**18, "the network")  # where nothing is known, nothing is refused


def test_a_container_has_less_memory_than_its_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bound = tmp_path / "memory.max"
    monkeypatch.setattr(data_memory, "_OF_A_CONTAINER", bound)
    whole = machine_memory()
    assert whole is not None
    assert whole > 1_000_000_000
    for text, found in (("max\n", whole), ("1000000\n", 1_000_000), (str(10**18), whole)):
        bound.write_text(text)
        assert machine_memory() == found


IMAGES = (np.arange(2560, dtype=np.uint8).reshape(40, 8, 8), np.arange(40) % 2)


@pytest.mark.parametrize(
    ("data", "given", "what"),
    [
        ("wine", {"space": Tabular(2, (8, 1_000_000))}, "the largest network of this space"),
        ("wine", {"space": Tabular(3, (1_000_000,))}, "the largest network of this space"),
        (
            "wine",
            {
                "space": Tabular(2, (8, 1_000_000)),
                "max_latency_ms": 9.0,
                "reading": TableReading(scaling="standard"),
            },
            "the largest network to be timed",
        ),
        (IMAGES, {"space": Darts(channels=10_000, cells=20)}, "the largest network of this space"),
        (IMAGES, {"space": Nasbench201(4, 1, 10_000, 9)}, "the shared weights of all its networks"),
    ],
)
def test_a_space_beyond_all_memory_is_refused_before_anything_is_made(
    data: Any, given: dict[str, Any], what: str, tmp_path: Path
) -> None:
    """The sizes are beyond those of any machine that there is."""
    with pytest.raises(SpaceError, match=f"{what} would take .* GB to train, more than half"):
        search(data, epochs=1, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_sizes_that_limits_leave_out_take_no_memory(tmp_path: Path) -> None:
    again = Retraining(epochs=1, seeds=1, finalists=1, dropout=0.0)
    found = search(
        "wine",
        space=Tabular(2, (8, 1_000_000)),
        max_params=500,
        epochs=1,
        retraining=again,
        out=tmp_path / "run",
    )
    assert str(found.architecture) == "8-8"
