"""MeritNAS: neural architecture search that keeps your budget and shows what earned its place."""

from __future__ import annotations

from meritnas.api import SearchResult, resume, retrain, search
from meritnas.child.predictor import Predictor, load_predictor
from meritnas.errors import (
    DataError,
    InfeasibleError,
    MeritNASError,
    SpaceError,
    StoreError,
    UsageError,
)
from meritnas.families.table_inputs import TableInputs
from meritnas.families.tabular import PAPER_WIDTHS, TabularSpace, tabular_space
from meritnas.space.architecture import Architecture
from meritnas.version import __version__

__all__ = [
    "PAPER_WIDTHS",
    "Architecture",
    "DataError",
    "InfeasibleError",
    "MeritNASError",
    "Predictor",
    "SearchResult",
    "SpaceError",
    "StoreError",
    "TableInputs",
    "TabularSpace",
    "UsageError",
    "__version__",
    "load_predictor",
    "resume",
    "retrain",
    "search",
    "tabular_space",
]
