"""A run's network with all that is known about it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

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
    """

    predictor: Predictor
    family: Family
    architecture: Architecture
    folder: Path


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
    return Trained(predictor, family, own, holder.folder)
