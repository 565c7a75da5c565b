from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
ARGUMENTS = {
    "tables": [],
    "tabnas_ablation": [
        *["wine", "--max-params", "150", "--widths", "2,4,8"],
        *["--ground", "ground.json", "--figures", "figures"],
    ],
    "tabnas_toy": ["--steps", "40"],
    "feasible": [],
    "tabular_step": [],
    "tabular_peers": ["wine:target:2000"],
    "tabular_quality": ["wine", "--max-params", "2000", "--strategies", "tabnas,evolution"],
}


def test_every_benchmark_has_a_quick_run() -> None:
    scripts = {path.stem for path in FOLDER.glob("*.py")} - {"scoreboard"}
    assert scripts == set(ARGUMENTS)


@pytest.mark.parametrize("name", sorted(ARGUMENTS))
def test_quick_run_gives_a_table_and_rows(name: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.json"
    script = str(FOLDER / f"{name}.py")
    done = subprocess.run(
        [sys.executable, script, *ARGUMENTS[name], "--quick", "--json", str(rows)],
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "no target judged" in done.stdout
    found = json.loads(rows.read_text())
    assert found
    assert all(isinstance(row, dict) and row for row in found)
