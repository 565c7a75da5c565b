"""MeritNAS: neural architecture search that keeps your budget and shows what earned its place.

What is imported here is what users call, and a class for each space, each strategy and each group
of settings: `Tabular(layers=2)`, `Shapley(permutations=20)`, `Training(batch_size=64)`.

The packages, each of which may import those before it (tests/test_layers.py checks that):

    settings, data         what users decide, and what they bring
    workers, tasks         who computes a share of what, and who does what stands by itself
    space, supernet, cost  decisions, shared weights, what architectures cost and which fit
    nn                     decisions and layers for networks of users' own
    families               kinds of networks: tables, images, texts, modalities
    policy, credit         how likely options are, and what they are worth
    strategy               the search strategies, a file for each paper
    training, prepare      networks trained from scratch; settings and data made ready for a search
    engine                 the loop that searches
    prediction, failures   what answers, and where that is wrong
    run                    a whole search with its files
    explanation, report, exporting   what is done with what was found
    result, api, explained, comparison   what users call
    cli, estimators        for the terminal, and for scikit-learn

Start reading at `api.py`, then `run/job.py` and `engine/loop.py`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from meritnas.version import __version__ as __version__

if TYPE_CHECKING:  # for type checkers and editors; all else finds names as `__getattr__` does
    from meritnas.api import explain as explain
    from meritnas.api import explain_features as explain_features
    from meritnas.api import explain_modalities as explain_modalities
    from meritnas.api import resume as resume
    from meritnas.api import retrain as retrain
    from meritnas.api import search as search
    from meritnas.api import train as train
    from meritnas.comparison.comparison import Comparison as Comparison
    from meritnas.comparison.comparison import compare as compare
    from meritnas.credit.shapley import ShapleyValues as ShapleyValues
    from meritnas.credit.shapley import shapley_values as shapley_values
    from meritnas.data.columns.inputs import TableInputs as TableInputs
    from meritnas.data.images.reading import ImageReading as ImageReading
    from meritnas.data.modalities.reading import ModalityReading as ModalityReading
    from meritnas.data.tables.reading import TableReading as TableReading
    from meritnas.data.texts.reading import TextReading as TextReading
    from meritnas.errors import DataError as DataError
    from meritnas.errors import DivergedError as DivergedError
    from meritnas.errors import InfeasibleError as InfeasibleError
    from meritnas.errors import MeritNASError as MeritNASError
    from meritnas.errors import SpaceError as SpaceError
    from meritnas.errors import StoreError as StoreError
    from meritnas.errors import UsageError as UsageError
    from meritnas.errors import WorkersError as WorkersError
    from meritnas.estimators.fusion import NASFusionClassifier as NASFusionClassifier
    from meritnas.estimators.fusion import NASFusionRegressor as NASFusionRegressor
    from meritnas.estimators.tables import NASClassifier as NASClassifier
    from meritnas.estimators.tables import NASRegressor as NASRegressor
    from meritnas.explained import explain_failures as explain_failures
    from meritnas.explanation.modalities import ModalityExplanation as ModalityExplanation
    from meritnas.explanation.network import NetworkExplanation as NetworkExplanation
    from meritnas.exporting.export import export as export
    from meritnas.families.built.family import BuiltSpace as BuiltSpace
    from meritnas.families.built.family import space_of as space_of
    from meritnas.families.convnet.family import ConvnetSpace as ConvnetSpace
    from meritnas.families.convnet.family import convnet_space as convnet_space
    from meritnas.families.convnet.spec import Convnet as Convnet
    from meritnas.families.darts.family import DartsSpace as DartsSpace
    from meritnas.families.darts.family import darts_space as darts_space
    from meritnas.families.darts.spec import Darts as Darts
    from meritnas.families.darts.spec import DartsS1 as DartsS1
    from meritnas.families.darts.spec import DartsS2 as DartsS2
    from meritnas.families.darts.spec import DartsS3 as DartsS3
    from meritnas.families.darts.spec import DartsS4 as DartsS4
    from meritnas.families.darts.spec import DartsUnique as DartsUnique
    from meritnas.families.fusion.family import FusionSpace as FusionSpace
    from meritnas.families.fusion.family import fusion_space as fusion_space
    from meritnas.families.fusion.spec import Fusion as Fusion
    from meritnas.families.nasbench201.benchmark import NASBench201Table as NASBench201Table
    from meritnas.families.nasbench201.benchmark import nasbench201_table as nasbench201_table
    from meritnas.families.nasbench201.family import Nasbench201Space as Nasbench201Space
    from meritnas.families.nasbench201.family import nasbench201_space as nasbench201_space
    from meritnas.families.nasbench201.spec import Nasbench201 as Nasbench201
    from meritnas.families.recurrent.family import RecurrentSpace as RecurrentSpace
    from meritnas.families.recurrent.family import recurrent_space as recurrent_space
    from meritnas.families.recurrent.spec import Recurrent as Recurrent
    from meritnas.families.rich_tabular.spec import RichTabular as RichTabular
    from meritnas.families.tabular.family import TabularSpace as TabularSpace
    from meritnas.families.tabular.family import tabular_space as tabular_space
    from meritnas.families.tabular.spec import Tabular as Tabular
    from meritnas.families.widths import PAPER_WIDTHS as PAPER_WIDTHS
    from meritnas.prediction.predictor import Predictor as Predictor
    from meritnas.prediction.predictor import load_predictor as load_predictor
    from meritnas.report.notebook.pictures import RunFigure as RunFigure
    from meritnas.report.notebook.run_view import RunView as RunView
    from meritnas.report.notebook.run_view import open_run as open_run
    from meritnas.result import SearchResult as SearchResult
    from meritnas.settings.limits import Limits as Limits
    from meritnas.settings.request import RunOptions as RunOptions
    from meritnas.settings.spec import SpaceSpec as SpaceSpec
    from meritnas.settings.spec import StrategySpec as StrategySpec
    from meritnas.settings.training import Retraining as Retraining
    from meritnas.settings.training import Training as Training
    from meritnas.space.architecture import Architecture as Architecture
    from meritnas.strategy.advantage import Advantage as Advantage
    from meritnas.strategy.bayesian import Bayesian as Bayesian
    from meritnas.strategy.darts import DartsGradient as DartsGradient
    from meritnas.strategy.darts import DartsSecondOrder as DartsSecondOrder
    from meritnas.strategy.evolution import Evolution as Evolution
    from meritnas.strategy.gdas import Gdas as Gdas
    from meritnas.strategy.manas import Manas as Manas
    from meritnas.strategy.manas import ManasCoordinatedZipf as ManasCoordinatedZipf
    from meritnas.strategy.manas import ManasLinearSoftmax as ManasLinearSoftmax
    from meritnas.strategy.manas import ManasLs as ManasLs
    from meritnas.strategy.nasp import Nasp as Nasp
    from meritnas.strategy.parsec import Parsec as Parsec
    from meritnas.strategy.pc_darts import PcDarts as PcDarts
    from meritnas.strategy.proxyless import Proxyless as Proxyless
    from meritnas.strategy.random_search import Random as Random
    from meritnas.strategy.reinforce import Reinforce as Reinforce
    from meritnas.strategy.shapley_nas import DartsShapley as DartsShapley
    from meritnas.strategy.shapley_nas import DartsShapleyFrozen as DartsShapleyFrozen
    from meritnas.strategy.shapley_nas import Shapley as Shapley
    from meritnas.strategy.sm_shapnas import SmShapley as SmShapley
    from meritnas.strategy.snas import Snas as Snas
    from meritnas.strategy.soft_rewards import AbsReward as AbsReward
    from meritnas.strategy.soft_rewards import Mnasnet as Mnasnet
    from meritnas.strategy.soft_rewards import MnasnetMax as MnasnetMax
    from meritnas.strategy.tabnas import Tabnas as Tabnas
    from meritnas.tasks.processes import LocalProcesses as LocalProcesses
    from meritnas.tasks.ray_workers import RayWorkers as RayWorkers

_MODULES = {
    "meritnas.api": (
        "explain",
        "explain_features",
        "explain_modalities",
        "resume",
        "retrain",
        "search",
        "train",
    ),
    "meritnas.comparison.comparison": ("Comparison", "compare"),
    "meritnas.credit.shapley": ("ShapleyValues", "shapley_values"),
    "meritnas.data.columns.inputs": ("TableInputs",),
    "meritnas.data.images.reading": ("ImageReading",),
    "meritnas.data.modalities.reading": ("ModalityReading",),
    "meritnas.data.tables.reading": ("TableReading",),
    "meritnas.data.texts.reading": ("TextReading",),
    "meritnas.errors": (
        "DataError",
        "DivergedError",
        "InfeasibleError",
        "MeritNASError",
        "SpaceError",
        "StoreError",
        "UsageError",
        "WorkersError",
    ),
    "meritnas.estimators.fusion": ("NASFusionClassifier", "NASFusionRegressor"),
    "meritnas.estimators.tables": ("NASClassifier", "NASRegressor"),
    "meritnas.explained": ("explain_failures",),
    "meritnas.explanation.modalities": ("ModalityExplanation",),
    "meritnas.explanation.network": ("NetworkExplanation",),
    "meritnas.exporting.export": ("export",),
    "meritnas.families.built.family": ("BuiltSpace", "space_of"),
    "meritnas.families.darts.family": ("DartsSpace", "darts_space"),
    "meritnas.families.fusion.family": ("FusionSpace", "fusion_space"),
    "meritnas.families.convnet.family": ("ConvnetSpace", "convnet_space"),
    "meritnas.families.nasbench201.benchmark": ("NASBench201Table", "nasbench201_table"),
    "meritnas.families.nasbench201.family": ("Nasbench201Space", "nasbench201_space"),
    "meritnas.families.recurrent.family": ("RecurrentSpace", "recurrent_space"),
    "meritnas.families.tabular.family": ("TabularSpace", "tabular_space"),
    "meritnas.families.widths": ("PAPER_WIDTHS",),
    "meritnas.prediction.predictor": ("Predictor", "load_predictor"),
    "meritnas.report.notebook.pictures": ("RunFigure",),
    "meritnas.report.notebook.run_view": ("RunView", "open_run"),
    "meritnas.result": ("SearchResult",),
    "meritnas.settings.limits": ("Limits",),
    "meritnas.settings.request": ("RunOptions",),
    "meritnas.settings.spec": ("SpaceSpec", "StrategySpec"),
    "meritnas.settings.training": ("Retraining", "Training"),
    "meritnas.space.architecture": ("Architecture",),
    "meritnas.tasks.processes": ("LocalProcesses",),
    "meritnas.tasks.ray_workers": ("RayWorkers",),
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    """Imports on first use: torch takes seconds, and `meritnas --help` must not wait for it."""
    if name == "__all__":
        return sorted({"__version__", *_PLACES, *_specs()})
    if name in _PLACES:
        value = getattr(import_module(_PLACES[name]), name)
    elif name[:1].isupper() and name in _specs():  # modules of this package are lower-case
        value = _specs()[name]
    else:
        raise AttributeError(f"module 'meritnas' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})


def _specs() -> dict[str, type]:
    """The classes of all spaces and strategies by their names; torch is not needed for them."""
    from meritnas.families.catalogue import space_specs
    from meritnas.strategy.catalogue import strategy_specs

    return {one.__name__: one for one in (*space_specs().values(), *strategy_specs().values())}
