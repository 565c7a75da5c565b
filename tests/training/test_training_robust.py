"""Robust networks lose less where a modality is missing, or noisy."""

from __future__ import annotations

from statistics import mean

import numpy as np
import pytest
import torch
from torch import Tensor

from meritnas import fusion_space
from meritnas.data.bundle import Bundle
from meritnas.data.modalities.bundle import encode_modalities, outline_modalities
from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import add_noise
from meritnas.data.modalities.source import load_modalities
from meritnas.settings.recipe import TrainRecipe
from meritnas.training.train import outputs_of, train_child

RECIPE = TrainRecipe(learning_rate=0.01, weight_decay=0.0, batch_size=40, averaging=0.0)
NETWORK = "cell1(sharp.0, dim.0): step1 = concat(x, y)"


def views(seed: int, rows: int = 400) -> dict[str, np.ndarray]:
    """Two modalities that each tell all of the class, the first one more loudly."""
    rng = np.random.default_rng(seed)
    label = rng.integers(3, size=rows)
    classes = np.eye(3)[label]
    sharp = classes + 0.1 * rng.normal(size=(rows, 3))
    dim = 0.5 * classes @ rng.normal(size=(3, 6)) + 0.25 * rng.normal(size=(rows, 6))
    return {"sharp": sharp, "dim": dim, "label": label}


def trained(seed: int, robust: bool) -> tuple[dict[str, float], float]:
    """Scores by what is wrong with the test samples, and the validation loss."""
    source = load_modalities(views(seed), "label")
    bundle = encode_modalities(source, outline_modalities(source, seed), robust=robust)
    layout = bundle.encoder.layout
    space = fusion_space(dict(layout.modalities), outputs=3, cells=1, steps=1, channels=8, length=2)
    module = space.child(NETWORK, seed=seed)
    parts = bundle.train, bundle.valid, bundle.task.loss
    found = train_child(module, *parts, RECIPE, 15, seed)
    inputs = bundle.test.inputs
    missing = inputs.clone()
    missing[:, layout.flag(0) : layout.values(0).stop] = 0.0
    tried = {
        "nothing": inputs,
        "missing": missing,
        "noise": add_noise(inputs, layout, (0,), "gaussian", 0.1, seed),
    }
    return {name: _score(bundle, found.module, x) for name, x in tried.items()}, found.valid_loss


def _score(bundle: Bundle[ModalityEncoder], module: torch.nn.Module, inputs: Tensor) -> float:
    return float(bundle.task.score(outputs_of(module, inputs), bundle.test.target))


@pytest.fixture(scope="module")
def scores() -> dict[bool, list[dict[str, float]]]:
    return {robust: [trained(seed, robust)[0] for seed in range(4)] for robust in (False, True)}


def average(scores: list[dict[str, float]], what: str) -> float:
    return mean(each[what] for each in scores)


def test_a_missing_modality_costs_a_robust_network_less(
    scores: dict[bool, list[dict[str, float]]],
) -> None:
    usual, robust = (
        average(scores[one], "nothing") - average(scores[one], "missing") for one in (False, True)
    )
    assert usual > 0.1
    assert robust < 0.5 * usual
    assert average(scores[True], "nothing") > average(scores[False], "nothing") - 0.02


def test_noise_costs_a_robust_network_less(scores: dict[bool, list[dict[str, float]]]) -> None:
    usual, robust = (average(scores[one], "noise") for one in (False, True))
    assert robust > usual


def test_the_same_again() -> None:
    assert trained(1, True) == trained(1, True)
