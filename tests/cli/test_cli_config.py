from __future__ import annotations

import itertools
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli_helpers import SHORT, Outcome

from meritnas.cli.config_file import _toml

Command = Callable[..., Outcome]

SMALL = """
data = "sales.csv"
target = "churn"
max_params = "0.3k"
epochs = 2
seed = 4

[space]
widths = [4, 8, 16]

[strategy]
name = "tabnas"
sampling = "rejection"
samples = 3

[reading]
scaling = "standard"

[training]
learning_rate = 0.02

[retraining]
epochs = 2
seeds = 1

[run]
threads = 1
"""


def write(text: str) -> str:
    Path("run.toml").write_text(text)
    return "run.toml"


def config(run: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(run, "config.json").read_text())
    return found


def result(run: str) -> dict[str, Any]:
    found = json.loads(Path(run, "result.json").read_text())
    timed = ("seconds", "seconds_needed", "phase_seconds", "spent", "run")
    return {k: v for k, v in found.items() if k not in timed}


@pytest.mark.usefixtures("sales")
def test_a_config_file_needs_no_arguments(meritnas: Command) -> None:
    outcome = meritnas("search", "--config", write(SMALL), "--quiet", "--out", "run")
    assert outcome.code == 0, outcome.err
    settings = config("run")["settings"]
    assert settings["limits"] == {"params": 300}
    assert (settings["epochs"], settings["seed"], settings["threads"]) == (2, 4, 1)
    assert settings["space"]["widths"] == [4, 8, 16]
    assert settings["strategy"]["sampling"] == "rejection"
    assert settings["strategy"]["samples"] == 3
    assert settings["reading"]["scaling"] == "standard"
    assert settings["recipe"]["learning_rate"] == 0.02
    assert (settings["retrain_epochs"], settings["retrain_seeds"]) == (2, 1)


@pytest.mark.usefixtures("sales")
def test_a_flag_wins_over_the_file(meritnas: Command) -> None:
    made = ("search", "--config", write(SMALL), "--quiet", "--out", "run")
    flags = ("--seed", "5", "--scaling", "quantile", "--samples", "2", "--widths", "4,8")
    outcome = meritnas(*made, *flags, "--retrain-epochs", "3")
    assert outcome.code == 0, outcome.err
    settings = config("run")["settings"]
    assert (settings["seed"], settings["retrain_epochs"]) == (5, 3)
    assert settings["reading"]["scaling"] == "quantile"
    assert settings["strategy"]["sampling"] == "rejection"
    assert settings["strategy"]["samples"] == 2
    assert settings["space"]["widths"] == [4, 8]


@pytest.mark.usefixtures("sales")
def test_a_switch_of_the_file_can_be_turned_off(meritnas: Command) -> None:
    printed = meritnas("search", "--config", write("pareto = true\n" + SMALL), "--print-config")
    assert tomllib.loads(printed.out)["pareto"] is True
    printed = meritnas("search", "--config", "run.toml", "--no-pareto", "--print-config")
    assert "pareto" not in tomllib.loads(printed.out)


@pytest.mark.usefixtures("sales")
def test_another_strategy_leaves_the_file_s_options_out(meritnas: Command) -> None:
    made = ("search", "--config", write(SMALL), "--strategy", "evolution", "--population", "4")
    outcome = meritnas(*made, "--quiet", "--out", "run")
    assert outcome.code == 0, outcome.err
    kept = config("run")["settings"]["strategy"]
    assert (kept["name"], kept["population"]) == ("evolution", 4)


def test_printed_settings_give_the_same_search(meritnas: Command, sales: Path) -> None:
    made = ("search", sales, "--target", "churn", "--max-params", "0.3k", "--seed", "2", *SHORT)
    more = ("--strategy", "tabnas", "--samples", "3", "--dropout", "0.1", "--class-weight")
    asked = (*made, *more, "balanced", "--threads", "1")
    printed = meritnas(*asked, "--print-config")
    assert (printed.code, printed.err) == (0, "")
    assert [path.name for path in Path().iterdir()] == ["sales.csv"]
    assert '# final = "ranked"  # How the final network is chosen.\n' in printed.out
    assert meritnas(*asked, "--quiet", "--out", "one").code == 0
    again = meritnas("search", "--config", write(printed.out), "--quiet", "--out", "two")
    assert again.code == 0, again.err
    assert result("one") == result("two")
    assert config("one") == config("two")
    assert meritnas("search", "--config", "run.toml", "--print-config").out == printed.out


