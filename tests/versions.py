"""Try MeritNAS with the oldest or the newest versions of what it says it works with.

    python tests/versions.py oldest newest [--tests tests/test_api.py ...] [--folder build/versions]

Each set gets an environment of its own, into which packages are fetched: the oldest are the lower
bounds of `pyproject.toml`, the newest what the index has. Then a search, an estimator and an export
run in it, and the tests that are named. It ends with 1 where a set fails.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SMOKE = """
import sys
import numpy, pandas, scipy, sklearn, torch
for module in (torch, sklearn, pandas, numpy, scipy):
    print(f"{module.__name__} {module.__version__}")
from sklearn.datasets import load_wine
import meritnas
from meritnas import NASClassifier, Retraining
short = Retraining(epochs=2, seeds=1, finalists=1)
found = meritnas.search("wine", max_params=900, epochs=2, retraining=short, out="wine")
print(found.architecture, found.test)
meritnas.export("wine", to="python", out="exported")
rows, classes = load_wine(return_X_y=True, as_frame=True)
estimator = NASClassifier(max_params=900, epochs=2, retraining=short, random_state=0)
print("accuracy", estimator.fit(rows, classes).score(rows, classes))
"""


def wanted(which: str) -> list[str]:
    """What pip is asked for."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"]
    return [one.replace(">=", "==") for one in asked] if which == "oldest" else asked


def try_out(which: str, folder: Path, tests: list[str]) -> bool:
    """Whether a set works."""
    place = folder / which
    shutil.rmtree(ROOT / "build" / "lib", ignore_errors=True)  # modules that are gone since
    subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
    python = place / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--upgrade"]
    extra = ["pytest", "hypothesis"] if tests else []
    steps = [
        ([*install, *wanted(which), *extra], ROOT),
        ([*install[:-1], "--no-deps", str(ROOT)], ROOT),
        ([python, "-c", SMOKE], place),
        *([([python, "-m", "pytest", "-x", *tests], ROOT)] if tests else []),
    ]
    return all(
        subprocess.run(step, cwd=where, check=False).returncode == 0 for step, where in steps
    )


def main() -> int:
    """Try the sets that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", choices=["oldest", "newest"])
    parser.add_argument("--tests", nargs="*", default=[], help="to run in each, too")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "versions")
    asked = parser.parse_args()
    worked = {which: try_out(which, asked.folder.resolve(), asked.tests) for which in asked.sets}
    for which, well in worked.items():
        print(f"{which}: {'works' if well else 'FAILS'}")
    return 0 if all(worked.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
