from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from cli_helpers import Outcome

from meritnas import explain_modalities
from meritnas.cli.main import main
from meritnas.cli.values import parse_modalities
from meritnas.store.run_store import RunStore

Command = Callable[..., Outcome]

SMALL = ["--target", "label", "--space", "fusion", "--channels", "6", "--length", "2"]
SHORT = ["--retrain-epochs", "2", "--finalists", "1", "--no-plain"]
TINY = [*SMALL, "--epochs", "4", *SHORT]
BOTH = "cell1(picture.1, sound.0): step1 = concat(x, y) + cell2(cell1, noise.0): step1 = sum(x, y)"
"""A network that reads both halves of the class."""

LIMIT = 5700


def views(rows: int = 150, seed: int = 0) -> dict[str, np.ndarray]:
    """A picture and a sound that each tell one half of the class, and noise that tells nothing."""
    rng = np.random.default_rng(seed)
    label = rng.integers(4, size=rows)
    picture = rng.random((rows, 6, 6)).astype(np.float32) * 0.3
    picture[:, :3] += (label % 2)[:, None, None]
    sound = rng.normal(size=(rows, 5)).astype(np.float32) * 0.3
    sound[:, 0] += label // 2
    noise = rng.random((rows, 3)).astype(np.float32)
    return {"picture": picture, "sound": sound, "noise": noise, "label": label}


def done(*arguments: str | Path | int) -> None:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert not ended.value.code


@pytest.fixture(scope="module")
def knowing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose network has learnt what there is to learn; not to be changed."""
    folder = tmp_path_factory.mktemp("knowing")
    np.savez(folder / "views.npz", **views())
    given = ["--architecture", BOTH, "--epochs", "40", "--learning-rate", "0.02", "--seeds", "1"]
    done("retrain", folder / "views.npz", *SMALL, *given, "--quiet", "--out", folder / "run")
    return folder / "run"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run; not to be changed."""
    folder = tmp_path_factory.mktemp("views")
    np.savez(folder / "views.npz", **views())
    done(
        *["search", folder / "views.npz", "--strategy", "sm-shapley", "--quiet"],
        *["--max-params", LIMIT, "--out", folder / "run", *TINY],
    )
    return folder / "run"


def test_a_search_keeps_the_limit(searched: Path) -> None:
    result = json.loads((searched / "result.json").read_text())
    assert result["params"] <= LIMIT
    assert result["space"] == "fusion"
    assert result["strategy"] == "sm-shapley"
    assert "cell1(" in result["architecture"]


def test_networks_read_every_modality_unless_told_otherwise(meritnas: Command) -> None:
    """One cell less than modalities, and each reads something new; fewer cells may not."""
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=60)
    names = ["a", "b", "c", "d", "e"]
    arrays = {name: rng.normal(size=(60, 2)) + label[:, None] for name in names}
    np.savez("five.npz", **arrays, label=label)
    quick = ["--strategy", "random", "--epochs", "1", *SHORT]
    outcome = meritnas("search", "five.npz", *SMALL, *quick, "--json", "--quiet", "--out", "run")
    assert outcome.code == 0, outcome.err
    text = json.loads(outcome.out)["architecture"]
    assert text.count("cell") - text.count("(cell") - text.count(", cell") == 4
    assert all(f"{name}.0" in text for name in names)
    assert json.loads(Path("run/config.json").read_text())["settings"]["space"]["new_inputs"]
    free = ["--no-new-inputs", "--cells", "1"]
    outcome = meritnas("search", "five.npz", *SMALL, *quick, *free, "--json", "--quiet")
    assert json.loads(outcome.out)["architecture"].startswith("cell1(")
    assert "cell2" not in outcome.out


def test_a_given_network_says_how_many_cells_it_has(meritnas: Command) -> None:
    """And may read the same twice: the rule is one of searches."""
    np.savez("views.npz", **views(60))
    cell = "cell{}(sound.0, noise.0): step1 = sum(x, y); step2 = glu(step1, x)"
    text = " + ".join(cell.format(number) for number in (1, 2, 3))
    outcome = meritnas(
        *["retrain", "views.npz", *SMALL, "--architecture", text, "--epochs", "1", "--seeds", "1"],
        *["--json", "--quiet"],
    )
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["architecture"] == text


