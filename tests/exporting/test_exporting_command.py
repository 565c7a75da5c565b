from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

import meritnas
from meritnas.cli.main import main

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    def run(*arguments: str | Path) -> tuple[int, str, str]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return run


def test_files_are_in_the_run_unless_told_otherwise(
    command: Command, number_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(number_run, tmp_path / "run")
    code, out, _ = command("export", run, "--to", "python")
    names = ["model.py", "weights.safetensors", "preprocessing.json"]
    names += ["README.md", "predict.py", "encoder.json"]
    assert code == 0
    assert out.split() == [str(run / "export" / name) for name in names]
    code, out, _ = command("export", run, "--to", "python", "--out", tmp_path / "a/b", "--json")
    files = [str(tmp_path / "a/b" / name) for name in names]
    assert json.loads(out) == {"run": str(run), "to": "python", "files": files}
    assert sorted(path.name for path in (tmp_path / "a/b").iterdir()) == sorted(names)


def test_nothing_is_replaced_unless_told_so(
    command: Command, number_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "model.py").write_text("mine")
    code, _, err = command("export", number_run, "--to", "python", "--out", tmp_path)
    assert code == 2
    assert "model.py exists already" in err
    assert "--force" in err
    assert [path.name for path in tmp_path.iterdir()] == ["model.py"]
    assert command("export", number_run, "--to", "python", "--out", tmp_path, "--force")[0] == 0
    assert "class Network" in (tmp_path / "model.py").read_text()
    (tmp_path / "model.py").unlink()
    (tmp_path / "weights.safetensors").unlink()
    # A description that says the same is in nobody's way.
    assert command("export", number_run, "--to", "python", "--out", tmp_path)[0] == 0


def test_a_run_that_has_not_ended_says_how_to_continue(
    command: Command, number_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(number_run, tmp_path / "run")
    (run / "model.safetensors").unlink()
    code, _, err = command("export", run, "--to", "python")
    assert code == 2
    assert (
        f"is missing, though this run has written it; train it anew with: meritnas retrain {run}"
        in err
    )
    (run / "digests.json").unlink()  # nobody knows that it was there
    code, _, err = command("export", run, "--to", "python")
    assert code == 2
    assert f"meritnas search --resume {run}" in err
    assert not (run / "export").exists()


def test_any_network_of_the_trade_off_curve(
    command: Command, curve_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(curve_run, tmp_path / "run")
    rows = json.loads((run / "result.json").read_text())["pareto"]
    folders = {row["architecture"]: row["folder"] for row in rows}
    assert len(folders) >= 3
    for network, folder in folders.items():
        code, out, err = command("export", run, "--to", "python", "--network", network)
        assert code == 0, err
        source, weights, about, *_ = map(Path, out.split())
        assert source == run / folder / "export" / "model.py"
        assert json.loads(about.read_text())["architecture"] == network
        found, own = load_file(weights), load_file(run / folder / "model.safetensors")
        assert found.keys() == own.keys()
        assert all(torch.equal(found[name], own[name]) for name in own)
    small = rows[-1]["architecture"]
    files = meritnas.export(run, "torch-export", tmp_path / "other", network=small)
    assert [path.parent for path in files] == [tmp_path / "other"] * len(files)
    program = torch.export.load(files[0])
    params = sum(weight.numel() for weight in program.state_dict.values())
    assert params == rows[-1]["params"] < rows[0]["params"]


def test_a_network_that_is_not_on_the_curve(
    command: Command, curve_run: Path, number_run: Path, tmp_path: Path
) -> None:
    chosen = ("--to", "python", "--out", tmp_path / "new", "--network", "2-9")
    code, _, err = command("export", curve_run, *chosen)
    assert code == 2
    assert "no network 2-9" in err
    assert json.loads((curve_run / "result.json").read_text())["pareto"][-1]["architecture"] in err
    code, _, err = command("export", number_run, *chosen)
    assert code == 2
    assert "made without --pareto" in err
    assert not (tmp_path / "new").exists()


def test_bad_words_and_places(command: Command, number_run: Path, tmp_path: Path) -> None:
    code, _, err = command("export", number_run, "--to", "onyx")
    assert code == 2
    assert "did you mean 'onnx'?" in err
    assert "torch-export, python" in err
    assert command("export", tmp_path / "nowhere", "--to", "python")[0] == 2
    (tmp_path / "file").write_text("")
    code, _, err = command("export", number_run, "--to", "python", "--out", tmp_path / "file")
    assert code == 2
    assert "cannot write" in err


def test_a_full_disk_leaves_nothing_behind(
    number_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flush(_: int) -> None:
        flushed.append(list((tmp_path / "a" / "b").iterdir()))
        if len(flushed) == 3:
            raise OSError(28, "No space left on device")

    flushed: list[list[Path]] = []
    monkeypatch.setattr(os, "fsync", flush)
    with pytest.raises(meritnas.StoreError, match="No space left"):
        meritnas.export(number_run, "python", tmp_path / "a" / "b")
    assert [len(files) for files in flushed] == [1, 2, 3]  # none in its place before all are there
    assert not list(tmp_path.iterdir())


def test_the_function_is_public_whatever_was_imported_before() -> None:
    module = import_module("meritnas.exporting.export")
    assert meritnas.export is module.export


def test_an_export_that_was_killed_goes_on_without_force(
    command: Command, number_run: Path, tmp_path: Path
) -> None:
    """Files come into their places one by one, the weights last."""
    place = tmp_path / "out"
    assert command("export", number_run, "--to", "python", "--out", place)[0] == 0
    whole = {path.name: path.read_bytes() for path in place.iterdir()}
    (place / "weights.safetensors").unlink()
    (place / ".partial.weights.safetensors.0123abcd").write_bytes(b"half")
    assert command("export", number_run, "--to", "python", "--out", place)[0] == 0
    assert {path.name: path.read_bytes() for path in place.iterdir()} == whole
    (place / "weights.safetensors").unlink()
    (place / "model.py").write_text("# mine")
    code, _, err = command("export", number_run, "--to", "python", "--out", place)
    assert code == 2
    assert "model.py exists already" in err
    assert (place / "model.py").read_text() == "# mine"


def test_nothing_is_written_through_a_link_in_a_run(
    command: Command, number_run: Path, tmp_path: Path
) -> None:
    run = shutil.copytree(number_run, tmp_path / "run")
    (tmp_path / "elsewhere").mkdir()
    (run / "export").symlink_to(tmp_path / "elsewhere")
    code, _, err = command("export", run, "--to", "python")
    assert code == 2
    assert "is a link" in err
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_page_about_the_network_lies_beside_it(
    curve_run: Path, table_run: Path, tmp_path: Path
) -> None:
    result = json.loads((curve_run / "result.json").read_text())
    small = result["pareto"][-1]
    meritnas.export(curve_run, "python", tmp_path / "own")
    meritnas.export(curve_run, "python", tmp_path / "small", network=small["architecture"])
    own, other = ((tmp_path / name / "README.md").read_text() for name in ("own", "small"))
    assert f"| parameters | {result['params']} | 250 |" in own
    assert f"| parameters | {small['params']} | {small['limit']} |" in other
    assert f"| accuracy | {small['test']['accuracy']:.3f} |" in other
    assert f"meritnas {meritnas.__version__}" in own
    meritnas.export(table_run, "python", tmp_path / "table")
    page = (tmp_path / "table" / "README.md").read_text()
    assert "- classes of `churn`: `no`, `yes`" in page
    config = json.loads((table_run / "config.json").read_text())
    assert config["data"]["fingerprint"] in page
