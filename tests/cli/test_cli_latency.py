from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_helpers import SHORT, Outcome

Command = Callable[..., Outcome]

SIZES = ("--layers", "2", "--widths", "4,8")


def test_a_table_made_here_is_taken_by_a_search(meritnas: Command) -> None:
    made = meritnas("latency", "wine", *SIZES, "--out", "times.json")
    assert (made.code, made.out.strip()) == (0, "times.json")
    table = json.loads(Path("times.json").read_text())
    assert len(table["microseconds"]) == 2 + 4 + 2
    assert "torch" in table["machine"]
    dearest = sum(table["microseconds"].values()) / 1000
    limit = ("--max-latency-ms", dearest, "--latency-table", "times.json")
    quick = (*SHORT[:-2], "--layers", "2", "--scaling", "standard", "--no-plain", *limit)
    found = meritnas("search", "wine", *quick, "--widths", "4,8", "--out", "run")
    assert found.code == 0, found.err
    assert "by the times in times.json" in found.out
    other = meritnas("search", "wine", *quick, "--widths", "4,9")
    assert other.code == 2
    assert "times.json has no time of 5 of 8 parts" in other.err
    again = meritnas("latency", "wine", *SIZES, "--out", "times.json")
    assert (again.code, again.out) == (2, "")
    assert "exists already" in again.err


def test_a_list_is_timed_by_one_file_that_needs_torch_alone(meritnas: Command) -> None:
    made = meritnas("latency", "wine", *SIZES, "--list", "parts.json")
    assert made.code == 0, made.err
    code = """
import runpy, sys
sys.modules["meritnas"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    words = [sys.executable, "-c", code, "device_times.py", "parts.json", "there.json"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "8 parts timed" in done.stdout
    listed, times = (json.loads(Path(name).read_text()) for name in ("parts.json", "there.json"))
    assert times["microseconds"].keys() == listed["parts"].keys()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("latency", "wine"), "give --out FILE to time parts on this machine, or --list FILE"),
        (("latency", "wine", "--out", "a", "--list", "b"), "give --out FILE to time parts"),
        (("latency", "nothing.csv", "--out", "a"), "nothing.csv"),
        (("search", "wine", "--latency-table", "a"), "latency_table is for a limit on latency"),
        (("search", "wine", "--max-latency-ms", "1", "--latency-table", "a"), "no file a"),
        (("search", "wine", "--max-peak-kb", "0"), "max_peak_kb must be above 0"),
        (("search", "wine", "--max-peak-kb", "0.05"), "below the cheapest network"),
    ],
)
def test_what_makes_no_sense_is_refused(
    meritnas: Command, words: tuple[str, ...], said: str
) -> None:
    found = meritnas(*words)
    assert (found.code, found.out) == (2, "")
    assert said in " ".join(found.err.split())
    assert not Path("a").exists()
