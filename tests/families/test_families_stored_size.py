"""The size of a network's file, as families count it, against files that are written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import save_file
from torch import nn

from meritnas import (
    darts_space,
    fusion_space,
    nasbench201_space,
    recurrent_space,
    tabular_space,
)
from meritnas.families.convnet.family import convnet_space
from meritnas.families.family import Family
from meritnas.families.fusion.joint import joint_space
from meritnas.families.fusion.plain import plain_fusion
from meritnas.store.weights_file import weights_bytes

VIEWS = {"image": [(2, 8, 8)], "a long name \u00e4 \u4e2d \U0001f600": [(3, 6), (5,)]}


class Flat(nn.Sequential):
    """A backbone with buffers, and with names that say where it is."""

    def __init__(self) -> None:
        super().__init__(nn.Flatten(), nn.Linear(128, 6), nn.BatchNorm1d(6))


OWN = {"image": Flat}
FAMILIES: dict[str, Family] = {
    "convnet": convnet_space(10, (1, 28, 28)),
    "nasbench201": nasbench201_space(10, 4, 11),
    "darts": darts_space(10, 4, 11),
    "darts-unique": darts_space(10, 4, 3, "unique"),
    "recurrent": recurrent_space(300, 16),
    "recurrent, one predecessor": recurrent_space(50, 8, 4, 1),
    "fusion": fusion_space(VIEWS, 3, 2, 2, 8, 4, backbones={"image": "conv"}),
    "fusion and heads": joint_space(
        fusion_space(VIEWS, 3, 2, 2, 8, 4, backbones={"image": "conv"}), (3, 40)
    ),
    "plain fusion": plain_fusion(VIEWS, 3, "classes", {"image": "conv"}),
    "plain fusion of one modality": plain_fusion({"v": [(4,)]}, 1, "labels"),
    "fusion with a backbone of one's own": fusion_space(VIEWS, 3, 2, 1, 8, 4, backbones=OWN),
}


def written(family: Family, text: str, file: Path) -> int:
    """The bytes of the file that a run keeps of a network."""
    weights = {name: value.contiguous() for name, value in family.child(text).state_dict().items()}
    save_file(weights, file, {"architecture": text})
    return file.stat().st_size


@pytest.mark.parametrize("name", FAMILIES)
def test_no_file_is_larger_than_what_is_counted(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    texts = [str(family.random(seed)) for seed in range(6)]
    sizes = [row.astype(float) for row in family.costs["size"].single]
    if name == "convnet":
        stages = [f"inverted3x4se({widths[-1]}x3)" for widths in family.spec.widths[:3]]
        texts.append(" ".join(["28x28", *stages]))
    else:
        texts.append(str(family.useful.within({}).best(sizes)))
    for text in texts:
        counted, bytes_ = family.cost(text, "size"), written(family, text, tmp_path / "file")
        assert bytes_ <= counted, text
        assert counted <= 1.2 * bytes_ + 2000, text


@pytest.mark.parametrize("name", FAMILIES)
def test_what_keeps_a_limit_has_a_file_that_keeps_it(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    some = [family.cost(family.random(seed), "size") for seed in range(9)]
    limit = int(np.median(some))
    feasible = family.within({"size": limit})
    drawn = feasible.sample([np.zeros(n) for n in feasible.space.sizes], 4, 0)
    for one in drawn:
        assert written(family, str(one), tmp_path / "file") <= limit


@pytest.mark.parametrize("text", ["2-2", "16-2", "16-16"])
def test_a_threshold_beside_the_weights_is_counted(text: str) -> None:
    family = tabular_space(4, 1, 2, (2, 16))
    about = {"architecture": text, "threshold": repr(1 / 3 - 1e-17)}
    assert len(about["threshold"]) > 17
    blob = weights_bytes(family.child(text).state_dict(), about)
    assert len(blob) <= family.cost(text, "size")