def test_predictions_are_scored_where_the_target_is_known(knowing: Path, meritnas: Command) -> None:
    np.savez("new.npz", **views(40, seed=1))
    outcome = meritnas("predict", knowing, "new.npz", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["rows"] == 40
    assert found["scores"]["accuracy"] > 0.7  # either half alone: 0.5
    without = {name: array for name, array in views(7).items() if name not in ("label", "noise")}
    np.savez("fewer.npz", **without)
    outcome = meritnas("predict", knowing, "fewer.npz")
    assert outcome.code == 0, outcome.err
    assert "no sample has the modality 'noise'" in outcome.err
    assert outcome.out.count("\n") == 8


def test_what_else_is_in_a_file_does_not_matter(knowing: Path, meritnas: Command) -> None:
    new = views(40, seed=1)
    np.savez("stray.npz", **new, stray=np.zeros((3, 3, 3, 3, 3)))
    found = json.loads(meritnas("predict", knowing, "stray.npz", "--json").out)
    assert found["scores"]["accuracy"] > 0.7
    np.savez("short.npz", **{**new, "label": new["label"][:30]})
    outcome = meritnas("predict", knowing, "short.npz", "--json")
    assert json.loads(outcome.out)["scores"] == {}
    assert "the target 'label' has 30 rows where there are 40 samples" in outcome.err
    np.savez("bare.npz", label=new["label"])
    outcome = meritnas("predict", knowing, "bare.npz")
    assert outcome.code == 2
    assert "there is none of the modalities picture, sound, noise" in outcome.err


def test_several_labels_are_scored_where_they_are_known(meritnas: Command) -> None:
    data = views(150)
    label = data.pop("label")
    bits = np.stack([label % 2, label // 2], axis=1)
    np.savez("views.npz", **data, label=bits, label_names=np.array(["odd", "high"]))
    given = ["--architecture", BOTH, "--epochs", "40", "--learning-rate", "0.02", "--seeds", "1"]
    done("retrain", "views.npz", *SMALL, *given, "--quiet", "--out", "run")
    swapped = {**data, "label": bits[:, ::-1], "label_names": np.array(["high", "odd"])}
    scores = []
    for named in (swapped, {**data, "label": bits}):  # in another order; without names
        np.savez("new.npz", **named)
        outcome = meritnas("predict", "run", "new.npz", "--json")
        assert outcome.code == 0, outcome.err
        scores.append(json.loads(outcome.out)["scores"])
    assert scores[0] == scores[1]
    assert scores[0]["f1_weighted"] > 0.8
    np.savez("new.npz", **data, label=bits + 1)
    outcome = meritnas("predict", "run", "new.npz", "--json")
    assert json.loads(outcome.out)["scores"] == {}
    assert "not scored: the target 'label' [150, 2] holds 2" in outcome.err.replace("\n", " ")


def test_columns_of_a_modality_may_be_given_one_by_one() -> None:
    given = ["left=a", "right=c", "left=b,a"]
    assert parse_modalities(given) == {"left": ["a", "b"], "right": ["c"]}


def test_the_same_again_after_an_interruption(searched: Path, meritnas: Command) -> None:
    np.savez("views.npz", **views())
    flags = ["--strategy", "sm-shapley", "--max-params", str(LIMIT), "--out", "again", *TINY]
    assert meritnas("search", "views.npz", "--quiet", *flags).code == 0
    for name in ("result.json", "retrain.json", "architecture.json", "model.safetensors"):
        (Path("again") / name).unlink()
    outcome = meritnas("search", "--resume", "again")
    assert outcome.code == 0, outcome.err
    whole = json.loads((searched / "result.json").read_text())
    found = json.loads(Path("again/result.json").read_text())
    assert (found["architecture"], found["test"]) == (whole["architecture"], whole["test"])


def test_what_each_modality_is_worth(knowing: Path, meritnas: Command) -> None:
    outcome = meritnas("explain", knowing, "--modalities", "--noise", "gaussian", "--json")
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    worth = {row["modality"]: row for row in found["modalities"]}
    assert set(worth) == {"picture", "sound", "noise"}
    assert sum(row["value"] for row in worth.values()) == pytest.approx(
        found["score"] - found["nothing"]
    )
    for told in ("picture", "sound"):
        assert worth[told]["low"] > worth["noise"]["value"]
    assert all(row["low"] <= row["value"] <= row["high"] for row in worth.values())
    noisy = [row for row in found["disturbed"] if row["disturbance"] == "gaussian"]
    assert len(noisy) == 4 * 4
    assert {row["level"] for row in noisy} == {0.0, 0.01, 0.05, 0.1}
    own = [row["values"]["sound"] for row in noisy if row["modality"] == "sound"]
    assert own[0] == pytest.approx(worth["sound"]["value"])
    assert own[-1] < own[0]  # it tells half of the class, and less of it under noise
    assert Path(found["figure"]).name == "modalities.svg"
    picture = ElementTree.parse(found["figure"])
    written = {each.text for each in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert {"picture", "sound", "noise", "level", "chance that it is missing"} <= written
    shown = meritnas("explain", knowing, "--modalities", "--noise", "all")
    assert "Shapley value" in shown.out
    assert "speckle" in shown.out
    assert "missing" in shown.out
    outcome = meritnas("explain", knowing, "--modalities", "--seed", "-3")
    assert outcome.code == 2
    assert "seed must be at least 0, got -3" in outcome.err


def test_scores_under_noise_stay_while_the_network_does(
    knowing: Path, tmp_path: Path, meritnas: Command
) -> None:
    run = tmp_path / "kept"
    shutil.copytree(knowing, run)
    (run / "modalities.json").unlink(missing_ok=True)

    def kinds() -> list[str]:
        rows = json.loads((run / "modalities.json").read_text())["disturbed"]
        return [row["disturbance"] for row in rows]

    first = explain_modalities(run, "gaussian")
    assert set(kinds()) == {"gaussian", "missing"}
    assert meritnas("explain", run, "--modalities").code == 0
    assert explain_modalities(run).disturbed == first.disturbed
    explain_modalities(run, ["shot"])
    assert set(kinds()) == {"gaussian", "shot", "missing"}
    assert kinds().count("missing") == 4  # found anew, not twice
    with RunStore.take(run) as store:
        weights, about = store.read_weights("model.safetensors")
        other = {name: tensor * 1.5 for name, tensor in weights.items()}
        store.write_weights("model.safetensors", other, about)
    assert explain_modalities(run).disturbed == ()
    assert kinds() == []


def test_a_table_with_text_and_several_labels(meritnas: Command) -> None:
    rng = np.random.default_rng(0)
    tops, rows = rng.random(90) < 0.5, 90
    pd.DataFrame(
        {
            "review": [f"this {'top' if top else 'skirt'} fits me very well" for top in tops],
            "age": rng.integers(20, 60, rows),
            "labels": np.where(tops, "tops|sale", "skirts|sale"),
        }
    ).to_csv("reviews.csv", index=False)
    outcome = meritnas(
        *["search", "reviews.csv", "--target", "labels", "--space", "fusion", "--strategy"],
        *["random", "--modality", "text=review", "--modality", "table=age", "--channels", "4"],
        *["--length", "2", "--epochs", "2", "--retrain-epochs", "20", "--finalists", "1"],
        *["--json", "--quiet", "--out", "run"],
    )
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["task"] == "multilabel"
    assert found["test"]["f1_weighted"] > 0.8
    outcome = meritnas("predict", "run", "reviews.csv", "--json")
    assert outcome.code == 0, outcome.err
    assert json.loads(outcome.out)["scores"]["f1_weighted"] > 0.8


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--target", "lable"], "did you mean 'label'"),
        (["--target", "label", "--widths", "4,8"], "widths is for tables"),
        (["--target", "label", "--stem", "cifar"], "stem is for images"),
        (["--target", "label", "--modality", "sond"], "sond"),
        (["--target", "label", "--strategy", "pc-darts"], "use 'darts'"),
        (["--target", "label", "--max-size-kb", "3"], "below the cheapest network"),
        (["--target", "label", "--max-params", "10"], "below the cheapest network"),
        (["--target", "label", "--steps", "0"], "steps must be at least 1"),
        ([], "name the array or column to predict"),
    ],
)
def test_bad_input_says_what_to_do(flags: list[str], says: str, meritnas: Command) -> None:
    np.savez("views.npz", **views(20))
    outcome = meritnas("search", "views.npz", "--space", "fusion", *flags)
    assert outcome.code == 2
    assert says in outcome.err.replace("\n", " ")
    assert not Path("runs").exists()


def test_what_is_for_modalities_is_refused_elsewhere(sales: Path, meritnas: Command) -> None:
    outcome = meritnas("search", sales, "--target", "churn", "--sparsity", "0.2")
    assert outcome.code == 2
    assert "sparsity is for several modalities" in outcome.err


def test_a_run_without_modalities_has_nothing_to_explain(
    trained: Path, searched: Path, meritnas: Command
) -> None:
    outcome = meritnas("explain", trained, "--modalities")
    assert outcome.code == 2
    assert "no modalities" in outcome.err
    assert "Shapley value" in meritnas("explain", searched).out
