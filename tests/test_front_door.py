from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import meritnas
from meritnas.families.catalogue import space_specs
from meritnas.strategy.catalogue import strategy_specs

SETTINGS = (
    *("Limits", "Training", "Retraining", "RunOptions", "SpaceSpec", "StrategySpec"),
    *("TableReading", "ImageReading", "TextReading", "ModalityReading"),
)
_LIGHT = """
import sys
{wanted}
heavy = {{"torch", "numpy", "pandas", "sklearn", "scipy", "typer", "rich"}} & sys.modules.keys()
assert not heavy, heavy
"""


@pytest.mark.parametrize(
    "wanted",
    [
        "import meritnas",
        "from meritnas import Shapley, Darts",
        f"from meritnas import {', '.join(SETTINGS)}",
        "import meritnas; dir(meritnas), meritnas.__all__",
        "from meritnas import Tabnas, Tabular; Tabnas(samples=4), Tabular(layers=2)",
    ],
)
def test_what_says_what_to_do_needs_nothing_heavy(wanted: str) -> None:
    subprocess.run([sys.executable, "-c", _LIGHT.format(wanted=wanted)], check=True)


def test_every_space_and_every_strategy_is_there_by_the_name_of_its_class() -> None:
    for found in (*space_specs().values(), *strategy_specs().values()):
        assert getattr(meritnas, found.__name__) is found
        assert found.__name__ in meritnas.__all__
    assert set(SETTINGS) <= set(meritnas.__all__)


def test_all_names_can_be_imported_at_once() -> None:
    names: dict[str, object] = {}
    exec("from meritnas import *", names)
    assert set(meritnas.__all__) <= set(names)


def for_type_checkers() -> dict[str, str]:
    """Name -> the module that it is imported from, as type checkers see it."""
    tree = ast.parse(Path(meritnas.__file__).read_text())
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    return {
        alias.name: str(node.module)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_type_checkers_see_what_there_is() -> None:
    """Strategies that came later are found all the same; type checkers take them for anything."""
    seen = for_type_checkers()
    later = {found.__name__ for found in (*space_specs().values(), *strategy_specs().values())}
    assert set(meritnas.__all__) - later - {"__version__"} <= set(seen) <= set(meritnas.__all__)
    for name, module in seen.items():
        assert getattr(importlib.import_module(module), name) is getattr(meritnas, name)


def test_what_is_not_there_is_said_so() -> None:
    for name in ("Shaply", "nothing", "__wrapped__"):
        with pytest.raises(AttributeError, match=f"module 'meritnas' has no attribute '{name}'"):
            getattr(meritnas, name)
