"""What is built to be installed elsewhere: what is in it, what it says, and that it works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

import meritnas
from once import made_once
from test_extras import NEEDS

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
LATE = ["sklearn.ensemble", "sklearn.linear_model", "sklearn.model_selection", "typer"]
"""What would make `from meritnas import NASClassifier` slow, for models that few fit."""

SEARCH = """
import sys
sys.modules.update(dict.fromkeys({blocked!r}))
from meritnas import NASClassifier
assert not set({late!r}) & sys.modules.keys()
assert sys.modules["meritnas"].__file__.startswith({place!r})
from meritnas.cli.main import main
main("search wine --max-params 900 --epochs 1 --retrain-epochs 1 --finalists 1 --retrain-seeds 1"
     " --widths 4,8 --layers 2 --threads 1 --out run".split())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for all workers."""
    (built,) = made_once(tmp_path_factory, "wheel", build_wheel).glob("*.whl")
    return built


def build_wheel(copy: Path) -> None:
    """From a copy, so that nothing is left in the tree."""
    leave = shutil.ignore_patterns("__pycache__", "*.egg-info")
    shutil.copytree(ROOT / "src", copy / "src", ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    build = [
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-build-isolation",
        "-w",
        copy,
        copy,
    ]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)


def test_the_wheel_has_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        metadata = next(name for name in names if name.endswith("/METADATA"))
        about = Parser().parsestr(archive.read(metadata).decode())
    kinds = {Path(name).suffix for name in names if name.startswith("meritnas/")}
    source = {
        str(path.relative_to(ROOT / "src"))
        for path in (ROOT / "src" / "meritnas").rglob("*")
        if path.suffix in kinds | {".html", ".css", ".js", ".c", ".h", ".json"}
    }
    assert source <= set(names)
    assert all(re.match(r"meritnas(-[\d.]+\.dist-info)?/", name) for name in names)
    assert about["Version"] == meritnas.__version__
    assert about["License-Expression"] == "MIT"
    assert about["Author"] == "MeritNAS developers"
    assert set(about.get_all("Provides-Extra")) == PROJECT["optional-dependencies"].keys()


def test_the_page_of_the_package_links_to_nothing_that_is_not_there() -> None:
    """An index of packages shows the page without the repository; its picture is left out there."""
    found = re.findall(r"(!?)\[[^]]*\]\(([^)]+)\)", (ROOT / "README.md").read_text())
    assert all(shown or link.startswith("https://") for shown, link in found), found
    pictures = [link for shown, link in found if shown]
    assert len(pictures) == 1
    assert (ROOT / pictures[0]).is_file()


def test_the_wheel_works_without_extras_and_without_a_browser(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own that sees the packages of this one, but not this tree."""
    venv.create(tmp_path / "fresh", symlinks=True)
    python = tmp_path / "fresh" / "bin" / "python"
    own = {**os.environ, "PATH": "", "PYTHONPATH": ""}
    install = [
        "--python",
        python,
        "install",
        "--quiet",
        "--no-compile",
        "--no-deps",
        "--no-index",
        wheel,
    ]
    subprocess.run([sys.executable, "-m", "pip", *install], env=own, check=True)
    (packages,) = (tmp_path / "fresh").glob("lib/python*/site-packages")
    (packages / "others.pth").write_text(sysconfig.get_path("purelib"))
    blocked = [*NEEDS, "uvicorn", "matplotlib", "mkdocs", "selenium", "pytest"]
    code = SEARCH.format(blocked=blocked, late=LATE, place=str(packages))
    done = subprocess.run(
        [python, "-c", code], cwd=tmp_path, env=own, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").exists()
    said = subprocess.run(
        [tmp_path / "fresh" / "bin" / "meritnas", "--version"],
        env=own,
        check=True,
        capture_output=True,
        text=True,
    )
    assert meritnas.__version__ in said.stdout


def test_the_version_is_the_same_everywhere() -> None:
    cited = re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert cited
    assert {PROJECT["version"], cited[1]} == {meritnas.__version__}


def test_hooks_before_a_commit_fetch_nothing() -> None:
    found = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert {repo["repo"] for repo in found} == {"local"}
    hooks = [hook for repo in found for hook in repo["hooks"]]
    assert {hook["language"] for hook in hooks} == {"system"}
    wanted = {hook["entry"].split()[0] for hook in hooks}
    assert wanted == {f".venv/bin/{name}" for name in ("python", "ruff", "mypy")}
