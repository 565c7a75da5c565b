from __future__ import annotations

import ast
import json
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path
from typing import Any

import pytest
from edge_net import edge_problem, edge_set, edge_space

import meritnas.strategy
from meritnas import Darts, DartsS1, Nasbench201, Tabular
from meritnas.errors import UsageError
from meritnas.plugins import Trust
from meritnas.settings.fields import settings_of
from meritnas.settings.spec import StrategySpec
from meritnas.strategy.algorithms.black_box import BlackBox
from meritnas.strategy.catalogue import (
    about,
    options_of,
    strategy_from_json,
    strategy_spec,
    strategy_specs,
)
from meritnas.strategy.pc_darts import PcDarts
from meritnas.strategy.shapley_nas import DartsShapley, Shapley
from meritnas.strategy.tabnas import Tabnas

FOLDER = Path(meritnas.strategy.__file__).parent
NAMES = [
    "abs-reward",
    "advantage",
    "bayesian",
    "darts",
    "darts-2nd",
    "darts-shapley",
    "darts-shapley-frozen",
    "evolution",
    "gdas",
    "manas",
    "manas-coordinated-zipf",
    "manas-linear-softmax",
    "manas-ls",
    "mnasnet",
    "mnasnet-max",
    "nasp",
    "parsec",
    "pc-darts",
    "proxyless",
    "random",
    "reinforce",
    "shapley",
    "sm-shapley",
    "snas",
    "tabnas",
]

