"""MeritNAS: neural architecture search that keeps your budget and shows what earned its place."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from meritnas.version import __version__

if TYPE_CHECKING:
    from meritnas.api import explain, resume, retrain, search, train
    from meritnas.child.network_credit import NetworkExplanation
    from meritnas.child.predictor import Predictor, load_predictor
    from meritnas.comparison import Comparison, compare
    from meritnas.credit.shapley import ShapleyValues, shapley_values
    from meritnas.errors import (
        DataError,
        InfeasibleError,
        MeritNASError,
        SpaceError,
        StoreError,
        UsageError,
    )
    from meritnas.export.export import export
    from meritnas.families.darts import DartsSpace, darts_space
    from meritnas.families.fusion import FusionSpace, fusion_space
    from meritnas.families.nasbench201 import Nasbench201Space, nasbench201_space
    from meritnas.families.nasbench201_table import NASBench201Table, nasbench201_table
    from meritnas.families.recurrent import RecurrentSpace, recurrent_space
    from meritnas.families.table_inputs import TableInputs
    from meritnas.families.tabular import PAPER_WIDTHS, TabularSpace, tabular_space
    from meritnas.modality_explanation import ModalityExplanation, explain_modalities
    from meritnas.result import SearchResult
    from meritnas.sklearn.estimators import NASClassifier, NASRegressor
    from meritnas.sklearn.fusion import NASFusionClassifier
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
    "meritnas.api": ("explain", "resume", "retrain", "search", "train"),
    "meritnas.child.network_credit": ("NetworkExplanation",),
    "meritnas.child.predictor": ("Predictor", "load_predictor"),
    "meritnas.comparison": ("Comparison", "compare"),
    "meritnas.credit.shapley": ("ShapleyValues", "shapley_values"),
    "meritnas.modality_explanation": ("ModalityExplanation", "explain_modalities"),
    "meritnas.errors": (
        "DataError",
        "InfeasibleError",
        "MeritNASError",
        "SpaceError",
        "StoreError",
        "UsageError",
    ),
    "meritnas.export.export": ("export",),
    "meritnas.families.darts": ("DartsSpace", "darts_space"),
    "meritnas.families.fusion": ("FusionSpace", "fusion_space"),
    "meritnas.families.recurrent": ("RecurrentSpace", "recurrent_space"),
    "meritnas.families.nasbench201": ("Nasbench201Space", "nasbench201_space"),
    "meritnas.families.nasbench201_table": ("NASBench201Table", "nasbench201_table"),
    "meritnas.families.table_inputs": ("TableInputs",),
    "meritnas.families.tabular": ("PAPER_WIDTHS", "TabularSpace", "tabular_space"),
    "meritnas.result": ("SearchResult",),
    "meritnas.sklearn.estimators": ("NASClassifier", "NASRegressor"),
    "meritnas.sklearn.fusion": ("NASFusionClassifier",),
    "meritnas.space.architecture": ("Architecture",),
}


class _Package(ModuleType):
    """Imports on first use: torch takes seconds, and `meritnas --help` must not wait for it."""

    def __getattr__(self, name: str) -> Any:
        for module, names in _MODULES.items():
            if name in names:
                value = getattr(import_module(module), name)
                setattr(self, name, value)
                return value
        raise AttributeError(f"module 'meritnas' has no attribute '{name}'")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *__all__})

    def __setattr__(self, name: str, value: object) -> None:
        # Python binds the packages `meritnas.search` and `meritnas.export` here when it loads
        # them, but for users these are functions.
        if not (name in ("search", "export") and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
