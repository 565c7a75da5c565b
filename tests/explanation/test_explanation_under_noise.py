from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from meritnas.data.bundle import Part
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import LEVELS
from meritnas.data.modalities.noisy_samples import NoisySamples
from meritnas.data.modalities.row_layout import RowLayout
from meritnas.data.task import Task
from meritnas.explanation.modality_use import modality_use
from meritnas.explanation.under_noise import Disturbed, disturbed_scores

ROWS, NAMES = 400, ("loud", "quiet", "mute")
TASK = Task("regression", "y")


class Sum(nn.Module):
    """Listens to the first modality, a little to the second, and not at all to the third."""

    def __init__(self, layout: RowLayout) -> None:
        super().__init__()
        self.layout = layout

    def forward(self, inputs: Tensor) -> Tensor:
        values = [inputs[:, self.layout.values(k)].mean(1, keepdim=True) for k in (0, 1)]
        there = [self.layout.present(inputs, k)[:, None] for k in (0, 1)]
        loud, quiet = (x - 0.5 * flag for x, flag in zip(values, there, strict=True))
        return loud + 0.5 * quiet


@pytest.fixture(scope="module")
def found() -> list[Disturbed]:
    rng = np.random.default_rng(0)
    views = {name: rng.random((ROWS, 4)) for name in NAMES}
    encoder = ModalityEncoder.fit(views, np.arange(ROWS))
    inputs, module = encoder.transform(views), Sum(encoder.layout)
    part = Part(inputs, module(inputs)[:, 0])
    use = modality_use(module, TASK, part, encoder.layout)
    samples = NoisySamples(encoder, inputs, views, np.arange(ROWS))
    return disturbed_scores(module, TASK, part.target, samples, use, ["gaussian", "impulse"])


def worth(found: list[Disturbed], noisy: str, name: str, kind: str = "gaussian") -> list[float]:
    rows = [row for row in found if (row.disturbance, row.modality) == (kind, noisy)]
    assert [row.level for row in rows] == [0.0, *LEVELS]
    return [row.values[name] for row in rows]


@pytest.mark.parametrize("kind", ["gaussian", "impulse"])
def test_a_modality_is_worth_less_the_more_noise_is_on_it(
    found: list[Disturbed], kind: str
) -> None:
    for name in ("loud", "quiet"):
        values = worth(found, name, name, kind)
        assert values == sorted(values, reverse=True)
        assert values[0] - values[-1] > 0.02
    mute = worth(found, "mute", "mute", kind)
    assert mute == pytest.approx([0.0] * 4, abs=1e-6)


def test_noise_on_one_leaves_what_the_others_are_worth_about_as_it_was(
    found: list[Disturbed],
) -> None:
    own, other = worth(found, "loud", "loud"), worth(found, "loud", "quiet")
    assert abs(other[-1] - other[0]) < 0.2 * (own[0] - own[-1])
    everywhere = worth(found, "all", "loud")
    assert everywhere[-1] < everywhere[0]


def test_values_share_out_the_score_under_noise(found: list[Disturbed]) -> None:
    noisy = [row for row in found if row.disturbance == "gaussian"]
    nothing = {round(row.score - sum(row.values.values()), 5) for row in noisy}
    assert len(nothing) == 1  # without any modality there is no noise


def test_missing_modalities_cost_the_more_the_likelier_they_are(found: list[Disturbed]) -> None:
    missing = [row for row in found if row.disturbance == "missing"]
    assert [row.level for row in missing] == [0.0, 0.1, 0.2, 0.3]
    scores = [row.score for row in missing]
    assert scores == sorted(scores, reverse=True)
    assert not any(row.values for row in missing)
    assert torch.isfinite(torch.tensor(scores)).all()