@pytest.mark.parametrize(
    "asked",
    [
        "digits --space nasbench201 --channels 4 --no-zero --image-size 8 --flip --preset quick",
        "book.txt --space recurrent --nodes 2 --level character --minutes 0.5 --strategy random",
        "views.npz --target y --space fusion --modality a --modality b --backbone a=conv --shared "
        "--frozen-backbone b=own:Net --strategy sm-shapley --no-grouped --gradient-share 0.25",
        "sales.csv --target yes --widths 4,8;8,16 --layers 2 --max-size-kb 1.5 --pareto --seed 3",
    ],
)
def test_what_is_printed_for_other_data_is_read_again(meritnas: Command, asked: str) -> None:
    printed = meritnas("search", *asked.split(), "--print-config")
    assert printed.code == 0, printed.err
    again = meritnas("search", "--config", write(printed.out), "--print-config")
    assert (again.code, again.err) == (0, "")
    assert again.out == printed.out
    found = tomllib.loads(printed.out)
    words = asked.split()
    for flag, value in itertools.pairwise(words):
        if flag in ("--space", "--strategy"):
            assert found[flag.removeprefix("--")]["name"] == value


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("epoch = 2", "no setting 'epoch'; did you mean 'epochs'? there are data, target, out"),
        ("[trainin]\nclip = 1.0", "no setting 'trainin'; did you mean 'training'?"),
        ("[training]\nlearning_rat = 1.0", "'learning_rat' in [training]; did you mean"),
        ("[strategy]\nsamplings = 'rejection'", "'samplings' in [strategy]; did you mean 'sampl"),
        ("[space]\nlayer = 3", "'layer' in [space]; did you mean 'layers'?"),
        ("[space]\nwidest = 3", "no setting 'widest' in [space]"),
        ("[reading]\nlevel = 'word'", "no setting 'level' in [reading]"),
        ("[retraining]\nretrain_epochs = 3", "'retrain_epochs' in [retraining]; did you mean"),
        ("[run]\nname = 'x'", "no setting 'name' in [run]"),
        ("training = 3", "training is a section of a config file: write [training]"),
        ("strategy = 'tabnsa'", "no strategy 'tabnsa'; did you mean 'tabnas'?"),
        ("[space]\nname = 'tabluar'", "no space 'tabluar'; did you mean 'tabular'?"),
        ("max_params = 2.5", "max_params must be a whole number, got 2.5"),
        ("max_params = '2.5'", "max_params: '2.5' is no whole number, such as 20000, 20k or"),
        ("max_params = true", "max_params must be a whole number, got True"),
        ("epochs = [3]", "epochs must be a whole number, got [3]"),
        ("minutes = '3'", "minutes must be a number, got '3'"),
        ("pareto = 'yes'", "pareto must be true or false, got 'yes'"),
        ("preset = 'slow'", "preset must be one of quick, paper, got 'slow'"),
        ("[training]\noptimizer = 'adamw'", "optimizer must be one of adam, sgd, got 'adamw'"),
        ("[run]\ndevice = 3", "device must be a text, got 3"),
        ("[space]\nwidths = '8,few'", "cannot read the widths '8,few'"),
        ("[space]\nwidths = 8", "widths must be a list, got 8"),
        ("[strategy]\nsamples = 0", "at least 1, got 0"),
        ("target = 3", "target must be a text, got 3"),
        ("data = ['sales.csv']", "data must be a text, got ['sales.csv']"),
        ("a = = b", "run.toml is no TOML file"),
        ("a = " + "[" * 5000, "run.toml is no TOML file"),
    ],
)
def test_files_that_cannot_be(meritnas: Command, sales: Path, text: str, says: str) -> None:
    given = [] if text.startswith("data") else [sales]
    flags = [] if text.startswith("target") else ["--target", "churn"]
    outcome = meritnas("search", *given, *flags, "--config", write(text))
    assert outcome.code == 2
    assert outcome.out == ""
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    assert says in outcome.err
    assert not Path("runs").exists()


def test_a_file_that_is_not_there_and_one_that_names_no_data(meritnas: Command) -> None:
    outcome = meritnas("search", "--config", "nowhere.toml")
    assert (outcome.code, outcome.err) == (
        2,
        "error: no file nowhere.toml; check the path\n",
    )
    outcome = meritnas("search", "--config", write("seed = 3"))
    assert outcome.code == 2
    assert "name data to search on" in outcome.err


def test_resuming_takes_no_config(meritnas: Command, trained: Path) -> None:
    outcome = meritnas("search", "--resume", trained, "--config", write(SMALL))
    assert outcome.code == 2
    assert "leave out --config" in outcome.err


@pytest.mark.usefixtures("sales")
def test_a_comparison_reads_a_config_file(meritnas: Command) -> None:
    asked = ("compare", "--config", write(SMALL), "--strategies", "tabnas,random", "--seeds", "1")
    outcome = meritnas(*asked, "--out", "both", "--quiet", "--json")
    assert outcome.code == 0, outcome.err
    assert {row["strategy"] for row in json.loads(outcome.out)["table"]} == {"tabnas", "random"}
    settings = config("both/tabnas-0")["settings"]
    assert settings["limits"] == {"params": 300}
    assert settings["seed"] == 0  # seeds and strategies are what it goes through
    assert settings["strategy"]["sampling"] == "conditional"
    assert settings["recipe"]["learning_rate"] == 0.02
    wrong = meritnas(*asked[:2], write("epoch = 3\n" + SMALL), *asked[3:], "--out", "other")
    assert wrong.code == 2
    assert "did you mean 'epochs'?" in wrong.err
    assert not Path("other").exists()


@pytest.mark.parametrize(
    "value",
    [
        'a "quoted" \\ text',
        "line\nand\ttab \x7f \x01",
        "Zürich 😀",
        [1, [2.5, True]],
        {"a b": "c", "d": [1]},
        1e-07,
        float("inf"),
    ],
)
def test_values_as_toml(value: Any) -> None:
    assert tomllib.loads(f"x = {_toml(value)}")["x"] == value
