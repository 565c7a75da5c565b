"""A trained network with all that turns new data into answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import torch
from torch import nn

from meritnas.data.answers import answer_columns
from meritnas.data.kind import Encoder
from meritnas.data.kinds import kind_of
from meritnas.data.task import Task
from meritnas.errors import StoreError, UsageError
from meritnas.plugins import Trust, Trusted
from meritnas.prediction.answered import check_answered
from meritnas.prepare.config import read_settings
from meritnas.prepare.family import check_identity, make_family, trained_network
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.settings.checks import check_arguments
from meritnas.store.checked_path import checked_path
from meritnas.store.run_store import RunStore
from meritnas.training.train import outputs_of

NewData: TypeAlias = (
    pd.DataFrame | str | Path | np.ndarray | tuple[np.ndarray, np.ndarray] | Mapping[str, Any]
)
"""A table; pictures: a file, a folder, an array uint8 [n, h, w] or [n, h, w, channels]; or arrays
and tables by modality."""


@dataclass(frozen=True)
class Predictor:
    """A trained network with all that turns data into answers.

    Attributes:
        encoder: data -> inputs.
        task: outputs -> answers.
        module: inputs [n, columns] or [n, channels, h, w] -> outputs [n, outputs].
    """

    encoder: Encoder
    task: Task
    module: nn.Module

    def outputs(self, data: NewData) -> torch.Tensor:
        """What the network says, [n, outputs]."""
        return self.said(self.inputs(data))

    def inputs(self, data: NewData) -> torch.Tensor:
        """The data as the network reads them, [n, ...]."""
        return kind_of(self.encoder).new_inputs(self.encoder, data)

    def said(self, inputs: torch.Tensor) -> torch.Tensor:
        """What the network says about `inputs`, [n, outputs]."""
        return outputs_of(self.module, inputs)

    def predict(self, data: NewData) -> np.ndarray:
        """Labels, or numbers on the target's own scale, [n].

        Raises:
            DataError: The network's outputs for a row are no finite numbers.
        """
        outputs = self.outputs(data)
        check_answered(outputs)
        return self.task.labels(outputs)

    def table(self, data: NewData) -> pd.DataFrame:
        """Predictions as a table: the answer, and for classes the probability of each.

        Raises:
            DataError: The network's outputs for a row are no finite numbers.
        """
        outputs = self.outputs(data)
        check_answered(outputs)
        return self.answers(outputs)

    def answers(self, outputs: torch.Tensor) -> pd.DataFrame:
        """The table of what the network said, with nothing in rows that are `unanswered`."""
        return pd.DataFrame(answer_columns(self.task, outputs))


def load_predictor(run: Path | str, network: str | None = None, trust: Trusted = ()) -> Predictor:
    """The trained network of a run.

    Args:
        run: its folder.
        network: the architecture of one on the run's trade-off curve instead, such as "16-8-8".
        trust: functions and classes of your own that the run names, or their names
            `module:name`; others are not imported.
    """
    check_arguments(load_predictor, network=network)
    store = RunStore.open(checked_path("run", run))
    trusted = Trust.of(trust)
    settings = read_settings(store, trusted)
    encoder, task = read_preprocessing(store)
    trusted.check(encoder.own_names, store.folder)
    weights, metadata = weights_store(store, network).read_weights("model.safetensors")
    family, text = make_family(settings, encoder, task), metadata.get("architecture", "")
    check_identity(store, family)
    module = trained_network(family, text, weights, store)
    return Predictor(encoder, replace(task, threshold=_threshold(metadata, store)), module)


def _threshold(metadata: Mapping[str, str], store: RunStore) -> float:
    """The threshold that was chosen for a network's weights; 0.5 where none was."""
    written = metadata.get("threshold", "0.5")
    try:
        found = float(written)
    except ValueError:
        found = 0.0
    if not 0 < found < 1:
        raise StoreError(
            f"the weights in {store.folder} are damaged: their threshold is {written!r}; train "
            f"them anew with: meritnas retrain {store.folder}"
        )
    return found


def weights_store(store: RunStore, network: str | None) -> RunStore:
    """The folder with the weights of a network: the run's own, or one within it.

    Args:
        store: the run.
        network: the architecture of one on the run's trade-off curve; None for the run's own.
    """
    if network is None:
        return store
    folders = store.decode(
        "result.json",
        lambda result: {
            str(row["architecture"]): str(row["folder"]) for row in result.get("pareto", [])
        },
    )
    if network not in folders:
        known = ", ".join(folders) or "none: it was made without --pareto"
        raise UsageError(f"no network {network} on the curve of {store.folder}; there are {known}")
    return store.inside(folders[network]) if folders[network] else store
