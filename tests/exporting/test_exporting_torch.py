from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import meritnas
from flat_search import train
from meritnas.data.bundled import load_bundled
from meritnas.errors import UsageError
from meritnas.exporting import torch_export
from meritnas.exporting.export import export
from meritnas.exporting.graph import Graph
from meritnas.exporting.pooled_windows import PooledWindows, with_pooled_windows


def test_a_number_comes_out_on_its_own_scale(number_run: Path, tmp_path: Path) -> None:
    path = export(number_run, "torch-export", tmp_path)[0]
    extra = {"about.json": ""}
    module = torch.export.load(path, extra_files=extra).module()
    about = json.loads(extra["about.json"])
    frame = load_bundled("diabetes")[0]
    numbers = torch.from_numpy(frame[json.loads(about["numbers"])].to_numpy(float, copy=True))
    for count in (1, 40):
        with torch.no_grad():
            scores, predicted = module(numbers[:count])
        predictor = meritnas.load_predictor(number_run)
        torch.testing.assert_close(scores, predictor.outputs(frame[:count]), atol=1e-5, rtol=0)
        np.testing.assert_allclose(predicted, predictor.predict(frame[:count]), rtol=1e-5)


@pytest.mark.parametrize(("cell", "width"), [("cell", 6), ("gru", 6), ("lstm", 12)])
def test_texts_of_any_length_carry_their_state(
    text_runs: dict[str, Path], cell: str, width: int, tmp_path: Path
) -> None:
    module = torch.export.load(export(text_runs[cell], "torch-export", tmp_path)[0]).module()
    words, state = torch.randint(11, (2, 8)), torch.zeros(2, width)
    own = meritnas.load_predictor(text_runs[cell]).module.eval()
    with torch.no_grad():
        expected = own.advance(words)  # type: ignore[operator]
        first, between = module(words[:, :3], state)
        second, after = module(words[:, 3:], between)
    torch.testing.assert_close(torch.cat([first, second], dim=1), expected[0], atol=1e-5, rtol=0)
    torch.testing.assert_close(after, expected[1], atol=1e-5, rtol=0)


@pytest.mark.parametrize(("size", "sizes"), [((7,), 3), ((9, 8), (2, 3)), ((5, 4), (5, 1))])
def test_pooling_by_windows_is_adaptive_pooling(size: tuple[int, ...], sizes: object) -> None:
    pool = (nn.AdaptiveMaxPool1d if len(size) == 1 else nn.AdaptiveMaxPool2d)(sizes)  # type: ignore[arg-type]
    network = nn.Sequential(nn.ReLU(), pool)
    found = with_pooled_windows(network)
    assert isinstance(found[1], PooledWindows)  # type: ignore[index]
    assert network[1] is pool
    inputs = torch.randn(3, 2, *size)
    assert torch.equal(found(inputs), network(inputs))


def test_what_differs_is_not_written(
    number_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sample(graph: Graph, blob: bytes) -> None:
        with torch.no_grad():
            graph.module.get_parameter("network.output.bias").add_(0.001)
        check(graph, blob)

    check = torch_export._check
    monkeypatch.setattr(torch_export, "_check", sample)
    with pytest.raises(UsageError, match=r"its scores differ by up to 0.001.*nothing was written"):
        export(number_run, "torch-export", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_noise_cannot_be_a_graph(pixels: np.ndarray, tmp_path: Path) -> None:
    cell = "[('noise', 0), ('sep_conv_3x3', 1)" + ", ('noise', 0), ('noise', 1)" * 3 + "]"
    both = f"normal={cell}, normal_concat=[2, 3, 4, 5], reduce={cell}, reduce_concat=[2, 3, 4, 5]"
    size = {"space": "darts-s4", "channels": 4, "cells": 3, "epochs": 1, "seeds": 1}
    labels = np.arange(len(pixels)) % 3
    out = tmp_path / "run"
    train((pixels, labels), architecture=f"Genotype({both})", out=out, **size)
    with pytest.raises(UsageError, match="draw noise"):
        export(out, "torch-export")
    assert export(out, "python")[0].is_file()
