from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cli_helpers import SHORT, Outcome

from meritnas.cli.values import parse_count
from meritnas.settings.fields import Setting

Command = Callable[..., Outcome]

OWN = '''
"""Strategies and spaces of a user's own."""

from dataclasses import dataclass

from meritnas.families.catalogue import space_specs
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.tabnas import Tabnas

Tabular = space_specs()["tabular"]


@dataclass(frozen=True)
class Climb(StrategySpec):
    """Climbs where it is steep.

    Attributes:
        height: Metres to climb.
        by_rope: Whether a rope is used.
        out: Which way [to the left] is out.
    """

    height: int = 7
    by_rope: bool = False
    out: str = "down"

    def make(self, problem):
        assert self.height == 1200 and self.by_rope
        return Tabnas(samples=2).make(problem)


def climb(problem, *, rate: float = 0.05):
    """Climbs at a rate.

    Args:
        problem: what to climb.
        rate: Metres a minute.
    """
    return Tabnas(policy_rate=rate).make(problem)


@dataclass(frozen=True)
class Slim(Tabular):
    """Networks that are slim.

    Attributes:
        waist: Most units of a layer.
    """

    waist: int = 16


def narrow(inputs, outputs, *, units: int = 8, deep: bool = True):
    """Networks of layers with few units.

    Args:
        inputs: what comes in.
        outputs: what comes out.
        units: Most units of a layer.
        deep: Whether there are two layers.
    """
    from meritnas.families.tabular.family import tabular_space

    return tabular_space(inputs, outputs, 2 if deep else 1, (4, units))
'''


@pytest.fixture
def own() -> Iterator[None]:
    """A module in the current folder; what was imported from there is forgotten afterwards."""
    before = list(sys.path)
    Path("mine.py").write_text(OWN)
    yield
    sys.path[:] = before
    sys.modules.pop("mine", None)


def shown(outcome: Outcome) -> str:
    """What help says, without its lines and columns."""
    assert outcome.code == 0, outcome.err
    return " ".join(outcome.out.replace("│", " ").split())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def test_help_shows_the_flags_of_the_strategy_that_is_named(meritnas: Command) -> None:
    plain = shown(meritnas("search", "--help"))
    tabnas = shown(meritnas("search", "--strategy", "tabnas", "--help"))
    shapley = shown(meritnas("search", "--strategy=shapley", "--help"))
    assert "--permutations" not in plain
    assert "--permutations" not in tabnas
    assert "--permutations N Orders in which options are taken away." in shapley
    assert "─ Strategy shapley ─" in shapley
    assert "--estimator <permutation|regression> How Shapley values are found." in shapley
    assert "--sampling" not in plain
    assert "--sampling" in tabnas
    assert "--sampling" not in shapley


def test_help_shows_the_flags_of_the_space_that_is_named(meritnas: Command) -> None:
    plain = shown(meritnas("search", "--help"))
    assert "Spaces and strategies have flags of their own" in plain
    assert "--layers" in plain
    assert "--blocks" in plain
    for flag in ("--stem", "--nodes", "--sparsity", "--level", "--modality"):
        assert flag not in plain
    darts = shown(meritnas("search", "--space", "darts", "--help"))
    assert "--stem" in darts
    assert "--cutout" in darts
    assert "--layers" not in darts
    assert "--scaling" not in darts
    texts = shown(meritnas("search", "--space", "recurrent", "--help"))
    assert "--nodes" in texts
    assert "--vocabulary" in texts
    assert "--channels" not in texts
    both = shown(meritnas("search", "--space", "fusion", "--strategy", "sm-shapley", "--help"))
    assert "--sparsity NUMBER lambda_1 of sparse operations. [default: by preset]" in both
    assert "--frozen-backbone" in both
    assert "--gradient-share" in both
    assert "flags of their own" not in both


def test_help_starts_with_data_target_and_limits(meritnas: Command) -> None:
    plain = shown(meritnas("search", "--help"))
    order = ["DATA", "--target COLUMN", "--max-params N", "--space NAME The", "─ Space tabular ─"]
    order += ["─ Reading tables ─", "─ Training ─", "─ Run ─", "--config FILE"]
    places = [plain.index(text) for text in order]
    assert places == sorted(places)
    assert "(default" not in plain
    assert "[default: (" not in plain


