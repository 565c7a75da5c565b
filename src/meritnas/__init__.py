"""MeritNAS: neural architecture search that keeps your budget and shows what earned its place.

What is imported here is what users call. The packages, each of which may import those before it
(tests/test_layers.py checks that):

    settings, data         what users decide, and what they bring
    space, supernet, cost  decisions, shared weights, what architectures cost and which fit
    families               kinds of networks: tables, images, texts, modalities
    policy, credit         how likely options are, and what they are worth
    strategy               the search strategies, a file for each paper
    training, prepare      networks trained from scratch; settings and data made ready for a search
    engine                 the loop that searches
    prediction, explanation, report, exporting   what is done with what was found
    run, api, comparison   whole searches
    cli, estimators        for the terminal, and for scikit-learn

Start reading at `api.py`, then `run/job.py` and `engine/loop.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from meritnas.version import __version__

if TYPE_CHECKING:
    from meritnas.api import explain, explain_modalities, resume, retrain, search, train
    from meritnas.comparison.comparison import Comparison, compare
    from meritnas.credit.shapley import ShapleyValues, shapley_values
    from meritnas.data.columns.inputs import TableInputs
    from meritnas.errors import (
        DataError,
        InfeasibleError,
        MeritNASError,
        SpaceError,
        StoreError,
        UsageError,
    )
    from meritnas.estimators.fusion import NASFusionClassifier
    from meritnas.estimators.tables import NASClassifier, NASRegressor
    from meritnas.explanation.modalities import ModalityExplanation
    from meritnas.explanation.network import NetworkExplanation
    from meritnas.exporting.export import export
    from meritnas.families.darts.family import DartsSpace, darts_space
    from meritnas.families.fusion.family import FusionSpace, fusion_space
    from meritnas.families.nasbench201.benchmark import NASBench201Table, nasbench201_table
    from meritnas.families.nasbench201.family import Nasbench201Space, nasbench201_space
    from meritnas.families.recurrent.family import RecurrentSpace, recurrent_space
    from meritnas.families.tabular.family import PAPER_WIDTHS, TabularSpace, tabular_space
    from meritnas.prediction.predictor import Predictor, load_predictor
    from meritnas.result import SearchResult
    from meritnas.space.architecture import Architecture

__all__ = [
    "PAPER_WIDTHS",
    "Architecture",
    "Comparison",
    "DartsSpace",
    "DataError",
    "FusionSpace",
    "InfeasibleError",
    "MeritNASError",
    "ModalityExplanation",
    "NASBench201Table",
    "NASClassifier",
    "NASFusionClassifier",
    "NASRegressor",
    "Nasbench201Space",
    "NetworkExplanation",
    "Predictor",
    "RecurrentSpace",
    "SearchResult",
    "ShapleyValues",
    "SpaceError",
    "StoreError",
    "TableInputs",
    "TabularSpace",
    "UsageError",
    "__version__",
    "compare",
    "darts_space",
    "explain",
    "explain_modalities",
    "export",
    "fusion_space",
    "load_predictor",
    "nasbench201_space",
    "nasbench201_table",
    "recurrent_space",
    "resume",
    "retrain",
    "search",
    "shapley_values",
    "tabular_space",
    "train",
]

_MODULES = {
    "meritnas.api": ("explain", "explain_modalities", "resume", "retrain", "search", "train"),
    "meritnas.explanation.network": ("NetworkExplanation",),
    "meritnas.prediction.predictor": ("Predictor", "load_predictor"),
    "meritnas.comparison.comparison": ("Comparison", "compare"),
    "meritnas.credit.shapley": ("ShapleyValues", "shapley_values"),
    "meritnas.explanation.modalities": ("ModalityExplanation",),
    "meritnas.errors": (
        "DataError",
        "InfeasibleError",
        "MeritNASError",
        "SpaceError",
        "StoreError",
        "UsageError",
    ),
    "meritnas.exporting.export": ("export",),
    "meritnas.families.darts.family": ("DartsSpace", "darts_space"),
    "meritnas.families.fusion.family": ("FusionSpace", "fusion_space"),
    "meritnas.families.recurrent.family": ("RecurrentSpace", "recurrent_space"),
    "meritnas.families.nasbench201.family": ("Nasbench201Space", "nasbench201_space"),
    "meritnas.families.nasbench201.benchmark": ("NASBench201Table", "nasbench201_table"),
    "meritnas.data.columns.inputs": ("TableInputs",),
    "meritnas.families.tabular.family": ("PAPER_WIDTHS", "TabularSpace", "tabular_space"),
    "meritnas.result": ("SearchResult",),
    "meritnas.estimators.tables": ("NASClassifier", "NASRegressor"),
    "meritnas.estimators.fusion": ("NASFusionClassifier",),
    "meritnas.space.architecture": ("Architecture",),
}


def __getattr__(name: str) -> Any:
    """Imports on first use: torch takes seconds, and `meritnas --help` must not wait for it."""
    for module, names in _MODULES.items():
        if name in names:
            value = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module 'meritnas' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
