"""Networks as C, compiled and run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from meritnas import UsageError
from meritnas.cli.main import main
from meritnas.exporting.c.compiling import STRICT, compiler, runner
from meritnas.exporting.export import export
from meritnas.exporting.graph import make_graph
from meritnas.exporting.trained import load_trained
from meritnas.exporting.verify import verify
from meritnas.settings.limits import Limits

with_compiler = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """The exit code of a command, and what it says and complains about."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def run_c(folder: Path, inputs: Sequence[np.ndarray], sizes: Sequence[int]) -> list[np.ndarray]:
    files = {name: (folder / name).read_text() for name in ("model.c", "model.h")}
    return list(runner(files, sizes, STRICT)(inputs))


def differences(made: Path, folder: Path, *inputs: np.ndarray) -> list[float]:
    """Between what C says and what the run's network says of the same raw inputs."""
    graph = make_graph(load_trained(made))
    own = [each.numpy() for each in graph.own(*map(torch.from_numpy, inputs))]
    own = [each.reshape(len(each), -1) for each in own]
    given = [each.astype(np.int32) if each.dtype == np.int64 else each for each in inputs]
    found = run_c(folder, given, [each.shape[1] for each in own])
    return [float(np.abs(a - b).max()) for a, b in zip(own, found, strict=True)]


@with_compiler
def test_a_table_with_gaps_in_c_says_what_torch_says(table_run: Path, tmp_path: Path) -> None:
    export(table_run, "c", tmp_path)
    numbers, codes = make_graph(load_trained(table_run)).sample(200, 3)
    assert torch.isnan(numbers).any()
    numbers[0], numbers[1, :2], numbers[2, :2] = torch.nan, 1e300, -1e300
    codes[0], codes[1] = 10_000, -1
    worst = differences(table_run, tmp_path, numbers.numpy(), codes.numpy())
    assert max(worst) < 1e-5


@with_compiler
def test_a_number_in_c_is_on_its_own_scale(number_run: Path, tmp_path: Path) -> None:
    export(number_run, "c", tmp_path)
    (numbers,) = make_graph(load_trained(number_run)).sample(50, 3)
    scores, predicted = differences(number_run, tmp_path, numbers.numpy())
    assert scores < 1e-5
    assert predicted < 1e-3  # of numbers around 150


@with_compiler
def test_pictures_of_odd_size_in_c(image_run: Path, pixels: np.ndarray, tmp_path: Path) -> None:
    export(image_run, "c", tmp_path)
    assert max(differences(image_run, tmp_path, pixels)) < 1e-5


@with_compiler
def test_the_files_are_strict_c99_without_a_heap(
    table_run: Path, image_run: Path, tmp_path: Path
) -> None:
    for name, made in (("table", table_run), ("image", image_run)):
        folder = tmp_path / name
        export(made, "c", folder)
        text = (folder / "model.c").read_text()
        included = {line.split()[1] for line in text.splitlines() if line.startswith("#include")}
        assert included == {'"model.h"', "<math.h>", "<string.h>"}
        assert not any(word in text for word in ("alloc(", "alloca(", "free("))
        example = (folder / "model.h").read_text().split("For example:")[1].split("*/")[0]
        main = "\n".join(line.removeprefix(" *") for line in example.splitlines())
        (folder / "main.c").write_text(main)
        flags = [*STRICT, "-fsanitize=address,undefined"] if name == "table" else list(STRICT)
        compiling = [*(compiler() or []), *flags, "main.c", "model.c", "-o", "main", "-lm"]
        subprocess.run(compiling, cwd=folder, check=True)
        said = subprocess.run([folder / "main"], check=True, capture_output=True, text=True)
        assert 0 <= float(said.stdout) <= 1


def test_the_arena_is_what_the_family_counts(
    table_run: Path, image_run: Path, number_run: Path, tmp_path: Path
) -> None:
    for name, made in (("table", table_run), ("image", image_run), ("number", number_run)):
        trained = load_trained(made)
        files = {path.name: path for path in export(made, "c", tmp_path / name)}
        costs = json.loads(files["c.json"].read_text())
        counted = trained.family.cost(trained.architecture, "peak")
        assert costs["arena_bytes"] == costs["counted_peak_bytes"] == counted
        assert f"#define MODEL_ARENA_BYTES {counted}\n" in files["model.h"].read_text()
        assert f"{counted:,} bytes of arena" in files["README.md"].read_text()
        if costs["code_bytes"] is not None:
            assert 500 < costs["code_bytes"] < 10_000
            assert 0 <= costs["compiled_constant_bytes"] - costs["constant_bytes"] < 1_000


def test_forms_may_lie_in_one_folder(number_run: Path, tmp_path: Path) -> None:
    for forms in (("python", "c"), ("c", "python")):
        for form in forms:
            export(number_run, form, tmp_path / forms[0])
        assert "bytes of arena" in (tmp_path / forms[0] / "README.md").read_text()
    tmp_path /= "c"
    (tmp_path / "model.h").write_text("mine")
    (tmp_path / "model.c").unlink()
    with pytest.raises(Exception, match=r"model\.h exists already"):
        export(number_run, "c", tmp_path)


