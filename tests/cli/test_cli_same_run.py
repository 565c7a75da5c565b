"""Several commands on one run, at once or one after a killed other."""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Forked, Outcome, finish, table
from test_cli_process import LONGER, wait_for

import meritnas as library

Command = Callable[..., Outcome]


@pytest.fixture
def run(sales: Path, meritnas: Command) -> Path:
    short = ("--max-params", "300", "--epochs", "2", "--widths", "4,8,16", "--pareto")
    length = ("--retrain-epochs", "2", "--retrain-seeds", "1", "--finalists", "1")
    made = meritnas("search", sales, "--target", "churn", *short, *length, "--out", "run")
    assert made.code == 0, made.err
    return Path("run")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def answers(run: Path, meritnas: Command) -> str:
    table(40, seed=9).to_csv("new.csv", index=False)
    outcome = meritnas("predict", run, "new.csv", "--quiet")
    assert outcome.code == 0, outcome.err
    return outcome.out


def test_a_run_that_is_being_searched_cannot_be_resumed_or_retrained(
    meritnas: Command, tmp_path: Path
) -> None:
    table(1000).to_csv(tmp_path / "rows.csv", index=False)
    process = Forked("search", tmp_path / "rows.csv", *LONGER, "--out", "run")
    wait_for(Path("run/checkpoint.pt"), process)
    process.send_signal(signal.SIGSTOP)  # or it may be over before all commands were tried
    for command in (["search", "--resume", "run"], ["retrain", "run"], ["explain", "run"]):
        outcome = meritnas(*command)
        assert outcome.code == 2, command
        assert "in use by another process" in outcome.err
    assert meritnas("search", "wine", "--out", "run").code == 2
    assert meritnas("show", "run").code == 0
    assert meritnas("report", "run").code == 0
    process.send_signal(signal.SIGCONT)
    assert finish(process).code == 0
    assert json.loads(Path("run/result.json").read_text())["architecture"]


def retrain_stopped_at(run: Path, step: int) -> None:
    def stumble(event: dict[str, object]) -> None:
        if event["kind"] == "retrain" and event["step"] == step:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        library.retrain(run, epochs=4, seeds=2, listen=stumble)


@pytest.mark.parametrize("step", [1, 5, 8])
def test_a_killed_retraining_leaves_the_result_as_it_was(
    run: Path, meritnas: Command, step: int
) -> None:
    shutil.copytree(run, "whole")
    before, said = contents(run), answers(run, meritnas)
    retrain_stopped_at(run, step)
    kept = {name: blob for name, blob in contents(run).items() if not name.startswith("retrain/")}
    assert {**kept, "digests.json": b""} == {**before, "digests.json": b""}
    assert answers(run, meritnas) == said
    assert meritnas("show", run).err == ""
    library.retrain("whole", epochs=4, seeds=2)
    assert answers(Path("whole"), meritnas) != said
    again = ("search", "--resume", run) if step == 5 else ("retrain", run, "--epochs", "4")
    outcome = meritnas(*again, *(() if step == 5 else ("--seeds", "2")), "--quiet")
    assert outcome.code == 0, outcome.err
    assert answers(run, meritnas) == answers(Path("whole"), meritnas)
    assert contents(run).keys() == contents(Path("whole")).keys()
    for name in ("model.safetensors", "retrain.json", "rung-1/model.safetensors"):
        assert (run / name).read_bytes() == Path("whole", name).read_bytes(), name


def test_another_retraining_does_not_go_on_with_a_killed_one(run: Path) -> None:
    shutil.copytree(run, "whole")
    retrain_stopped_at(run, 6)
    for folder in (run, Path("whole")):
        library.retrain(folder, epochs=3, seeds=1)
    for name in ("model.safetensors", "retrain.json", "rung-1/retrain.json"):
        assert (run / name).read_bytes() == Path("whole", name).read_bytes(), name
    assert not (run / "retrain").exists()


@pytest.mark.parametrize(
    "lost",
    [
        *("result.json", "model.safetensors", "architecture.json", "retrain.json"),
        *("preprocessing.json", "checkpoint.pt", "plan.json", "timing.json", "digests.json"),
    ],
)
def test_a_run_that_lost_a_file_has_it_made_again_or_says_so(
    run: Path, meritnas: Command, lost: str
) -> None:
    whole = {name: (run / name).read_bytes() for name in ("model.safetensors", "retrain.json")}
    (run / lost).unlink()
    outcome = meritnas("search", "--resume", run, "--quiet")
    assert outcome.code == 0, outcome.err
    for name, content in whole.items():
        assert (run / name).read_bytes() == content
    if lost not in ("checkpoint.pt", "plan.json", "timing.json", "digests.json"):
        assert (run / lost).exists()
    assert meritnas("retrain", run, "--quiet").code == 0


def test_a_given_network_that_lost_its_text_is_not_searched_for(
    sales: Path, meritnas: Command
) -> None:
    given = ("retrain", sales, "--target", "churn", "--architecture", "4-8", "--epochs", "1")
    assert meritnas(*given, "--seeds", "1", "--out", "given").code == 0
    Path("given/architecture.json").unlink()
    outcome = meritnas("search", "--resume", "given")
    assert outcome.code == 2
    assert "lost its architecture.json" in outcome.err


def test_explaining_a_run_that_lost_its_checkpoint_leaves_the_log_alone(
    run: Path, meritnas: Command
) -> None:
    before = (run / "events.jsonl").read_bytes()
    (run / "checkpoint.pt").unlink()
    outcome = meritnas("explain", run)
    assert outcome.code == 2
    assert "lost its checkpoint.pt" in outcome.err
    assert (run / "events.jsonl").read_bytes() == before


@pytest.mark.parametrize("planted", ["report.html", "credit.json", "events.jsonl", ".lock"])
def test_planted_links_lead_nowhere(run: Path, meritnas: Command, planted: str) -> None:
    Path("precious").write_text("mine")
    (run / planted).unlink(missing_ok=True)
    (run / planted).symlink_to(Path("precious").absolute())
    for command in (["report", run], ["explain", run], ["retrain", run, "--quiet"], ["show", run]):
        outcome = meritnas(*command)
        assert "Traceback" not in outcome.err
    assert Path("precious").read_text() == "mine"


@pytest.mark.parametrize("folder", ["../..", "/", "rung-1/../..", "elsewhere", "retrain/../.."])
def test_a_result_cannot_name_folders_elsewhere(
    run: Path, meritnas: Command, sales: Path, folder: str
) -> None:
    result = json.loads((run / "result.json").read_text())
    result["pareto"][1]["folder"] = folder
    network = result["pareto"][1]["architecture"]
    (run / "result.json").write_text(json.dumps(result))
    (run / "digests.json").unlink()
    for command in (["predict", run, sales], ["export", run, "--to", "python"]):
        outcome = meritnas(*command, "--network", network)
        assert outcome.code == 2
        assert "names the folder" in outcome.err
