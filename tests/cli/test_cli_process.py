from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from cli_helpers import EVENTS, SHORT, Forked, Outcome, finish, start, table

from meritnas.cli.main import main
from meritnas.engine import loop

Command = Callable[..., Outcome]

# A second or so: long enough to be caught in the middle.
_SPACE = ("--max-params", "500", "--widths", "4,8,12,16")
_LENGTH = ("--epochs", "12", "--retrain-epochs", "6", "--retrain-seeds", "2", "--finalists", "2")
_TRAINING = ("--scaling", "standard", "--dropout", "0", "--seed", "3", "--threads", "1")
LONGER = ("--target", "churn", *_SPACE, *_LENGTH, *_TRAINING, "--quiet")


@pytest.fixture(scope="module", autouse=True)
def many_events() -> Iterator[None]:
    """As many as the processes of `Forked` have, so that logs can be compared."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "_EVENTS_A_SEARCH", EVENTS)
        yield


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "sales.csv"
    table(1000).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def undisturbed(rows: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that all interrupted ones must end like."""
    run = tmp_path_factory.mktemp("undisturbed") / "run"
    torch.set_num_threads(1)
    with pytest.raises(SystemExit) as ended:
        main(["search", str(rows), *LONGER, "--out", str(run)])
    assert not ended.value.code
    return run


def wait_for(path: Path, process: Forked) -> None:
    until = time.monotonic() + 60.0
    while not path.exists():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.005)


def same(one: Any, other: Any) -> bool:
    """Whether two saved states are equal bit for bit."""
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def untimed(path: Path) -> dict[str, Any]:
    return {
        name: value
        for name, value in json.loads(path.read_text()).items()
        if name not in ("seconds", "seconds_needed", "phase_seconds", "spent", "run")
    }


def assert_same_run(run: Path, other: Path) -> None:
    assert sorted(path.name for path in run.iterdir()) == sorted(p.name for p in other.iterdir())
    kept = ("model.safetensors", "events.jsonl", "retrain.json", "preprocessing.json")
    for name in (*kept, "failures.json"):
        assert (run / name).read_bytes() == (other / name).read_bytes(), name
    for name in ("architecture.json", "result.json"):
        assert untimed(run / name) == untimed(other / name)
    states = [torch.load(folder / "checkpoint.pt", weights_only=True) for folder in (run, other)]
    for state in states:
        del state["seconds"], state["phase_seconds"]
    assert same(*states)


def test_killed_twice_a_run_ends_like_an_undisturbed_one(
    meritnas: Command, rows: Path, undisturbed: Path
) -> None:
    run = Path("run")
    process = Forked("search", rows, *LONGER, "--out", run)
    wait_for(run / "checkpoint.pt", process)
    process.kill()
    process.communicate()
    assert not (run / "architecture.json").exists()

    process = Forked("search", "--resume", run, "--quiet")
    wait_for(run / "retrain.json", process)
    process.kill()
    process.communicate()
    assert not (run / "result.json").exists()

    assert meritnas("search", "--resume", run, "--quiet").code == 0
    assert_same_run(run, undisturbed)


@pytest.mark.parametrize(
    "kept", [["config.json"], ["config.json", "rows.safetensors", "preprocessing.json"]]
)
def test_killed_before_the_first_checkpoint_a_run_starts_over(
    meritnas: Command, undisturbed: Path, kept: list[str]
) -> None:
    Path("run").mkdir()
    for name in kept:
        Path("run", name).write_bytes((undisturbed / name).read_bytes())
    Path("run/events.jsonl").write_text('{"kind": "search", "st')
    assert meritnas("search", "--resume", "run", "--quiet").code == 0
    assert_same_run(Path("run"), undisturbed)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_a_run_says_how_to_go_on(
    meritnas: Command, rows: Path, undisturbed: Path, number: signal.Signals
) -> None:
    process = Forked("search", rows, *LONGER, "--out", "my run")
    wait_for(Path("my run/checkpoint.pt"), process)
    process.send_signal(number)
    outcome = finish(process)
    assert outcome.code == 130
    assert outcome.err == "interrupted; continue with: meritnas search --resume 'my run'\n"
    assert outcome.out == ""
    assert not list(Path("my run").glob(".partial*"))
    assert meritnas("search", "--resume", "my run", "--quiet").code == 0
    assert_same_run(Path("my run"), undisturbed)


