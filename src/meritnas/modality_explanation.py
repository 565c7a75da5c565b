from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from meritnas.child.metrics import main_metric
from meritnas.child.modality_use import Disturbed, ModalityUse, disturbed_scores, modality_use
from meritnas.child.predictor import load_predictor
from meritnas.data.modality_encoder import ModalityEncoder
from meritnas.data.noise import Noise
from meritnas.errors import StoreError, UsageError, whole_number
from meritnas.job import Job
from meritnas.preparation import AnyData
from meritnas.report.modality_figure import draw_modalities
from meritnas.report.page import report_at_end
from meritnas.search.store import RunStore

FIGURE = "modalities.png"
TABLE = "modalities.json"


@dataclass(frozen=True)
class ModalityExplanation:
    """What a run's network makes of its modalities, on test samples.

    Attributes:
        metric: what its scores are.
        use: the worth of each modality.
        disturbed: scores under noise, and with modalities missing.
        figure: where both are drawn.
    """

    metric: str
    use: ModalityUse
    disturbed: tuple[Disturbed, ...]
    figure: Path

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
        }


def explain_modalities(
    run: str | Path,
    noise: Sequence[Noise] = (),
    data: AnyData | None = None,
    seed: int = 0,
) -> ModalityExplanation:
    """Find out what a run's network makes of its modalities; the run keeps table and figure.

    Args:
        run: its folder; a search with the space `fusion` that has ended.
        noise: kinds of noise to try: gaussian, shot, impulse, speckle.
        data: the data, if the search was started with data in memory.
        seed: of noise and intervals.
    """
    whole_number("seed", seed, 0)
    store = RunStore.open(Path(run))
    if not store.has("model.safetensors"):
        raise StoreError(
            f"run {store.folder} has no trained network yet; continue it with: "
            f"meritnas search --resume {store.folder}"
        )
    predictor = load_predictor(run)
    if not isinstance(predictor.encoder, ModalityEncoder):
        raise UsageError(f"run {store.folder} has one kind of data only, no modalities to compare")
    layout, task = predictor.encoder.layout, predictor.task
    part = Job.reopen(store, data).bundle.test.to("cpu")
    use = modality_use(predictor.module, task, part, layout, seed)
    found: tuple[Disturbed, ...] = ()
    if noise:
        found = tuple(disturbed_scores(predictor.module, task, part, layout, noise, seed))
    explained = ModalityExplanation(main_metric(task), use, found, store.folder / FIGURE)
    plain = explained.to_json()
    store.write_json(TABLE, plain)
    store.write_figure(
        FIGURE,
        partial(draw_modalities, plain["modalities"], plain["disturbed"], explained.metric),
    )
    report_at_end(store.folder)
    return explained
