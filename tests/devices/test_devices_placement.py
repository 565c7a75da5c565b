from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch import nn

import meritnas
from meritnas import Nasbench201, Retraining, RunOptions, Tabular, Training, search
from meritnas.devices.placement import beside, check_device, on_cpu, placed
from meritnas.errors import UsageError
from meritnas.result import SearchResult
from pretend_device import NAME, SecondDevice, There

ROOT = Path(meritnas.__file__).parent


@pytest.fixture
def second_device() -> Iterator[None]:
    with SecondDevice():
        yield


@pytest.mark.usefixtures("second_device")
def test_a_tensor_on_the_wrong_device_is_noticed() -> None:
    """Of the pretended device itself: what follows would say nothing if it mixed devices."""
    rows = torch.randn(4, 3)
    there = placed(nn.Linear(3, 2), NAME)
    assert isinstance(there.weight, There)
    with pytest.raises(RuntimeError, match="same device"):
        there(rows)
    with pytest.raises(RuntimeError, match="same device"):
        rows.add_(placed(rows, NAME))
    with pytest.raises(TypeError, match=r"Tensor.cpu\(\)"):
        placed(rows, NAME).numpy()
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device=NAME, generator=torch.Generator())
    outputs = there(beside(rows, there.weight))
    assert outputs.device.type == NAME
    assert torch.equal(on_cpu(outputs), on_cpu(there)(rows))


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match=r"device 'nowhere' cannot be used here .*; try cpu"):
        check_device("nowhere")


def found_on(device: str, data: Any, out: Path, **settings: Any) -> SearchResult:
    return search(
        *data,
        epochs=1,
        retraining=Retraining(epochs=1, seeds=1, finalists=1, candidates=2, dropout=0.0),
        run=RunOptions(device, 1),
        out=out,
        **settings,
    )


def rows() -> tuple[pd.DataFrame, str]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["x", "y"], 90)})
    frame["kind"] = np.where((frame.a > 0) ^ (frame.b == "x"), "p", "q")
    return frame, "kind"


def images() -> tuple[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 256, size=(60, 8, 8, 3), dtype=np.uint8)
    return ((pixels, rng.integers(0, 2, size=60)),)


_CELLS = Nasbench201(channels=4, cells=1)


@pytest.mark.parametrize("strategy", ["tabnas", "advantage", "darts", "shapley", "manas-ls"])
def test_a_search_runs_on_another_device_and_finds_the_same(tmp_path: Path, strategy: str) -> None:
    settings = {"space": Tabular(layers=2, widths=(2, 4)), "strategy": strategy}
    here = found_on("cpu", rows(), tmp_path / "here", **settings)
    with SecondDevice():
        there = found_on(NAME, rows(), tmp_path / "there", **settings)
    assert there.summary["architecture"] == here.summary["architecture"]
    assert there.summary["test"] == pytest.approx(here.summary["test"], rel=1e-3)


def test_images_are_searched_on_another_device(tmp_path: Path) -> None:
    with SecondDevice():
        found = found_on(
            NAME,
            images(),
            tmp_path / "there",
            space=_CELLS,
            strategy="advantage",
            training=Training(batch_size=16),
        )
    assert np.isfinite(list(found.summary["test"].values())).all()


def transfers(source: str) -> list[str]:
    """Calls that may take something to another device, as they are written."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name, told = node.func.attr, ast.unparse(node)
        if name in ("cpu", "cuda") or (name == "to" and _is_place(node)):
            found.append(told)
    return found


def _is_place(call: ast.Call) -> bool:
    """Whether the argument of `to` may be a device."""
    where = ", ".join(ast.unparse(one) for one in [*call.args, *(k.value for k in call.keywords)])
    return "device" in where or where.startswith(("'", '"'))


def test_one_module_alone_takes_tensors_from_device_to_device() -> None:
    assert transfers("x.cpu(); y.cuda(); z.to('cpu'); m.to(a.device); m.to(device=d)")
    assert transfers("x.to(torch.float32); x.to(dtype); x.to(like)") == []
    found = {
        path.relative_to(ROOT).as_posix(): calls
        for path in ROOT.rglob("*.py")
        if (calls := transfers(path.read_text(encoding="utf-8")))
    }
    # Methods of parts of data, which call that module; and what leaves with an exported network.
    own = {"data/bundle.py", "data/tables/streamed.py", "data/answers.py"}
    own |= {"prepare/encoding.py", "prepare/preparation.py", "exporting/int8_python.py"}
    assert set(found) - own == {"devices/placement.py"}
