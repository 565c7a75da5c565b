from __future__ import annotations

import ast
import functools
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import meritnas

# Each layer may import from those before it, and from itself.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "clock", "version", "wording"),
    ("devices",),
    ("plugins", "store"),
    ("settings",),
    ("data",),
    ("space", "workers", "tasks"),
    ("supernet",),
    ("nn",),
    ("cost",),
    ("families",),
    ("policy",),
    ("credit",),
    ("strategy",),
    ("witness",),
    ("training",),
    ("prepare",),
    ("engine",),
    ("prediction",),
    ("failures",),
    ("run",),
    ("report",),
    ("explanation",),
    ("exporting",),
    ("progress",),
    ("result",),
    ("api", "explained"),
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


@functools.cache
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


KINDS = ("tables", "images", "texts", "modalities")


@functools.cache
def imports_of(module: str) -> set[str]:
    return imported(module, ast.parse(modules()[module].read_text(encoding="utf-8")))


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_data_do_not_know_each_other(kind: str) -> None:
    others = tuple(f"meritnas.data.{other}" for other in KINDS if other != kind)
    own = [name for name in modules() if name.startswith(f"meritnas.data.{kind}.")]
    assert own
    for module in own:
        assert not [name for name in imports_of(module) if name.startswith(others)], module


def test_only_the_list_of_kinds_knows_all_of_them() -> None:
    """Above data, modules speak to the one protocol; a fusion network is about modalities.

    And the command that shows a table's columns is about tables.
    """
    allowed = {
        "meritnas.cli.commands.columns",
        *("meritnas.data.kinds", "meritnas.explanation.modality_use", "meritnas.api"),
        *("meritnas.explanation.modalities", "meritnas.cli.commands.explain"),
        "meritnas.explanation.under_noise",
        *("meritnas.estimators.tables", "meritnas.estimators.fusion", "meritnas.prediction.writer"),
    }
    inner = tuple(f"meritnas.data.{kind}." for kind in KINDS)
    for module in modules():
        if module.startswith(("meritnas.data.", "meritnas.families.")) or module in allowed:
            continue
        if module.startswith("meritnas.exporting.alone."):  # one program for each kind
            continue
        assert not [name for name in imports_of(module) if name.startswith(inner)], module


def test_strategies_see_only_gates_and_probe() -> None:
    seen = {"meritnas.supernet.gates", "meritnas.supernet.probe"}
    below = ("meritnas.families", "meritnas.training", "meritnas.store", "meritnas.data")
    for module in modules():
        if module.startswith("meritnas.strategy."):
            for name in imports_of(module):
                if name.startswith("meritnas.supernet"):
                    assert any(name.startswith(one) for one in seen), (module, name)
                batches = name.startswith("meritnas.data.stream")  # what a probe hands out
                assert batches or not name.startswith(below), (module, name)


def test_supernets_and_costs_know_no_strategy_and_families_no_data_but_shapes() -> None:
    above = ("meritnas.strategy", "meritnas.policy", "meritnas.credit", "meritnas.engine")
    for module in modules():
        if module.split(".")[1] in ("supernet", "cost", "space", "families", "training"):
            assert not [name for name in imports_of(module) if name.startswith(above)], module


def test_children_import_only_torch() -> None:
    """What an exported network is made of: child files, and what these take from each other."""
    standard = (
        "torch",
        "__future__",
        "collections",
        "math",
        "typing",
        "functools",
        "itertools",
    )
    left = [name for name in modules() if name.startswith("meritnas.families.")]
    left = [name for name in left if name.endswith(".child")]
    assert len(left) == 6
    seen: set[str] = set()
    while left:
        module = left.pop()
        seen.add(module)
        for name in imports_of(module):
            if name.startswith(("meritnas.errors", "meritnas.wording")):
                continue  # of checks, which exported source leaves out
            if name in modules():
                left += [name] if name not in seen else []
            elif name.rpartition(".")[0] not in modules():
                assert name.split(".")[0] in standard, (module, name)
    assert not [name for name in seen if not name.startswith("meritnas.families.")]


@pytest.mark.parametrize("kind", [*KINDS, "pictured"])
def test_programs_that_leave_need_numpy_and_torch_only(kind: str) -> None:
    """Whatever they name of ours leaves with them; pictures are read by Pillow."""
    program = importlib.import_module("meritnas.exporting.program_export")
    command = {"texts": program.WRITES}.get(kind, program.ANSWERS)
    needed = imported("predict", ast.parse(program.program_source(kind, command)))
    outside = {name.partition(".")[0] for name in needed} - set(sys.stdlib_module_names)
    assert outside <= {"numpy", "torch"} | ({"PIL"} if kind in ("images", "pictured") else set())


HEAVY = "{'torch', 'numpy', 'pandas'}"


@pytest.mark.parametrize(
    "line",
    [
        "import meritnas",
        "import meritnas.settings.settings, meritnas.settings.request",
        "from meritnas.strategy.catalogue import strategy_specs; strategy_specs()",
        "from meritnas.families.catalogue import space_specs; space_specs()",
        "from meritnas.data.kinds import KINDS; [kind.reading() for kind in KINDS]",
        "from meritnas import Darts, Shapley, Tabnas, Training, TableReading",
        "import meritnas.cli.main",
    ],
)
def test_settings_and_the_command_line_wait_for_nothing(line: str) -> None:
    code = f"import sys; {line}; sys.exit(' '.join({HEAVY} & set(sys.modules)) or 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


@pytest.mark.parametrize("package", ["space", "cost"])
def test_spaces_and_costs_need_no_torch(package: str) -> None:
    names = [name for name in modules() if name.startswith(f"meritnas.{package}.")]
    lines = "; ".join(f"import {name}" for name in names)
    code = f"import sys; {lines}; sys.exit('torch' if 'torch' in sys.modules else 0)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr


def test_no_name_is_a_function_and_a_package() -> None:
    packages = {name.split(".")[1] for name in modules()} - {"__main__"}
    assert not packages & set(meritnas.__all__) - {"__version__"}
    for name in packages:
        module = importlib.import_module(f"meritnas.{name}")
        assert getattr(meritnas, name) is module


def test_every_module_and_package_says_what_it_is() -> None:
    silent = [
        name
        for name, path in {**modules(), "meritnas": ROOT / "__init__.py"}.items()
        if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []
