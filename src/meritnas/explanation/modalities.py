"""What a run's network makes of its modalities: their worth, noise, what is missing."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from meritnas.data.modalities.encoder import ModalityEncoder
from meritnas.data.modalities.noise import Noise
from meritnas.data.modalities.noisy_samples import NoisySamples
from meritnas.devices.placement import CPU
from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.explanation.modality_use import ModalityUse, modality_use
from meritnas.explanation.under_noise import Disturbed, disturbed_scores
from meritnas.plugins import Trusted
from meritnas.prediction.predictor import load_predictor
from meritnas.prepare.preparation import source_again
from meritnas.report.notebook.explained import modalities_html
from meritnas.run.job import Job
from meritnas.store.run_store import RunStore
from meritnas.training.metrics import main_metric

_LOG = logging.getLogger(__name__)

FIGURE = "modalities.svg"
TABLE = "modalities.json"
_WEIGHTS = "model.safetensors"


@dataclass(frozen=True)
class ModalityExplanation:
    """What a run's network makes of its modalities, on test samples.

    Attributes:
        metric: what its scores are.
        use: the worth of each modality.
        disturbed: scores under noise and what each modality is worth there, and scores with
            modalities missing.
        figure: where all of it is drawn.
        network: a digest of its weights.
    """

    metric: str
    use: ModalityUse
    disturbed: tuple[Disturbed, ...]
    figure: Path
    network: str

    def table(self) -> pd.DataFrame:
        """The worth of each modality, a row for each."""
        return pd.DataFrame(self.use.rows())

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "metric": self.metric,
            "score": self.use.score,
            "nothing": self.use.nothing,
            "modalities": self.use.rows(),
            "disturbed": [asdict(row) for row in self.disturbed],
            "network": self.network,
        }

    def _repr_html_(self) -> str:
        """The figures of the report, in a notebook."""
        return modalities_html(self.to_json())


def explain_modalities(
    store: RunStore, noise: Noise | Sequence[Noise], data: Any, seed: int, trust: Trusted
) -> ModalityExplanation:
    """What a run's network makes of its modalities, as `api.explain_modalities` says; kept."""
    whole_number("seed", seed, 0)
    if not store.has(_WEIGHTS):
        raise StoreError(
            f"run {store.folder} has no trained network yet; continue it with: "
            f"meritnas search --resume {store.folder}"
        )
    predictor = load_predictor(store.folder, trust=trust)
    if not isinstance(predictor.encoder, ModalityEncoder):
        raise UsageError(f"run {store.folder} has one kind of data only, no modalities to compare")
    encoder, task = predictor.encoder, predictor.task
    job = Job.reopen(store, data, trust)
    part = job.bundle.test.to(CPU)
    _LOG.info("what each modality is worth")
    use = modality_use(predictor.module, task, part, encoder.layout, seed)
    network = hashlib.sha256((store.folder / _WEIGHTS).read_bytes()).hexdigest()
    kinds: Sequence[Noise] = (noise,) if isinstance(noise, str) else noise
    found: list[Disturbed] = []
    if kinds:
        _LOG.info("noise and missing modalities")
        samples = _samples(store, data, job, encoder, part.inputs)
        found = disturbed_scores(predictor.module, task, part.target, samples, use, kinds, seed)
    anew = {row.disturbance for row in found}
    kept = [row for row in _earlier(store, network) if row.disturbance not in anew]
    explained = ModalityExplanation(
        main_metric(task), use, (*kept, *found), store.folder / FIGURE, network
    )
    store.write_json(TABLE, explained.to_json())
    return explained


def _samples(
    store: RunStore, data: Any, job: Job, encoder: ModalityEncoder, inputs: Tensor
) -> NoisySamples:
    """The test samples; where frozen backbones read them first, with what these read."""
    if not encoder.frozen:
        return NoisySamples(encoder, inputs, {}, np.arange(len(inputs)))
    source, outline = source_again(job.settings, store, data)
    return NoisySamples(encoder, inputs, source.views, outline.split.test)


def _earlier(store: RunStore, network: str) -> list[Disturbed]:
    """The scores under noise that the run has of this network."""
    if not store.has(TABLE):
        return []
    table = store.read_json(TABLE)
    if table.get("network") != network:
        return []
    return store.decode(TABLE, lambda plain: [Disturbed(**row) for row in plain["disturbed"]])
