"""Kinds of data do not know of each other, and torch is not needed to ask them about themselves."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import meritnas

ROOT = Path(meritnas.__file__).parent
PACKAGES = ("tables", "images", "texts", "modalities")


def modules_of(package: str) -> list[str]:
    """The modules of a package within `data`, by full name."""
    paths = sorted((ROOT / "data" / package).rglob("*.py"))
    return [name_of(path) for path in paths]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(("meritnas", *parts)).removesuffix(".__init__")


def file_of(module: str) -> Path | None:
    path = ROOT.joinpath(*module.split(".")[1:])
    files = (path.with_suffix(".py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


@cache
def imported(module: str) -> frozenset[str]:
    """Modules of `meritnas.data` that a module imports anywhere in it."""
    path = file_of(module)
    assert path is not None
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module} has a relative import, which this test cannot see"
            base = node.module or ""
            found |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return frozenset(
        name for name in found if name.startswith("meritnas.data.") and file_of(name) is not None
    )


def reached(start: str) -> set[str]:
    """All that a module imports, itself or by what it imports."""
    found, waiting = {start}, [start]
    while waiting:
        new = imported(waiting.pop()) - found
        found |= new
        waiting += new
    return found


@pytest.mark.parametrize("package", PACKAGES)
def test_kinds_of_data_do_not_import_each_other(package: str) -> None:
    others = tuple(f"meritnas.data.{other}." for other in PACKAGES if other != package)
    for module in modules_of(package):
        wrong = sorted(name for name in reached(module) if name.startswith(others))
        assert not wrong, f"{module} reaches {wrong}"


def test_what_is_shared_knows_no_kind() -> None:
    top = [name_of(path) for path in sorted((ROOT / "data").glob("*.py"))]
    shared = {*top, *modules_of("columns"), *modules_of("files")} - {"meritnas.data.kinds"}
    kinds = tuple(f"meritnas.data.{package}." for package in PACKAGES)
    assert not [(m, n) for m in sorted(shared) for n in imported(m) if n.startswith(kinds)]


def test_the_check_sees_what_is_imported_by_others() -> None:
    assert "meritnas.data.tables.source" in reached("meritnas.data.kinds")
    assert "meritnas.data.files.archive" in reached("meritnas.data.modalities.kind")


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_kinds_and_their_settings_need_neither_torch_nor_pandas() -> None:
    code = (
        "import sys\n"
        "from meritnas.data.kinds import KINDS\n"
        "from meritnas.settings.fields import settings_of\n"
        "assert all(settings_of(kind.reading) for kind in KINDS)\n"
        "print([name for name in ('torch', 'pandas', 'numpy') if name in sys.modules])"
    )
    assert run(code) == "[]"


def test_encoders_are_read_without_torch() -> None:
    code = (
        "import sys\n"
        "from meritnas.data.kinds import encoder_from_json\n"
        "from meritnas.data.task import Task\n"
        "encoder_from_json({'kind': 'modalities', 'modalities': []})\n"
        "encoder_from_json({'kind': 'text', 'words': [], 'level': 'word', 'tokenised': False})\n"
        "encoder_from_json({'kind': 'image', 'channels': 1, 'height': 4, 'width': 4, 'mean': [0],"
        " 'std': [1]})\n"
        "encoder_from_json({'numbers': [], 'categories': [], 'dropped': []})\n"
        "print('torch' in sys.modules)"
    )
    assert run(code) == "False"