OWN = '''
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from meritnas.settings.spec import StrategySpec
from meritnas.strategy.random_search import Random

if TYPE_CHECKING:
    from meritnas.strategy.problem import Problem


@dataclass(frozen=True)
class Twice(StrategySpec):
    """Random, but twice.

    Attributes:
        times: How often.
    """

    times: int = 2

    def make(self, problem):
        return (self.times, Random().make(problem))


@dataclass(frozen=True)
class Called(Twice):
    name = "called"


def recipe(problem, *, rate: float = 0.5, form: Literal["a", "b"] = "a", deep=False, most=3):
    """Random, with things to say.

    Args:
        rate: How fast.
    """
    return (rate, form, deep, most, Random().make(problem))


def hinted(problem: "Problem", rate: "float" = 0.5, **more):
    return rate


def needing(problem, *, rate: float):
    return rate


def clashing(problem, *, name="x"):
    return name


class Plain:
    """A class that is no spec."""

    def __init__(self, problem, *, step: int = 1):
        self.problem, self.step = problem, step
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module of a user's own."""
    (tmp_path / "own_strategies.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_strategies", raising=False)
    return "own_strategies"


def problem() -> Any:
    return edge_problem(edge_set(edge_space((3, 2))))


def test_every_strategy_is_found_in_a_fixed_order() -> None:
    assert list(strategy_specs()) == NAMES


def test_modules_with_specs_do_not_wait_for_torch() -> None:
    """In a process of its own: here it has been imported long since."""
    modules = sorted(f"meritnas.strategy.{path.stem}" for path in FOLDER.glob("[a-z]*.py"))
    assert "meritnas.strategy.tabnas" in modules
    code = (
        "import importlib, sys\n"
        f"for name in {modules!r}:\n"
        "    importlib.import_module(name)\n"
        "    assert not {'torch', 'numpy'} & set(sys.modules), name\n"
        "from meritnas.strategy.catalogue import about, options_of, strategy_specs\n"
        "for name in strategy_specs():\n"
        "    about(name), options_of(name)\n"
        "assert not {'torch', 'numpy'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_strategies_see_only_gates_and_the_probe(path: Path) -> None:
    imported = [
        node.module or ""
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom)
    ]
    seen = {name for name in imported if name.startswith("meritnas.supernet")}
    assert seen <= {"meritnas.supernet.gates", "meritnas.supernet.probe"}


@pytest.mark.parametrize("name", NAMES)
def test_a_spec_is_plain_data(name: str) -> None:
    spec = strategy_spec(name)
    assert spec == strategy_specs()[name]()
    assert spec.name == name
    assert spec.options() == {}
    assert len({spec, strategy_spec(name)}) == 1
    assert strategy_from_json(json.loads(json.dumps(spec.to_json()))) == spec
    assert pickle.loads(pickle.dumps(spec)) == spec
    for each in fields(spec):
        with pytest.raises(FrozenInstanceError):
            setattr(spec, each.name, None)


@pytest.mark.parametrize("name", NAMES)
def test_every_option_says_what_it_is(name: str) -> None:
    assert about(name).endswith(".")
    assert [option.name for option in options_of(name) if not option.help.endswith(".")] == []


def test_options_of_a_name_and_of_a_spec() -> None:
    named = strategy_spec("tabnas", {"sampling": "rejection", "samples": 3})
    assert named == Tabnas(sampling="rejection", samples=3)
    assert named.options() == {"sampling": "rejection", "samples": 3}
    assert strategy_from_json(named.to_json()) == named
    assert strategy_spec(named) is named
    assert strategy_spec(named, {"samples": 5}) == Tabnas(sampling="rejection", samples=5)
    assert hash(Tabnas(samples=3)) != hash(Tabnas(samples=4))


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ("tabnass", {}, "no strategy 'tabnass'; did you mean 'tabnas'? there are abs-reward, adv"),
        ("x", {}, "snas, tabnas, and module:function for one of your own"),
        ("nowhere:thing", {}, "no strategy 'nowhere:thing': No module named 'nowhere'; write mod"),
        (
            "evolution",
            {"initial": 3},
            "strategy 'evolution' has no option 'initial' (it has population, tournament); "
            "strategies that have it: bayesian",
        ),
        (
            "random",
            {"nothing": 3},
            "strategy 'random' has no option 'nothing' (it has none); "
            "strategies that have it: none",
        ),
        (Tabnas(), {"beta": -1.0}, "strategy 'tabnas' has no option 'beta' (it has sampling, mc_"),
        (Tabnas, {}, "a strategy must be a name or a spec such as Tabnas(), got <class"),
        ("tabnas", {"final": "best"}, "final must be one of ranked, largest, mode, got 'best'"),
        ("shapley", {"antithetic": 1}, "antithetic must be True or False, got 1"),
        ("shapley", {"permutations": 1.5}, "permutations must be a whole number, got 1.5"),
    ],
)
def test_what_cannot_be_meant_is_explained(given: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(UsageError) as caught:
        strategy_spec(given, options)
    assert text in str(caught.value)


def test_parts_of_the_channels_by_strategy_and_space() -> None:
    assert [PcDarts().partial_channels(space) for space in (Darts(), Nasbench201())] == [4, 4]
    assert [Shapley().partial_channels(space) for space in (DartsS1(), Tabular())] == [4, 1]
    assert DartsShapley().partial_channels(Darts()) == 1


def test_a_class_of_ones_own(own: str) -> None:
    given = f"{own}:Twice"
    assert about(given) == "Random, but twice."
    (times,) = options_of(given)
    assert (times.name, times.kind, times.default, times.help) == ("times", int, 2, "How often.")
    spec = strategy_spec(given, {"times": 3})
    assert spec.name == given
    assert spec.to_json() == {"name": given, "times": 3}
    assert strategy_from_json(spec.to_json(), Trust(frozenset([given]))) == spec
    unloaded = strategy_from_json(spec.to_json())
    assert (unloaded.own_names, unloaded.to_json()) == ({given}, spec.to_json())
    with pytest.raises(UsageError, match="has no make"):
        unloaded.make(problem())
    assert strategy_spec(spec, {"times": 4}) == strategy_spec(given, {"times": 4})
    number, made = spec.make(problem())
    assert number == 3
    assert isinstance(made, BlackBox)
    with pytest.raises(UsageError, match=r"'own_strategies:Twice' has no option 'beta' \(it has t"):
        strategy_spec(given, {"beta": 1.0})


def test_a_function_of_ones_own(own: str) -> None:
    given = f"{own}:recipe"
    assert about(given) == "Random, with things to say."
    found = {option.name: (option.kind, option.default) for option in options_of(given)}
    assert list(found) == ["rate", "form", "deep", "most"]
    assert found["rate"] == (float, 0.5)
    assert found["deep"] == (bool, False)
    assert found["most"] == (int, 3)
    assert options_of(given)[0].help == "How fast."
    assert options_of(given)[1].choices == ("a", "b")
    spec = strategy_spec(given, {"rate": 2.0})
    assert spec == strategy_spec(given, {"rate": 2.0}) != strategy_spec(given)
    assert len({spec, strategy_spec(given, {"rate": 2.0})}) == 1
    assert spec.options() == {"rate": 2.0}
    trust = Trust(frozenset([given]))
    assert strategy_from_json(json.loads(json.dumps(spec.to_json())), trust) == spec
    assert strategy_spec(spec, {"deep": True}).options() == {"rate": 2.0, "deep": True}
    assert pickle.loads(pickle.dumps(spec)) == spec
    rate, form, deep, most, made = spec.make(problem())
    assert (rate, form, deep, most) == (2.0, "a", False, 3)
    assert isinstance(made, BlackBox)


def test_any_class_that_takes_a_problem_will_do(own: str) -> None:
    asked = problem()
    made = strategy_spec(f"{own}:Plain", {"step": 5}).make(asked)
    assert made.problem is asked
    assert made.step == 5
    assert about(f"{own}:Plain") == "A class that is no spec."
    assert strategy_spec(f"{own}:hinted", {"rate": 0.25}).make(asked) == 0.25


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("recipe", {"form": "c"}, "form must be one of a, b, got 'c'"),
        ("recipe", {"gone": 1}, "has no option 'gone' (it has rate, form, deep, most); strategies"),
        ("needing", {}, "strategy 'own_strategies:needing' needs a value for its option 'rate'"),
        ("clashing", {}, "option 'name' of strategy 'own_strategies:clashing' needs another name"),
        ("nothing", {}, "no strategy 'own_strategies:nothing': module 'own_strategies' has no"),
        ("Called", {}, "is found again as 'own_strategies:Called', got the name 'called'; leave"),
    ],
)
def test_what_is_wrong_with_ones_own(
    own: str, name: str, options: dict[str, Any], text: str
) -> None:
    with pytest.raises(UsageError) as caught:
        strategy_spec(f"{own}:{name}", options)
    assert text in str(caught.value)


def test_a_class_that_no_other_process_would_find_is_refused() -> None:
    class Here(StrategySpec):
        pass

    with pytest.raises(UsageError, match="in a module of its own, so that a run finds it again"):
        strategy_spec(Here())


def test_bases_of_specs_are_no_strategies() -> None:
    bases = {each for spec in strategy_specs().values() for each in spec.__mro__}
    named = set(strategy_specs().values())
    shared = {each for each in bases - named if issubclass(each, StrategySpec)}
    assert {each.__name__ for each in shared} >= {"SoftReward", "GradientSpec", "ShapleySpec"}
    assert all(settings_of(each) for each in shared - {StrategySpec})
