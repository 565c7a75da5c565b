from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import Outcome, run, table
from PIL import Image
from safetensors import safe_open
from sklearn.datasets import load_digits

Command = Callable[..., Outcome]

TINY = ["--channels", "4", "--cells", "1", "--retrain-epochs", "1", "--threads", "1"]
SEARCH = [*TINY, *["--supernet-channels", "4", "--supernet-cells", "1", "--epochs", "1"]]
TRAIN = ["--channels", "4", "--cells", "3", "--epochs", "1", "--threads", "1"]
LIMIT = 9_000
CELL = "|nor_conv_3x3~0|+|skip_connect~0|none~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|"
PAIRS = "[('sep_conv_3x3', 1), ('skip_connect', 0)" + ", ('max_pool_3x3', 0), ('none', 1)" * 3 + "]"
GENOTYPE = (
    f"Genotype(normal={PAIRS}, normal_concat=[2, 3, 4, 5], reduce={PAIRS}, "
    "reduce_concat=range(2, 6))"
).replace("'none'", "'dil_conv_5x5'")


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Outcome, Path]:
    """A search under a limit; not to be changed."""
    folder = tmp_path_factory.mktemp("images") / "run"
    asked = (
        "--space",
        "nasbench201",
        "--max-params",
        str(LIMIT),
        "--retrain-seeds",
        "2",
        "--no-plain",
    )
    outcome = run("search", "digits", *asked, "--out", folder, *SEARCH)
    assert outcome.code == 0, outcome.err
    return outcome, folder


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two pictures for each digit, in a folder for each class."""
    folder = tmp_path_factory.mktemp("digits")
    digits = load_digits()
    for number in range(20):
        image = (digits.images[number] * (255 / 16)).astype(np.uint8)
        (folder / str(digits.target[number])).mkdir(exist_ok=True)
        Image.fromarray(image).save(folder / str(digits.target[number]) / f"{number:02}.png")
    return folder


def test_a_limit_on_parameters_is_kept_in_the_file(searched: tuple[Outcome, Path]) -> None:
    _, run = searched
    with safe_open(run / "model.safetensors", "np") as file:
        sizes = {name: file.get_tensor(name).size for name in file.keys()}  # noqa: SIM118
    buffers = ("running_mean", "running_var", "num_batches_tracked")
    weights = sum(size for name, size in sizes.items() if not name.endswith(buffers))
    assert weights <= LIMIT
    assert weights == json.loads((run / "result.json").read_text())["params"]


def test_the_result_speaks_of_images(searched: tuple[Outcome, Path]) -> None:
    outcome, run = searched
    for words in (f"of at most {LIMIT:,}", "held-out images, 2 trainings", "best of 2 by validat"):
        assert words in outcome.out
    assert f"predict with: meritnas predict {run} pictures/" in outcome.out
    shown = [line.strip() for line in outcome.out.splitlines()]
    architecture = json.loads((run / "result.json").read_text())["architecture"]
    assert architecture.split("+")[1] + "+" in shown
    table_lines = [line for line in outcome.out.splitlines() if str(run) not in line]
    assert max(map(len, table_lines)) <= 80


def test_progress_lines_are_short(searched: tuple[Outcome, Path]) -> None:
    lines = [line for line in searched[0].err.splitlines() if not line.startswith("note:")]
    assert any("|" in line and "leads" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_pictures_in_class_folders_are_answered_and_scored(
    meritnas: Command, searched: tuple[Outcome, Path], pictures: Path
) -> None:
    outcome = meritnas("predict", searched[1], pictures, "--out", "answers.csv")
    assert outcome.code == 0
    assert "20 images with known class: accuracy " in outcome.err
    answers = pd.read_csv("answers.csv")
    chances = [f"probability_{digit}" for digit in range(10)]
    assert list(answers.columns) == ["file", "predicted_label", *chances]
    assert sorted(answers["file"])[0] == "0/00.png"
    assert set(answers["predicted_label"]) <= set(range(10))
    np.testing.assert_allclose(answers[chances].sum(axis=1), 1.0, atol=1e-5)
    scored = json.loads(meritnas("predict", searched[1], pictures, "--json", "--quiet").out)
    found = (answers["predicted_label"] == answers["file"].str[0].astype(int)).mean()
    assert scored["scores"]["accuracy"] == pytest.approx(found)


def test_pictures_without_classes_are_answered(
    meritnas: Command, searched: tuple[Outcome, Path], pictures: Path
) -> None:
    Path("flat").mkdir()
    for path in pictures.glob("*/*.png"):
        shutil.copy(path, "flat")
    outcome = meritnas("predict", searched[1], "flat")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.splitlines()[1].startswith("00.png,")
    assert len(outcome.out.splitlines()) == 21
    one = meritnas("predict", searched[1], "flat/03.png")
    assert one.err == ""
    answer, among_others = one.out.splitlines()[1], outcome.out.splitlines()[4]
    assert answer.split(",")[:2] == among_others.split(",")[:2]
    assert len(one.out.splitlines()) == 2


def test_a_run_on_images_is_retrained_with_its_own_settings(
    meritnas: Command, searched: tuple[Outcome, Path]
) -> None:
    shutil.copytree(searched[1], "run")
    arguments = ("retrain", "run", "--epochs", "1", "--seeds", "1", "--json", "--quiet")
    small = CELL.replace("nor_conv_3x3", "nor_conv_1x1")
    done = meritnas(*arguments, "--architecture", small)
    assert json.loads(done.out)["architecture"] == small
    large = meritnas(*arguments, "--architecture", CELL.replace("none", "nor_conv_3x3"))
    assert large.code == 2
    assert "breaks the run's limits" in large.err
    other = meritnas(*arguments, "--space", "darts", "--channels", "8")
    assert "leave out --channels, --space" in other.err


@pytest.mark.parametrize(("space", "network"), [("nasbench201", CELL), ("darts", GENOTYPE)])
def test_a_network_from_elsewhere_is_trained_on_images(
    meritnas: Command, pictures: Path, space: str, network: str
) -> None:
    given = ("--space", space, "--architecture", network, "--json", "--quiet", "--out", "run")
    outcome = meritnas("retrain", "digits", *given, *TRAIN)
    assert outcome.code == 0, outcome.err
    found = json.loads(outcome.out)
    assert found["strategy"] == "given"
    assert found["limits"] == {}
    assert set(found["test"]) >= {"accuracy"}
    assert "20 images" in meritnas("predict", "run", pictures, "--out", "answers.csv").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("digits --space nasbench201 --layers 3", "layers is for tables"),
        ("digits --space nasbench201 --widths 8,16", "no option 'widths'"),
        ("digits --space nasbench201 --target target", "target is for tables"),
        ("digits --space nasbench201 --task regression", "task is for tables"),
        ("digits --space nasbench201 --max-size-kb 0.01", "0.010 kB as stored is below"),
        (
            "digits --space darts --max-params-paper 1",
            "limit params or flops or size or size-int8 or peak or latency",
        ),
        ("digits --space nasbench201 --max-params 100", "fewer channels or cells"),
        ("digits --space nasbench201 --auxiliary 0.4", "'nasbench201' has no option 'auxiliary'"),
        ("digits --space nasbench", "did you mean 'nasbench201'?"),
        ("digits --space darts --cells 2", "at least 3 cells, got 2"),
        ("digits --space darts --supernet-cells 2", "at least 3 cells, got 2"),
        ("digits --space darts --strategy pc-darts --supernet-channels 6", "multiple of the 4"),
        ("flat --space tabular", "these are images; use convnet or nasbench201"),
        ("flat", "flat has no pictures in sub-folders"),
        ("sales.csv --target churn --space darts", "images are a folder of pictures"),
        ("sales.csv --target churn --channels 8", "channels is for images"),
        ("sales.csv --target churn --image-size 8", "image_size is for images"),
        ("sales.csv --target churn --strategy pc-darts", "have none; use 'darts'"),
    ],
)
def test_what_does_not_go_together_is_one_line_before_anything_is_written(
    meritnas: Command, pictures: Path, arguments: str, words: str
) -> None:
    Path("flat").mkdir()
    shutil.copy(pictures / "0" / "00.png", "flat")
    table().to_csv("sales.csv", index=False)
    outcome = meritnas("search", *arguments.split(), "--threads", "1", "--epochs", "1")
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    ("space", "network", "words"),
    [
        ("nasbench201", "8-8-8", "no cell of NAS-Bench-201"),
        ("nasbench201", CELL.replace("3x3", "7x7"), "'nor_conv_7x7' is no option"),
        ("darts", CELL, "no genotype of DARTS"),
        ("darts", GENOTYPE.replace("('sep_conv_3x3', 1), ", ""), "8 (operation, state) pairs"),
        ("darts", GENOTYPE.replace("sep_conv_3x3", "conv_3x3"), "'conv_3x3' is no option"),
        ("darts", "print('hello')", "no genotype of DARTS"),
        ("tabular", CELL, "is written like 32-144-24"),
    ],
)
def test_a_network_that_is_none_of_the_space(
    meritnas: Command, space: str, network: str, words: str
) -> None:
    outcome = meritnas("retrain", "digits", "--space", space, "--architecture", network)
    assert outcome.code == 2
    assert outcome.err.count("\n") == 1
    assert words in outcome.err
    assert not Path("runs").exists()


def test_a_preset_that_does_not_exist(meritnas: Command) -> None:
    outcome = meritnas("search", "digits", "--space", "nasbench201", "--preset", "slow")
    assert outcome.code == 2
    assert "'quick'" in outcome.err
    assert "'paper'" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_run_on_images_has_no_columns(meritnas: Command, searched: tuple[Outcome, Path]) -> None:
    outcome = meritnas("columns", searched[1])
    assert outcome.code == 2
    assert "was made on images, which have no columns" in outcome.err


def test_lists_name_the_spaces_and_strategies_for_images_in_columns(meritnas: Command) -> None:
    spaces = meritnas("list", "spaces").out
    strategies = meritnas("list", "strategies").out
    for name in ("convnet", "nasbench201", "darts", "darts-s1", "darts-unique"):
        assert any(line.startswith(name + "  ") for line in spaces.splitlines())
    for name in ("advantage", "darts-2nd", "pc-darts", "mnasnet-max"):
        assert any(line.startswith(name + "  ") for line in strategies.splitlines())
    assert "--edge-normalisation|--no-edge-normalisation  (default: on)" in strategies
