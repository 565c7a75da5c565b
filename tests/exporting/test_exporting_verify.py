"""What runs and exported files cost, counted again from what was written."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from meritnas import UsageError
from meritnas.cli.main import main
from meritnas.exporting.export import export
from meritnas.exporting.trained import load_trained
from meritnas.exporting.verify import Verified, verify
from meritnas.settings.limits import Limits


def amounts(found: Verified) -> dict[str, int]:
    return {check.cost: check.found for check in found.checks if check.found is not None}


def run(*arguments: object) -> tuple[int, str]:
    out = io.StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main(["verify", *map(str, arguments)])
    return int(ended.value.code or 0), out.getvalue()


def test_every_form_of_a_table_costs_what_the_family_says(number_run: Path, tmp_path: Path) -> None:
    trained = load_trained(number_run)
    family, chosen = trained.family, trained.architecture
    for form in ("onnx", "torch-export", "python"):
        export(number_run, form, tmp_path)
    files = [tmp_path / name for name in ("model.onnx", "model.pt2")]
    found = [verify(number_run), verify(tmp_path, run_code=True), *map(verify, files)]
    for each in found:
        assert amounts(each)["params"] == family.cost(chosen, "params")
        assert amounts(each)["flops"] == family.cost(chosen, "flops")
        assert amounts(each)["latency"] > 0
    for each in found[:2]:
        assert amounts(each)["peak"] == family.cost(chosen, "peak")
        assert amounts(each)["size"] <= family.cost(chosen, "size")
    for each, file in zip(found[2:], files, strict=True):
        assert amounts(each)["size"] == 4 * family.cost(chosen, "params")
        assert amounts(each)["file"] == file.stat().st_size
        # The limit is on weights: a file of graph and preprocessing is not held against it.
        own = verify(file, Limits(max_size_kb=family.cost(chosen, "size") / 1000))
        assert own.kept
        assert not verify(file, Limits(max_size_kb=(amounts(each)["size"] - 1) / 1000)).kept
    assert set(amounts(verify(tmp_path / "model.py"))) == {"params", "size"}


def test_other_kinds_of_networks(
    image_run: Path, text_run: Path, fusion_run: Path, tmp_path: Path
) -> None:
    for name, made in (("image", image_run), ("text", text_run), ("fusion", fusion_run)):
        trained = load_trained(made)
        params = trained.family.cost(trained.architecture, "params")
        folder = tmp_path / name
        export(made, "python", folder)
        costs = amounts(verify(folder, run_code=True))
        assert costs["params"] == amounts(verify(folder))["params"] == params
        own = amounts(verify(made))
        assert {k: own[k] for k in ("params", "flops", "peak")} == {
            k: costs[k] for k in ("params", "flops", "peak")
        }
        assert 0 < costs["flops"] <= trained.family.cost(trained.architecture, "flops")
    export(image_run, "onnx", tmp_path)
    found = amounts(verify(tmp_path / "model.onnx"))
    assert found["flops"] == amounts(verify(image_run))["flops"]
    assert 0 < found["params"] <= amounts(verify(image_run))["params"]


def test_limits_that_are_kept_and_that_are_not(curve_run: Path, tmp_path: Path) -> None:
    rows = sorted(json.loads((curve_run / "result.json").read_text())["pareto"], key=_params)
    code, said = run(curve_run)
    assert code == 0
    assert f"parameters: {rows[-1]['params']} of at most 250, kept" in said
    assert f"the next smaller network, {rows[-2]['short']}: {rows[-2]['params']} param" in said
    assert "all limits are kept" in said
    small = verify(curve_run, network=rows[0]["architecture"])
    assert [check.limit for check in small.checks if check.cost == "params"] == [rows[0]["limit"]]
    assert [text.split(",")[0] for text in small.rungs] == ["the next larger network"]
    code, said = run(curve_run, "--max-params", rows[-1]["params"] - 1, "--json")
    assert code == 1
    found = json.loads(said)
    assert not found["kept"]
    assert [check["cost"] for check in found["checks"] if check["breached"]] == ["params"]
    export(curve_run, "python", tmp_path)
    assert run(tmp_path)[0] == 0
    about = json.loads((tmp_path / "preprocessing.json").read_text())
    assert about["limits"] == {"params": 250}
    (tmp_path / "preprocessing.json").write_text(json.dumps({**about, "limits": {"params": 9}}))
    assert run(tmp_path)[0] == 1
    assert not verify(tmp_path, Limits(max_size_kb=0.1)).kept


def _params(row: dict[str, int]) -> int:
    return row["params"]


def test_what_cannot_be_verified(number_run: Path, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    (tmp_path / "model.pt2").write_bytes(b"nothing")
    for name in ("model.onnx", "model.pt2"):
        with pytest.raises(UsageError, match="is no"):
            verify(tmp_path / name)
    assert run(tmp_path)[0] == 2
    assert run(tmp_path / "nowhere")[0] == 2
    export(number_run, "python", tmp_path / "net")
    (tmp_path / "net" / "weights.safetensors").write_bytes(b"\x05\0\0\0\0\0\0\0nono!")
    with pytest.raises(UsageError, match="no file of weights"):
        verify(tmp_path / "net")
    export(number_run, "python", tmp_path / "net", force=True)
    (tmp_path / "net" / "preprocessing.json").write_text("[]")
    with pytest.raises(UsageError, match="is damaged"):
        verify(tmp_path / "net")
    with pytest.raises(UsageError, match="is no run"):
        verify(tmp_path / "net", network="8-8")
