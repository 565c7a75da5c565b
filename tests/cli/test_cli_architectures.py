from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from cli_helpers import Outcome

from meritnas.cli.exit_codes import plain_outcome

Command = Callable[..., Outcome]

NOTHING = "|none~0|+|none~0|none~1|+|none~0|none~1|none~2|"


def refused(outcome: Outcome, *words: str) -> None:
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")
    assert outcome.err.count("\n") == 1
    for word in words:
        assert word in outcome.err


def test_an_empty_architecture_is_none(meritnas: Command, trained: Path, sales: Path) -> None:
    before = (trained / "result.json").read_bytes()
    refused(meritnas("retrain", trained, "--architecture", ""), "'' answers 1 decisions")
    assert (trained / "result.json").read_bytes() == before
    refused(
        meritnas("retrain", sales, "--target", "churn", "--architecture", ""),
        "written like 32-144-24, got ''",
    )
    assert [path.name for path in Path().iterdir()] == ["sales.csv"]


@pytest.mark.parametrize("text", ["\u00b2", "9" * 5000, "8-", "-8", "8--8", "8-eight", "1e3"])
def test_widths_that_are_none(meritnas: Command, sales: Path, text: str) -> None:
    given = ("--target", "churn", f"--architecture={text}")
    refused(meritnas("retrain", sales, *given), "written like 32-144-24")


def test_a_cell_that_sees_nothing_is_not_trained(meritnas: Command) -> None:
    given = ("--space", "nasbench201", "--channels", "4", "--cells", "1", "--epochs", "1")
    refused(
        meritnas("retrain", "digits", *given, "--architecture", NOTHING),
        "nothing of what comes in reaches the output of |none~0|",
    )
    assert not Path("runs").exists()


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"),
        RuntimeError("CUDA out of memory. Tried to allocate 9 GiB"),
    ],
)
def test_a_lack_of_memory_is_an_error_like_others(
    error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(typer.Exit) as ended, plain_outcome(str):
        raise error
    assert ended.value.exit_code == 2
    assert capsys.readouterr().err.startswith("error: there is not enough memory (")


def test_a_fault_of_the_program_stays_one() -> None:
    with pytest.raises(RuntimeError, match="shapes"), plain_outcome(str):
        raise RuntimeError("shapes do not fit")