def test_flags_of_the_usual_strategy_need_no_name(meritnas: Command, sales: Path) -> None:
    made = ("search", sales, "--target", "churn", "--max-params", "300", "--quiet", *SHORT)
    outcome = meritnas(*made, "--sampling", "rejection", "--out", "run")
    assert outcome.code == 0, outcome.err
    settings = json.loads(Path("run/config.json").read_text())["settings"]
    assert settings["strategy"]["name"] == "tabnas"
    assert settings["strategy"]["sampling"] == "rejection"


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (
            "--strategy random --sampling rejection",
            "strategy 'random' has no option 'sampling' (it has none); strategies that have it: "
            "reinforce, tabnas",
        ),
        ("--permutations 5", "strategy 'tabnas' has no option 'permutations' (it has sampling"),
        (
            "--strategy shapley --no-grouped",
            "strategy 'shapley' has no option 'grouped' (it has estimator",
        ),
        ("--sampling unrestricted", "sampling must be one of conditional, rejection"),
        ("--channels 8", "channels is for images, and this is a table; leave it out"),
        ("--no-zero", "zero is for images, and this is a table; leave it out"),
        ("--cutout 4", "cutout is for images, and this is a table; leave it out"),
        ("--level word", "level is for texts, and this is a table; leave it out"),
        ("--nodes 4", "nodes is for texts"),
        ("--sparsity 1", "sparsity is for several modalities (--space fusion), and this is a"),
        ("--modality a", "modalities is for several modalities (--space fusion), and this is a"),
    ],
)
def test_flags_of_other_strategies_and_other_data(
    meritnas: Command, sales: Path, flags: str, says: str
) -> None:
    outcome = meritnas("search", sales, "--target", "churn", *flags.split())
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {says}")
    assert outcome.err.count("\n") == 1
    assert not Path("runs").exists()


def test_flags_of_another_space_for_the_same_data(meritnas: Command) -> None:
    outcome = meritnas("search", "digits", "--space", "nasbench201", "--stem", "imagenet")
    assert outcome.code == 2
    assert "space 'nasbench201' has no option 'stem' (it has channels" in outcome.err
    assert "spaces that have it: darts, darts-s1" in outcome.err
    texts = meritnas("search", "book.txt", "--space", "recurrent", "--channels", "8")
    assert "channels is for images" in texts.err


@pytest.mark.usefixtures("own")
def test_a_strategy_of_one_s_own_has_its_flags(meritnas: Command, sales: Path) -> None:
    text = shown(meritnas("search", "--strategy", "mine:Climb", "--help"))
    assert "─ Strategy mine:Climb ─" in text
    assert "--height N Metres to climb. [default: 7]" in text
    assert "--by-rope --no-by-rope Whether a rope is used." in text
    assert text.count("--out ") == 1  # the run's folder: that flag is taken
    made = ("search", sales, "--target", "churn", "--quiet", "--json", *SHORT)
    flags = ("--strategy", "mine:Climb", "--height", "1.2k", "--by-rope")
    outcome = meritnas(*made, *flags, "--out", "run")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["strategy"] == "mine:Climb"
    kept = json.loads(Path("run/config.json").read_text())["settings"]["strategy"]
    assert kept == {"name": "mine:Climb", "height": 1200, "by_rope": True, "out": "down"}
    other = meritnas(*made, "--strategy", "mine:Climb", "--samples", "3")
    assert other.code == 2
    assert "has no option 'samples' (it has height, by_rope, out)" in other.err


@pytest.mark.usefixtures("own")
def test_a_function_that_makes_a_strategy_has_its_flags(meritnas: Command, sales: Path) -> None:
    text = shown(meritnas("search", "--strategy", "mine:climb", "--help"))
    assert "--rate NUMBER Metres a minute. [default: 0.05]" in text
    made = ("search", sales, "--target", "churn", "--quiet", *SHORT, "--out", "run")
    outcome = meritnas(*made, "--strategy", "mine:climb", "--rate", "0.1")
    assert outcome.code == 0, outcome.err
    kept = json.loads(Path("run/config.json").read_text())["settings"]["strategy"]
    assert kept == {"name": "mine:climb", "rate": 0.1}


