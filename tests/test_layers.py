from __future__ import annotations

import ast
from pathlib import Path

import pytest

import meritnas

# Each layer may import from those before it, and from itself.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "clock", "version", "wording"),
    ("plugins", "store"),
    ("settings",),
    ("data",),
    ("space",),
    ("supernet",),
    ("cost",),
    ("families",),
    ("policy",),
    ("credit",),
    ("strategy",),
    ("training",),
    ("prepare",),
    ("engine",),
    ("prediction",),
    ("explanation",),
    ("report",),
    ("exporting",),
    ("run",),
    ("api",),
    ("comparison",),
    ("cli", "estimators"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}
ROOT = Path(meritnas.__file__).parent


def imported(module: str, tree: ast.Module) -> set[str]:
    """Full names of all that a module imports, relative imports resolved."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = module.split(".")[: -node.level]
                base = ".".join([*parents, base] if base else parents)
            found.add(base)
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def violations(module: str, source: str) -> list[str]:
    """What a module imports although its layer must not; `module` is its full name."""
    own = module.split(".")[1]
    front_door = RANK[own] == len(LAYERS) - 1  # the top layer may use what users use
    wrong = []
    for name in sorted(imported(module, ast.parse(source))):
        package, _, layer = name.partition(".")
        layer = layer.split(".")[0]
        if package != "meritnas" or (front_door and layer not in RANK):
            continue
        if not layer:
            wrong.append(f"{module} imports the whole package")
        elif layer not in RANK:
            wrong.append(f"{module} imports {name}, which has no layer")
        elif layer != own and RANK[layer] >= RANK[own]:
            wrong.append(f"{module} imports {name} from a later layer")
    return wrong


def modules() -> dict[str, Path]:
    """All modules of the package by full name, but for its front door."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        if parts != ("__init__",):
            found[".".join(("meritnas", *parts))] = path
    return found


def test_every_module_belongs_to_a_layer() -> None:
    strays = {name for name in modules() if name.split(".")[1] not in RANK}
    assert not strays - {"meritnas.__main__"}


@pytest.mark.parametrize("name", [n for n in modules() if n.split(".")[1] in RANK])
def test_a_module_imports_only_from_earlier_layers(name: str) -> None:
    assert violations(name, modules()[name].read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "line",
    [
        "from meritnas.engine.loop import Search",
        "import meritnas.engine.loop",
        "import meritnas.cli.main as main",
        "def f():\n    from meritnas.strategy import recipes",
        "from meritnas import search",
        "from meritnas import api",
        "import meritnas",
        "from ..policy import laws",
        "if TYPE_CHECKING:\n    from meritnas.policy.laws import Law",
        "from meritnas.nowhere import thing",
    ],
)
def test_the_check_sees_an_import_from_a_later_layer(line: str) -> None:
    assert violations("meritnas.cost.made_up", line)


@pytest.mark.parametrize(
    "line",
    [
        "from meritnas.space.space import Space",
        "from meritnas.cost.terms import Limit",
        "from .terms import Limit",
        "from meritnas.errors import SpaceError",
        "import numpy, search, cli.main",
        "x = 'from meritnas.cli import main'",
    ],
)
def test_the_check_lets_earlier_layers_pass(line: str) -> None:
    assert violations("meritnas.cost.made_up", line) == []


def test_the_top_layer_may_use_the_front_door() -> None:
    assert violations("meritnas.cli.main", "from meritnas import search, __version__") == []


def test_modules_of_one_rank_do_not_import_each_other() -> None:
    assert violations("meritnas.cli.main", "from meritnas.estimators import NASClassifier")
    assert violations("meritnas.errors", "from meritnas.clock import Clock")
