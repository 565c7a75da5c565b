from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import Outcome

Command = Callable[..., Outcome]
Complete = Callable[[str], list[str]]

MOST = ["--max-params", "--max-params-paper", "--max-peak-kb"]


@pytest.fixture
def complete(meritnas: Command, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What bash is offered for the last word of a line."""

    def completed(line: str) -> list[str]:
        monkeypatch.setenv("_MERITNAS_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - (not line.endswith(" "))))
        outcome = meritnas()
        assert (outcome.code, outcome.err) == (0, "")
        return outcome.out.split()

    return completed


def test_names_of_strategies_and_spaces(complete: Complete) -> None:
    assert complete("meritnas search --strategy sh") == ["shapley"]
    assert complete("meritnas search --strategy sm") == ["sm-shapley"]
    assert complete("meritnas search data.csv --target y --space nas") == ["nasbench201"]
    assert {"tabular", "darts", "fusion"} <= set(complete("meritnas search --space "))
    assert complete("meritnas retrain digits --space rec") == ["recurrent"]
    assert complete("meritnas compare --strategies tabnas,ran") == ["tabnas,random"]


def test_flags_of_what_was_chosen(complete: Complete) -> None:
    assert complete("meritnas search --strategy shapley --perm") == ["--permutations"]
    assert complete("meritnas search --perm") == []
    assert complete("meritnas search --space darts --ste") == ["--stem"]
    assert complete("meritnas search --ste") == []
    assert complete("meritnas search --max-p") == MOST
    assert complete("meritnas search --strategy tabnas --sampling r") == ["rejection"]
    Path("run.toml").write_text('strategy = "shapley"\n')
    assert complete("meritnas search --config run.toml --perm") == ["--permutations"]


@pytest.mark.parametrize(
    "line",
    [
        "meritnas search --strategy nonsense --max-p",
        "meritnas search --strategy own:Thing --max-p",
        "meritnas search --config nowhere.toml --max-p",
        "meritnas search --config 'nowhere.toml --max-p",
    ],
)
def test_what_cannot_be_understood_is_completed_all_the_same(complete: Complete, line: str) -> None:
    assert complete(line) in (MOST, [])


def test_commands(complete: Complete) -> None:
    assert complete("meritnas sea") == ["search"]
    assert complete("meritnas se") == ["search", "serve"]
    assert complete("meritnas list str") == ["strategies"]


def test_zsh_is_told_what_names_mean(meritnas: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_MERITNAS_COMPLETE", "complete_zsh")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "meritnas search --strategy shap")
    out = meritnas().out
    assert "shapley" in out
    assert "weighted by what their removal costs" in out
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", "meritnas search --strategy shapley --perm")
    assert "--permutations" in meritnas().out


def test_the_installed_program_completes_without_waiting_for_torch() -> None:
    asked = {
        "_MERITNAS_COMPLETE": "complete_bash",
        "COMP_WORDS": "meritnas search --strategy sh",
        "COMP_CWORD": "3",
    }
    done = run_watched("main()", asked)
    assert done.stdout.split() == ["shapley"]


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["search", "--help"],
        ["search", "--strategy", "shapley", "--help"],
        ["search", "--space", "fusion", "--strategy", "sm-shapley", "--help"],
        ["list", "strategies"],
        ["list", "spaces"],
    ],
)
def test_help_does_not_wait_for_torch(words: list[str]) -> None:
    assert run_watched(f"main({words!r})", {}).stdout


def run_watched(call: str, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """The program in an interpreter of its own, which fails where slow modules are loaded."""
    code = (
        "import sys\n"
        "from meritnas.cli.main import main\n"
        f"try: {call}\n"
        "except SystemExit as ended: assert not ended.code, ended.code\n"
        "slow = {'torch', 'pandas', 'sklearn', 'numpy', 'scipy'} & set(sys.modules)\n"
        "assert not slow, slow\n"
    )
    return subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, **more},
    )