@pytest.mark.usefixtures("own")
def test_spaces_of_one_s_own_have_their_flags(meritnas: Command, sales: Path) -> None:
    text = shown(meritnas("search", "--space", "mine:Slim", "--help"))
    assert "─ Space mine:Slim ─" in text
    assert "--waist N Most units of a layer. [default: 16]" in text
    assert "--layers N Hidden layers. [default: 3, or" in text
    text = shown(meritnas("search", "--space", "mine:narrow", "--help"))
    assert "--units N Most units of a layer. [default: 8]" in text
    assert "--deep --no-deep Whether there are two layers. [default: deep]" in text
    made = ("search", sales, "--target", "churn", "--quiet", "--json", *SHORT[:-2])
    outcome = meritnas(*made, "--space", "mine:narrow", "--units", "6", "--no-deep")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["architecture"] in ("4", "6")
    other = meritnas(*made, "--space", "mine:narrow", "--layers", "3")
    assert other.code == 2
    assert "space 'mine:narrow' has no option 'layers' (it has units, deep)" in other.err


def test_a_module_that_is_not_there(meritnas: Command) -> None:
    for flag in ("--strategy", "--space"):
        outcome = meritnas("search", "digits", flag, "nowhere:Thing")
        assert outcome.code == 2
        assert f"no {flag.removeprefix('--')} 'nowhere:Thing'" in outcome.err
        assert outcome.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("20k", 20_000),
        ("20K", 20_000),
        ("1.5M", 1_500_000),
        ("1_000", 1000),
        ("1,000", 1000),
        ("2.0", 2),
        ("0.5k", 500),
        ("1G", 10**9),
        ("-50", -50),
    ],
)
def test_counts(text: str, number: int) -> None:
    assert parse_count(text) == number


@pytest.mark.parametrize("text", ["2.5", "1.0005k", "k", "", "many", "1e3", "20kb", "nan"])
def test_what_is_no_count(text: str) -> None:
    with pytest.raises(ValueError, match="is no whole number, such as 20000, 20k or"):
        parse_count(text)


def test_counts_as_flags(meritnas: Command, sales: Path) -> None:
    made = ("search", sales, "--target", "churn", "--quiet", "--out", "run", *SHORT)
    refused = meritnas(*made, "--max-params", "2.5")
    assert refused.code == 2
    assert refused.err == (
        "error: max_params: '2.5' is no whole number, such as 20000, 20k or 1.5M\n"
    )
    refused = meritnas(*made, "--retrain-epochs", "few")
    assert refused.err.startswith("error: retrain_epochs: 'few' is no whole number")
    assert not Path("run").exists()
    outcome = meritnas(*made, "--max-params", "0.3k", "--max-flops", "1.5M")
    assert outcome.code == 0, outcome.err
    limits = json.loads(Path("run/config.json").read_text())["settings"]["limits"]
    assert limits == {"params": 300, "flops": 1_500_000}


def test_retraining_data_takes_settings_of_reading_and_training(
    meritnas: Command, sales: Path, trained: Path
) -> None:
    flags = ("--scaling", "quantile", "--class-weight", "balanced", "--batch-size", "16")
    more = ("--optimizer", "sgd", "--dropout", "0.2", "--threads", "1", "--seed", "5")
    made = ("retrain", sales, "--architecture", "8-4", "--target", "churn", "--epochs", "2")
    outcome = meritnas(*made, "--seeds", "1", *flags, *more, "--quiet", "--out", "run")
    assert outcome.code == 0, outcome.err
    settings = json.loads(Path("run/config.json").read_text())["settings"]
    assert settings["reading"]["scaling"] == "quantile"
    assert settings["reading"]["class_weight"] == "balanced"
    assert settings["recipe"]["batch_size"] == 16
    assert settings["recipe"]["optimizer"] == "sgd"
    assert (settings["seed"], settings["retrain_epochs"]) == (5, 2)
    refused = meritnas("retrain", trained, "--scaling", "quantile", "--dropout", "0.2")
    assert refused.code == 2
    assert refused.err == (
        "error: a run is retrained with its own settings; leave out --dropout, --scaling\n"
    )
    text = shown(meritnas("retrain", "--help"))
    for flag in ("--max-params", "--strategy", "--warmup", "--finalists", "--retrain-epochs"):
        assert flag not in text


def test_a_setting_without_a_name_for_its_type_is_a_text() -> None:
    from meritnas.cli.flags import option_lines

    setting = Setting("where", object, None, "Where.", "where")
    assert option_lines([setting]) == ["--where TEXT  (default: found by itself)"]


@pytest.mark.parametrize("role", ["space", "strategy"])
def test_an_empty_name_is_no_name(meritnas: Callable[..., Outcome], role: str) -> None:
    refused = meritnas("search", "wine", f"--{role}", "")
    assert refused.code == 2
    assert refused.err.startswith(f"error: no {role} ''; there are ")
    assert not Path("runs").exists()
