"""A run's network with all that is known about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from meritnas.data.kinds import kind_of
from meritnas.families.family import Family
from meritnas.plugins import Trust, Trusted
from meritnas.prediction.predictor import Predictor, load_predictor, weights_store
from meritnas.prepare.config import read_settings
from meritnas.prepare.family import make_family
from meritnas.space.architecture import Architecture
from meritnas.store.checked_path import checked_path
from meritnas.store.run_store import RunStore


@dataclass(frozen=True)
class Trained:
    """A run's network with all that is known about it.

    Attributes:
        predictor: the network, in evaluation mode and without gradients, its encoder and its task.
        family: the space it is from.
        architecture: which network of that space it is.
        folder: where its weights are: the run's own, or that of a smaller limit in it.
        limits: what it had to keep, by cost.
    """

    predictor: Predictor
    family: Family
    architecture: Architecture
    folder: Path
    limits: Mapping[str, int]


def network_input(trained: Trained) -> tuple[list[int], str]:
    """The shape of what the network itself reads, without the batch, and the type of its numbers.

    Of a text that is one word.
    """
    encoder = trained.predictor.encoder
    given = kind_of(encoder).graph_inputs(encoder)
    found: Tensor = given.module(*given.sample(1, 0))
    words = not found.is_floating_point()
    return ([1], "int64") if words else (list(found.shape[1:]), "float32")


def load_trained(run: Path | str, network: str | None = None, trust: Trusted = ()) -> Trained:
    """The network of a run that has ended; an error says how to continue any other.

    Args:
        run: its folder.
        network: the architecture of one on the run's trade-off curve instead, such as "16-8-8".
        trust: what of a user's own may be imported, see `load_predictor`.
    """
    predictor = load_predictor(run, network, trust)
    predictor.module.eval().requires_grad_(False)
    store = RunStore.open(checked_path("run", run))
    settings = read_settings(store, Trust.of(trust))
    family = make_family(settings, predictor.encoder, predictor.task)
    holder = weights_store(store, network)
    _, metadata = holder.read_weights("model.safetensors")
    own = family.as_architecture(metadata.get("architecture", ""))
    limits = store.decode("result.json", lambda result: _limits(result, own.text))
    return Trained(predictor, family, own, holder.folder, limits)


def _limits(result: Mapping[str, Any], text: str) -> dict[str, int]:
    """Of the run's own network all limits of the run, of a smaller one its rung's."""
    if result["architecture"] == text:
        return dict(result.get("limits", {}))
    rows = (row for row in result.get("pareto", ()) if row["architecture"] == text)
    limits = [int(row["limit"]) for row in rows if row.get("limit") is not None]
    return {"params": limits[0]} if limits else {}