@pytest.mark.parametrize("where", ["checkpoint.pt", "events.jsonl"])
def test_a_full_disk_loses_nothing(
    meritnas: Command, rows: Path, undisturbed: Path, where: str
) -> None:
    sizes = {path.name: path.stat().st_size for path in undisturbed.iterdir()}
    room = sizes[where] * 3 // 4
    process = Forked("search", rows, *LONGER, "--out", "run", full_disk_at=room)
    outcome = finish(process)
    assert outcome.code == 2
    assert outcome.err.startswith("error: cannot write to run: File too large; free some space")
    assert outcome.err.count("\n") == 1
    assert Path("run/checkpoint.pt").exists() == (where == "events.jsonl")
    assert not list(Path("run").glob(".partial*"))
    assert meritnas("search", "--resume", "run", "--quiet").code == 0
    assert_same_run(Path("run"), undisturbed)


def test_a_full_disk_at_the_very_start_leaves_nothing(rows: Path) -> None:
    outcome = finish(Forked("search", rows, *LONGER, "--out", "run", full_disk_at=100))
    assert outcome.code == 2
    assert "cannot write to run" in outcome.err
    assert "Traceback" not in outcome.err
    assert not Path("run").exists()


def test_the_installed_program_keeps_standard_output_for_the_result(sales: Path) -> None:
    outcome = finish(start("search", sales, "--target", "churn", "--json", *SHORT))
    assert outcome.code == 0
    assert json.loads(outcome.out)["run"] == "runs/sales-tabnas-1"
    assert outcome.out.count("\n") == 1
    assert "training 100%" in outcome.err


def test_minutes_are_used_to_the_end_and_count_from_the_start(tmp_path: Path) -> None:
    """A process of its own, with all its imports; on a slow machine it gets more time."""

    def seconds(*flags: str) -> float:
        command = [sys.executable, "-m", "meritnas", "search", "digits", "--max-params", "3000"]
        begun = time.monotonic()
        run = tmp_path / f"run{begun}"
        subprocess.run([*command, *flags, "--quiet", "--out", run], check=True, capture_output=True)
        return time.monotonic() - begun

    least = seconds("--epochs", "1", "--retrain-epochs", "1", "--finalists", "1")
    given = max(10.0, 3.0 * least)
    used = seconds("--minutes", str(given / 60))
    assert 0.8 * given <= used
    # What comes before and after the command itself is as slow as the machine is just now.
    assert used <= 1.05 * given + 0.1 * least


def test_bad_input_ends_with_exit_code_2(sales: Path) -> None:
    outcome = finish(Forked("search", sales, "--target", "chrun"))
    assert (outcome.code, outcome.out) == (2, "")
    assert "did you mean 'churn'?" in outcome.err
    assert "Traceback" not in outcome.err


def test_a_reader_may_leave_early(trained: Path) -> None:
    table(8000).to_csv("many.csv", index=False)
    process = start("predict", trained, "many.csv", "--quiet")
    assert process.stdout is not None
    assert process.stdout.readline().startswith("predicted_churn")
    process.stdout.close()
    assert process.stderr is not None
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 141


def test_help_does_not_wait_for_torch() -> None:
    code = (
        "import sys\n"
        "from meritnas.cli.main import main\n"
        "try: main(['search', '--help'])\n"
        "except SystemExit: pass\n"
        "slow = {'torch', 'pandas', 'sklearn', 'numpy'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
