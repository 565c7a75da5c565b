from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from cli_helpers import SHORT, Outcome, run, table
from rich.console import Console

from meritnas.cli.main import main
from meritnas.cli.waiting import Waiting
from meritnas.estimators.progress import Lines
from meritnas.progress.bar import BarProgress
from meritnas.report.terminal.plain import PlainTable
from meritnas.wording import visible_line

Command = Callable[..., Outcome]

UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What must not reach a terminal; ends of lines may."""

CLEAR, TITLE, BIDI, C1 = "\x1b[2J", "\x1b]0;mine\x07", "\u202etfel\u2066", "\x9b31m"
TARGET = f"churn{TITLE}"


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def no_commands(*texts: str) -> None:
    for text in texts:
        assert not UNSEEN.search(text), text


def hostile() -> pd.DataFrame:
    """The usual table, with names and classes that want to do something to a terminal."""
    frame = table()
    frame["city"] = frame["city"].replace({"Bonn": f"Bonn{CLEAR}", "Rome": "[/]"})
    frame["churn"] = frame["churn"].replace({"yes": f"yes{CLEAR}", "no": "[red]no[/red]"})
    frame["constant"] = 1
    names = {"height": f"[red]height{CLEAR}", "income": f"[/]{BIDI}", "churn": TARGET}
    return frame.rename(columns={**names, "constant": f"same{C1}"})


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    """A run on such a table, in a folder with such a name, and what was said about it."""
    folder = tmp_path_factory.mktemp("hostile") / f"here{CLEAR}[bold]"
    folder.mkdir()
    hostile().to_parquet(folder / "sales.parquet")
    flags = ["--target", TARGET, "--pareto", "--max-params", "300", "--out", folder / "run"]
    return folder / "run", run("search", folder / "sales.parquet", *flags, *SHORT)


def test_a_search_shows_hostile_names_as_they_are(searched: tuple[Path, Outcome]) -> None:
    outcome = searched[1]
    assert outcome.code == 0, outcome.err
    no_commands(outcome.out, outcome.err)
    assert "same\\x9b31m" in outcome.err  # a note: it has one value only
    assert "here\\x1b[2J[bold]/run" in outcome.out.replace("\n", "").replace(" ", "")


@pytest.mark.parametrize("of_run", [True, False])
def test_columns_are_listed_by_their_visible_names(
    searched: tuple[Path, Outcome], of_run: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    folder = searched[0]
    given = [folder] if of_run else [folder.parent / "sales.parquet", "--target", TARGET]
    outcome = run("columns", *given)
    assert outcome.code == 0, outcome.err
    no_commands(outcome.out, outcome.err)
    for name in ("[red]height\\x1b[2J", "[/]\\u202etfel\\u2066", "churn\\x1b]0;mine\\x07"):
        assert name in outcome.out
    assert "2 classes: [red]no[/red], yes\\x1b[2J" in outcome.out
    exact = json.loads(run("columns", *given, "--json").out)
    assert f"[red]height{CLEAR}" in {row["column"] for row in exact["columns"]}


def test_all_that_looks_at_a_run_shows_it_the_same_way(searched: tuple[Path, Outcome]) -> None:
    folder = searched[0]
    for given in (["show", folder], ["explain", folder], ["report", folder]):
        outcome = run(*given)
        assert outcome.code == 0, outcome.err
        no_commands(outcome.out, outcome.err)
    wrong = run("predict", folder, folder / "nowhere.csv")
    assert wrong.code == 2
    no_commands(wrong.err)


def test_answers_are_exact_for_programs_and_visible_on_a_terminal(
    searched: tuple[Path, Outcome],
) -> None:
    folder = searched[0]
    given = ["predict", folder, folder.parent / "sales.parquet"]
    piped = run(*given)
    no_commands(piped.err)
    names = {f"yes{CLEAR}", "[red]no[/red]"}
    assert set(pd.read_csv(io.StringIO(piped.out)).iloc[:, 0]) <= names
    screen = Screen()
    with redirect_stdout(screen), pytest.raises(SystemExit):
        main([*map(str, given), "--quiet"])
    shown = screen.getvalue()
    no_commands(shown)
    assert shown == "\n".join(map(visible_line, piped.out.split("\n")))


def test_a_comparison_and_a_config_file_show_it_the_same_way(
    searched: tuple[Path, Outcome],
) -> None:
    data = searched[0].parent / "sales.parquet"
    given = [data, "--target", TARGET, *SHORT]
    compared = run(
        "compare", *given, "--strategies", "random,tabnas", "--seeds", "1", "--out", f"c{CLEAR}"
    )
    assert compared.code == 0, compared.err
    no_commands(compared.out, compared.err)
    config = run("search", *given, "--print-config")
    assert config.code == 0, config.err
    no_commands(config.out)
    Path("config.toml").write_text(config.out)
    again = run("search", "--config", "config.toml", "--print-config")
    assert again.out == config.out  # exact, as TOML


@pytest.mark.parametrize("half", ["", "\ud800"], ids=["whole", "half"])
def test_what_a_run_was_made_to_say_is_shown_and_not_obeyed(
    trained: Path, tmp_path: Path, half: str
) -> None:
    folder = tmp_path / "planted"
    shutil.copytree(trained, folder)
    evil = f"{CLEAR}{BIDI}{C1}{half}[red]"
    result = json.loads((folder / "result.json").read_text())
    texts = {"strategy": evil, "notes": [evil], "short": evil, "lines": [evil], "data": evil}
    (folder / "result.json").write_text(json.dumps({**result, **texts, "architecture": evil}))
    config = json.loads((folder / "config.json").read_text())
    config["data"]["name"] = config["data"]["location"] = evil
    (folder / "config.json").write_text(json.dumps(config))
    for path in folder.glob("digests.json"):  # as a run of an earlier version, which has none
        path.unlink()
    for given in (["show", folder], ["report", folder], ["explain", folder], ["columns", folder]):
        outcome = run(*given)
        no_commands(outcome.out, outcome.err)
        assert outcome.code in (0, 2), outcome
        assert "Traceback" not in outcome.err
    shown = run("show", folder)
    assert ("\\x1b[2J" in shown.out) == (not half)  # what is no text at all is no run's
    assert ("a half of a character" in shown.err) == bool(half)
    assert (folder / "report.html").read_bytes().decode("utf-8")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' names are texts")
def test_names_of_files_that_are_no_text_are_read_and_shown_but_not_kept(
    trained: Path, tmp_path: Path
) -> None:
    data = tmp_path / os.fsdecode(b"caf\xe9.csv")
    table().to_csv(data, index=False)
    folder = tmp_path / os.fsdecode(b"run\xff")
    shutil.copytree(trained, folder)
    for given in (["report", folder], ["show", folder], ["columns", data]):
        outcome = run(*given)
        assert outcome.code == 0, (given, outcome.err)
        no_commands(outcome.out, outcome.err)
    for given, out in ((data, "new"), (trained.parent / "sales.csv", f"{folder}-new")):
        refused = run("search", given, "--target", "churn", *SHORT, "--quiet", "--out", out)
        assert refused.code == 2
        assert "whole characters" in refused.err
        assert refused.err.count("\n") == 1
        assert not Path(out).exists()  # a run could not say where it is, or what it is about
    printed = run("search", data, "--target", "churn", "--print-config")
    assert printed.code == 2
    assert "no way to write" in printed.err


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' names are texts")
def test_pictures_whose_names_are_no_text_are_answered_for(tmp_path: Path) -> None:
    from PIL import Image

    rng = np.random.default_rng(0)
    for number in range(40):
        folder = tmp_path / "photos" / f"kind{number % 2}{CLEAR}"
        folder.mkdir(parents=True, exist_ok=True)
        pixels = rng.integers(0, 255, (8, 8, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / os.fsdecode(b"p\xff%d.png" % number))
    sizes = ["--blocks", "plain3", "--widths", "8;16"]
    short = ["--epochs", "1", "--retrain-epochs", "1", "--retrain-seeds", "1", "--finalists", "1"]
    outcome = run("search", tmp_path / "photos", *sizes, *short, "--out", "run")
    assert outcome.code == 0, outcome.err
    no_commands(outcome.out, outcome.err)
    for more in ([], ["--out", "answers.csv"], ["--json"]):
        answers = run("predict", "run", tmp_path / "photos" / f"kind0{CLEAR}", *more)
        assert answers.code == 0, answers.err
        no_commands(answers.err)
    assert "p\\udcff0.png" in Path("answers.csv").read_text()


def test_progress_on_a_terminal_obeys_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    said = io.StringIO()
    monkeypatch.setattr(sys, "stderr", said)
    bar = BarProgress()
    bar._console = bar._bars.live.console = Console(file=said, width=80)
    evil = f"evil{C1}\x07{BIDI}[red]"
    event = {"kind": "search", "phase": "joint", "step": 1, "steps": 2, "entropy": 0.5}
    with bar:
        bar.note(f"note: {evil}")
        bar.show({**event, "leader": evil, "leader_short": evil})
        bar.begin({"run": 1, "runs": 2, "strategy": evil, "seed": 0})
    no_commands(said.getvalue())
    assert said.getvalue().count("evil\\x9b31m\\x07\\u202etfel\\u2066[red]") >= 2


def test_what_is_waited_for_is_shown_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    waiting = Waiting()
    waiting._text = f"[/]{CLEAR}"
    waiting._show()
    spinner = waiting._spinner
    assert spinner is not None
    assert str(spinner.renderable.text) == "[/]\\x1b[2J"


def test_estimators_print_the_same_way(capsys: pytest.CaptureFixture[str]) -> None:
    hear = Lines()
    hear({"kind": "note", "text": f"note{CLEAR}"})
    hear({"kind": "search", "step": 1, "steps": 1, "leader": f"leader{CLEAR}"})
    out = capsys.readouterr().out
    no_commands(out)
    assert "note\\x1b[2J" in out
    assert "leader\\x1b[2J" in out


@pytest.mark.parametrize("text", ["[red]x[/red]", "[/]", "[link=http://a]b", "a[", CLEAR, "\ud800"])
def test_markup_and_commands_in_a_table_are_letters(text: str) -> None:
    made = PlainTable(f"title {text}")
    made.add_column(f"head {text}")
    made.add_row(f"cell {text}")
    made.say_below(f"below {text}")
    said = io.StringIO()
    Console(file=said, width=60, force_terminal=False).print(made)
    no_commands(said.getvalue())
    for place in ("title", "head", "cell", "below"):
        assert f"{place} {visible_line(text)}" in said.getvalue()


@pytest.mark.parametrize("given", [["search", "--x\x1b"], ["nope\x1b\udcff"], ["list", "\x9b"]])
def test_what_typer_says_about_words_obeys_nothing_in_them(given: list[str]) -> None:
    outcome = run(*given)
    assert outcome.code == 2
    no_commands(outcome.err)


def test_what_is_visible_stays_as_it_is() -> None:
    text = "Straße 東京 עִבְרִית [x] \\x1b 😀"
    assert visible_line(text) == text
    assert visible_line("a\tb\r\nc\x1b\x85\u2069\udcff") == "a\\tb\\r\\nc\\x1b\\x85\\u2069\\udcff"
    assert visible_line(visible_line("\x1b")) == visible_line("\x1b")
