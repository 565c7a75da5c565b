from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.frozen import make_frozen
from meritnas.errors import DataError, MeritNASError, UsageError

pytestmark = pytest.mark.usefixtures("calls")

MODULE = '''
import torch
from torch import nn

calls = []


class Encoder(nn.Module):
    """Two features of a picture, and a norm whose statistics must not move."""

    def __init__(self, scale=1.0):
        super().__init__()
        self.map = nn.Conv2d(1, 4, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)
        self.dropout = nn.Dropout(0.5)
        self.scale = nn.Parameter(torch.tensor(scale))

    def forward(self, images):
        calls.append(len(images))
        early = self.scale * self.norm(torch.tanh(self.map(images)))
        return [early, self.dropout(early.mean((2, 3)))]


def other():
    return Encoder(2.0)


def no_network():
    return 3


def no_features():
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(5, 2))


class Scalar(nn.Module):
    def forward(self, images):
        return images.mean()
'''


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """A module `frozen_encoders`, and how many samples its networks have seen."""
    (tmp_path / "frozen_encoders.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    import frozen_encoders  # type: ignore[import-not-found]

    yield frozen_encoders.calls
    del sys.modules["frozen_encoders"]


def views(rows: int = 40, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    images = rng.normal(size=(rows, 8, 8)).astype(np.float32)
    images[3] = np.nan  # a sample that lacks it
    return {"image": images, "other": rng.normal(size=(rows, 3)).astype(np.float32)}


def fitted(backbone: str = "frozen_encoders:Encoder") -> ModalityEncoder:
    return ModalityEncoder.fit(views(), np.arange(30), frozen={"image": backbone})


def test_a_row_holds_what_the_network_gives() -> None:
    encoder = fitted()
    assert encoder.layout.modalities[0] == ("image", ((4, 4, 4), (4,)))
    assert encoder.pictures == ()  # no other backbone reads it
    rows = encoder.transform(views())
    network = make_frozen("frozen_encoders:Encoder", "image")
    plain = ModalityEncoder.fit(views(), np.arange(30))
    there = [i for i in range(40) if i != 3]
    with torch.no_grad():
        early, late = network(plain.layout.features(plain.transform(views()), 0)[0][there])
    for found, given in zip(encoder.layout.features(rows, 0), (early, late), strict=True):
        train = given[: 30 - 1]
        keep = None if given.dim() > 2 else 0
        low = train.amin() if keep is None else train.amin(0)
        high = train.amax() if keep is None else train.amax(0)
        wanted = ((given - low) / (high - low)).clamp(0, 1)
        torch.testing.assert_close(found[there], wanted, atol=1e-5, rtol=1e-4)
    assert not rows[3, : encoder.layout.values(0).stop].any()  # what a sample lacks is zeros


def test_the_network_sees_each_sample_once_and_does_not_change(calls: list[int]) -> None:
    encoder = fitted()
    calls.clear()
    first = encoder.transform(views())
    assert sum(calls) == 39
    assert torch.equal(first, encoder.transform(views()))
    one_by_one = torch.cat([encoder.transform(views(), np.array([i])) for i in range(5)])
    torch.testing.assert_close(first[:5], one_by_one, atol=1e-5, rtol=1e-4)


def test_what_is_saved_is_the_same_encoder() -> None:
    encoder = fitted()
    again = ModalityEncoder.from_json(encoder.to_json())
    assert again == encoder
    assert torch.equal(again.transform(views(9, 1)), encoder.transform(views(9, 1)))


def test_other_weights_are_refused() -> None:
    saved = fitted().to_json()
    saved["modalities"][0]["backbone"] = "frozen_encoders:other"
    with pytest.raises(DataError, match="has other weights than when the run was made"):
        ModalityEncoder.from_json(saved).transform(views())


@pytest.mark.parametrize(
    ("backbone", "said"),
    [
        ("frozen_encoders:Nothing", "no backbone 'frozen_encoders:Nothing'"),
        ("frozen_encoders:no_network", "must make a torch Module, got int"),
        ("frozen_encoders:no_features", "cannot read 'image'"),
        ("frozen_encoders:Scalar", "must give tensors"),
    ],
)
def test_a_network_that_does_not_fit_is_refused(backbone: str, said: str) -> None:
    with pytest.raises(MeritNASError, match=said):
        fitted(backbone)


def test_a_network_for_nothing_is_refused() -> None:
    with pytest.raises(DataError, match="'imagee', which is no modality; did you mean 'image'"):
        ModalityEncoder.fit(views(), np.arange(30), frozen={"imagee": "frozen_encoders:Encoder"})


def test_a_table_or_a_text_can_be_read_by_a_network() -> None:
    with pytest.raises(UsageError, match="write module:function"):
        ModalityEncoder.fit(views(), np.arange(30), frozen={"other": "torch.nn:Nowhere"})
    encoder = ModalityEncoder.fit(views(), np.arange(30), frozen={"other": "torch.nn:Identity"})
    assert encoder.layout.modalities[1] == ("other", ((3,),))