def test_without_a_compiler_files_are_the_same(
    number_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(number_run, "c", tmp_path / "with")
    monkeypatch.setenv("CC", "no-such-compiler")
    export(number_run, "c", tmp_path / "without")
    for name in ("model.c", "model.h", "preprocessing.json"):
        assert (tmp_path / "with" / name).read_bytes() == (tmp_path / "without" / name).read_bytes()
    assert json.loads((tmp_path / "without" / "c.json").read_text())["code_bytes"] is None
    assert "there is no cc" in (tmp_path / "without" / "README.md").read_text()


def test_data_that_has_no_c_form(text_run: Path, fusion_run: Path, tmp_path: Path) -> None:
    for made, kind in ((text_run, "text"), (fusion_run, "modalities")):
        with pytest.raises(UsageError, match=f"data of the kind {kind}, for which .* use --to"):
            export(made, "c", tmp_path)
    assert not list(tmp_path.iterdir())


def test_the_command_says_what_a_device_needs(
    command: Callable[..., tuple[int, str, str]], number_run: Path, tmp_path: Path
) -> None:
    code, out, _ = command("export", number_run, "--to", "c", "--out", tmp_path / "a")
    assert code == 0
    assert "RAM: 96 bytes of arena, as --max-peak-kb counts" in out
    assert "bytes of constants in float32" in out
    code, out, _ = command("export", number_run, "--to", "c", "--out", tmp_path / "b", "--json")
    assert json.loads(out)["costs"]["arena_bytes"] == 96
    code, _, err = command("export", number_run, "--to", "c", "--quantize", "int4")
    assert code == 2
    assert "quantize is int8" in err
    code, _, err = command("export", number_run, "--to", "rust")
    assert code == 2
    assert "docker, c" in err


@with_compiler
def test_a_table_in_int8(curve_run: Path, tmp_path: Path) -> None:
    files = {path.name: path for path in export(curve_run, "c", tmp_path, quantize="int8")}
    costs = json.loads(files["c.json"].read_text())
    own = json.loads((curve_run / "result.json").read_text())["test"]
    assert costs["scores"]["float32"] == pytest.approx(own)
    assert costs["scores"]["int8"].keys() == own.keys()
    assert abs(costs["scores"]["int8"]["log_loss"] - own["log_loss"]) < 0.05
    assert costs["calibration_rows"] > 50
    assert costs["arena_bytes"] <= costs["counted_peak_bytes"] / 4 + 16
    assert "in float32" in files["README.md"].read_text()
    assert "int32_t sum" in files["model.c"].read_text()
    (numbers,) = make_graph(load_trained(curve_run)).sample(60, 3)
    _, probabilities = differences(curve_run, tmp_path, numbers.numpy())
    assert 0 < probabilities < 0.2


@with_compiler
def test_categories_and_gaps_in_int8(table_run: Path, frame: pd.DataFrame, tmp_path: Path) -> None:
    export(table_run, "c", tmp_path, quantize="int8", data=frame)
    numbers, codes = make_graph(load_trained(table_run)).sample(100, 3)
    codes[0], codes[1] = 10_000, -1
    scores, probabilities = differences(table_run, tmp_path, numbers.numpy(), codes.numpy())
    assert 0 < scores < 0.3
    assert 0 < probabilities < 0.1


def test_verify_counts_the_source_itself(
    number_run: Path, image_run: Path, pixels: np.ndarray, tmp_path: Path
) -> None:
    data = (pixels, np.arange(len(pixels)) % 3)
    for name, made in (("number", number_run), ("image", image_run)):
        trained = load_trained(made)
        family, chosen = trained.family, trained.architecture
        for numbers in (None, "int8"):
            folder = tmp_path / f"{name}{numbers}"
            given = data if name == "image" else None
            export(made, "c", folder, quantize=numbers, data=given)
            costs = json.loads((folder / "c.json").read_text())
            found = {check.cost: check.found or 0 for check in verify(folder / "model.c").checks}
            params = family.cost(chosen, "params")
            assert found["params"] == params if name == "number" else found["params"] < params
            assert found["params"] > params * 0.95
            assert found["constants"] == costs["constant_bytes"]
            a_weight = 1 if numbers else 4
            assert a_weight * found["params"] <= found["size"] < found["constants"]
            assert found["peak"] == costs["arena_bytes"]
            assert verify(folder).path == folder / "model.c"
    assert not verify(folder, Limits(max_peak_kb=0.1)).kept
    source = folder / "model.c"
    text = source.read_text()
    source.write_text(text.replace("layer1_weights[", "layer1_weights[1"))
    with pytest.raises(UsageError, match="other constants than it was written with"):
        verify(folder)
    (folder / "model.h").write_text("/* nothing */")
    with pytest.raises(UsageError, match=r"damaged .*MODEL_ARENA_BYTES"):
        verify(folder)
