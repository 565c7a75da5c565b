"""What robust networks learn on and are chosen by, and noise on what frozen backbones read."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from meritnas.data.bundle import Bundle, Part
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import LEVELS
from meritnas.data.modalities.noisy_samples import NoisySamples
from meritnas.data.modalities.source import load_modalities
from meritnas.data.stream import BatchStream
from meritnas.prepare.known_rows import read_known_rows, write_known_rows
from meritnas.store.run_store import RunStore

MODULE = """
from torch import nn


class Mean(nn.Module):
    def forward(self, images):
        return images.flatten(1).mean(dim=1, keepdim=True)
"""


@pytest.fixture
def backbone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A frozen network that gives the mean of all pixels, which evens noise on them out."""
    (tmp_path / "mean_encoders.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield "mean_encoders:Mean"
    sys.modules.pop("mean_encoders", None)


def views(rows: int = 400) -> dict[str, np.ndarray]:
    """Three modalities in the middle of their range; some samples have the first one only."""
    rng = np.random.default_rng(0)
    photo = rng.uniform(0.3, 0.7, size=(rows, 1, 1)) + np.zeros((rows, 10, 10))
    photo[0], photo[1] = 0.0, 1.0
    sound, words = rng.random((rows, 4)), rng.random((rows, 3))
    sound[::10], words[::10] = np.nan, np.nan
    return {"photo": photo, "sound": sound, "words": words, "label": np.arange(rows) % 2}


def encoded(robust: bool, frozen: dict[str, str] | None = None) -> Bundle[ModalityEncoder]:
    source = load_modalities(views(), "label")
    outline = outline_modalities(source, 0)
    return encode_modalities(source, outline, frozen=frozen, robust=robust)


def drawn(part: Part, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Rows as they are, and as they are drawn once."""
    rows = torch.arange(len(part))
    assert part.changes is not None
    generator = torch.Generator().manual_seed(seed)
    return part.inputs, part.changes.changed(part.inputs, rows, generator)


def test_some_of_the_samples_stay_and_none_loses_its_only_modality() -> None:
    bundle = encoded(robust=True)
    part, layout = bundle.train.sample, bundle.encoder.layout
    before = part.inputs.clone()
    same, lost, changed = [], [], []
    for seed in range(20):
        clean, found = drawn(part, seed)
        flags = torch.stack([layout.present(found, k) for k in range(3)], dim=1)
        had = torch.stack([layout.present(clean, k) for k in range(3)], dim=1)
        assert flags.sum(dim=1).min() >= 1
        assert (flags <= had).all()
        for number in range(3):
            assert not found[flags[:, number] == 0][:, layout.values(number)].any()
        assert 0 <= found.min() <= found.max() <= 1
        same.append((found == clean).all(dim=1).float().mean())
        lost.append((flags.sum(dim=1) < had.sum(dim=1)).float().mean())
        changed.append(found)
    assert 0.25 < float(torch.stack(same).mean()) < 0.6
    assert 0.05 < float(torch.stack(lost).mean()) < 0.5
    assert not torch.equal(changed[0], changed[1])
    assert torch.equal(part.inputs, before)


def test_validation_samples_are_disturbed_once_and_the_same_for_everybody() -> None:
    usual, one, other = encoded(robust=False), encoded(robust=True), encoded(robust=True)
    assert torch.equal(one.valid.inputs, other.valid.inputs)
    assert not torch.equal(one.valid.inputs, usual.valid.inputs)
    assert torch.equal(one.test.inputs, usual.test.inputs)
    assert torch.equal(one.train.sample.inputs, usual.train.sample.inputs)
    assert usual.train.sample.changes is None


def test_samples_that_networks_were_chosen_by_are_known_again(tmp_path: Path) -> None:
    found = []
    for robust in (False, True):
        store = RunStore.create(tmp_path / str(robust), {})
        write_known_rows(store, encoded(robust))
        known = read_known_rows(store)
        assert known is not None
        found.append(known.digests.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("steps", [0, 3, 8, 13])
def test_a_resumed_stream_disturbs_as_if_nothing_had_happened(tmp_path: Path, steps: int) -> None:
    part = encoded(robust=True).train.sample
    whole = BatchStream(part, 40, 5)
    for _ in range(steps):
        whole.next()
    torch.save(whole.state_dict(), tmp_path / "state.pt")
    again = BatchStream(part, 40, 5)
    again.load_state_dict(torch.load(tmp_path / "state.pt", weights_only=True))
    for _ in range(9):
        assert torch.equal(whole.next().inputs, again.next().inputs)


def test_raw_values_are_disturbed_before_a_frozen_backbone_reads_them(backbone: str) -> None:
    """The mean of 100 pixels hardly moves where all of them are noisy."""
    source = load_modalities(views(), "label")
    encoder = ModalityEncoder.fit(source.views, np.arange(400), frozen={"photo": backbone})
    inputs = encoder.transform(source.views)
    samples = NoisySamples(encoder, inputs, source.views, np.arange(400))
    photo, sound = encoder.layout.values(0), encoder.layout.values(1)
    moved = []
    for level in LEVELS:
        found = samples.noisy((0,), "gaussian", level, seed=1)
        moved.append(float((found - inputs)[:, photo].std()))
        assert torch.equal(found[:, sound], inputs[:, sound])
        assert torch.equal(found, samples.noisy((0,), "gaussian", level, seed=1))
    assert 0.005 < moved[0] < moved[1] < moved[2] < 0.06  # noise on the mean itself: 0.1 to 0.3
    assert torch.equal(samples.noisy((0,), "gaussian", 0.0), inputs)
    both = samples.noisy((0, 1), "gaussian", 0.1, seed=1)
    assert (both != inputs)[:, sound].any()


def test_two_frozen_modalities_have_noise_of_their_own(backbone: str) -> None:
    given = views()
    source = load_modalities({"left": given["photo"], **given, "right": given["photo"]}, "label")
    frozen = {"left": backbone, "right": backbone}
    encoder = ModalityEncoder.fit(source.views, np.arange(400), frozen=frozen)
    samples = NoisySamples(encoder, encoder.transform(source.views), source.views, np.arange(400))
    names = encoder.layout.names
    left, right = (
        samples.seen(names.index(name), "gaussian", 0.1, 1)[:, 1] for name in ("left", "right")
    )
    assert float((left - right).std()) > 0.005


def test_training_samples_too_go_through_the_backbone_with_their_noise(backbone: str) -> None:
    part = encoded(robust=True, frozen={"photo": backbone}).train.sample
    clean, found = drawn(part)
    there = found[:, 0] == clean[:, 0]
    moved = (found - clean)[there, 1]
    noisy = moved[moved != 0]
    assert 0.1 < len(noisy) / len(moved) < 0.6
    assert 0.005 < float(noisy.std()) < 0.06
    few = part.rows(torch.arange(200, len(part)))
    assert few.changes is not None
    later = few.changes.changed(
        few.inputs, torch.arange(len(few)), torch.Generator().manual_seed(0)
    )
    kept = later[:, 0] == few.inputs[:, 0]
    assert float((later - few.inputs)[kept, 1].abs().max()) < 0.2  # noise on its own, not another's
