"""The HTML page of a run, put together from its sections."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from meritnas.errors import MeritNASError
from meritnas.report.page.confusion import confusion_section
from meritnas.report.page.credit import (
    alternatives_section,
    credit_section,
    interactions_section,
)
from meritnas.report.page.each_class import each_class_section
from meritnas.report.page.failures import failures_section
from meritnas.report.page.features import features_section
from meritnas.report.page.missed_words import dear_words_section, word_ranks_section
from meritnas.report.page.modalities import (
    modalities_section,
    noise_section,
    noisy_worth_section,
)
from meritnas.report.page.network import limits_section, network_section, summary_section
from meritnas.report.page.residuals import residuals_section
from meritnas.report.page.search import (
    candidates_section,
    cost_section,
    entropy_section,
    feasible_section,
    finalists_section,
    learning_section,
    policy_section,
    race_section,
    tradeoff_section,
)
from meritnas.report.page.section import Section
from meritnas.report.page.thresholds import thresholds_section
from meritnas.report.page.whole_words import whole
from meritnas.report.page.worst import worst_section
from meritnas.report.page.yardstick import yardstick_section
from meritnas.report.repeat import repeat_command
from meritnas.report.run_files import RunFiles, read_run
from meritnas.report.run_network import RunNetwork, run_network
from meritnas.run.ending import ending_text
from meritnas.store.whole_files import write_whole
from meritnas.version import __version__
from meritnas.wording import visible_line

NAME = "report.html"
"""The file in a run's folder."""

Maker = Callable[[RunFiles, RunNetwork], Section | None]

_PARTS: dict[str, dict[str, Maker]] = {
    "The answer": {
        "summary": summary_section,
        "limits": limits_section,
        "yardstick": yardstick_section,
    },
    "How it fails": {
        "failures": failures_section,
        "confusion": confusion_section,
        "classes": each_class_section,
        "thresholds": thresholds_section,
        "residuals": residuals_section,
        "words": word_ranks_section,
        "dear": dear_words_section,
        "worst": worst_section,
        "features": features_section,
        "modalities": modalities_section,
        "noise": noise_section,
        "noisy-worth": noisy_worth_section,
    },
    "The network": {"network": network_section},
    "The search": {
        "finalists": finalists_section,
        "race": race_section,
        "tradeoff": tradeoff_section,
        "learning": learning_section,
        "policy": policy_section,
        "entropy": entropy_section,
        "feasible": feasible_section,
        "candidates": candidates_section,
        "cost": cost_section,
    },
    "Credit": {
        "credit": credit_section,
        "alternatives": alternatives_section,
        "interactions": interactions_section,
    },
}
_LAST = "Notes"


@dataclass(frozen=True)
class Chapter:
    """Sections that belong together."""

    title: str
    sections: tuple[Section, ...]


def report_page(folder: Path, reload_seconds: int | None = None) -> str:
    """One HTML page about a run, finished or not, that needs nothing but itself.

    Args:
        folder: the run's.
        reload_seconds: how often the page loads itself anew; None for never.
    """
    run = read_run(folder)
    network = run_network(run)
    problems = list(run.problems)
    chapters = [_chapter(title, run, network, problems) for title in _PARTS]
    chapters.append(Chapter(_LAST, tuple(_last_sections(run, problems))))
    name = _name(run)
    short = network.short(run.network) if run.network else ""
    return _template().render(
        title=f"{name}: {short}" if short else name,
        name=name,
        network=short,
        chapters=[chapter for chapter in chapters if chapter.sections],
        finished=run.finished,
        reload_seconds=reload_seconds,
        version=__version__,
    )


def sections_of(run: RunFiles, network: RunNetwork) -> tuple[list[Section], list[str]]:
    """The parts that a run has numbers for, and what is wrong with others."""
    problems: list[str] = []
    chapters = [_chapter(title, run, network, problems) for title in _PARTS]
    return [section for chapter in chapters for section in chapter.sections], problems


def _chapter(title: str, run: RunFiles, network: RunNetwork, problems: list[str]) -> Chapter:
    """The sections that a run has numbers for; what could not be made is a problem."""
    found = []
    for name, make in _PARTS[title].items():
        try:
            section = make(run, network)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            problems.append(f"the part '{name}' could not be made ({error!r}) and was left out")
        else:
            found += [section] if section is not None else []
    return Chapter(title, tuple(found))


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write a run's page to a file, by default its own; returns the file's path."""
    path = folder / NAME if out is None else out
    # A half of a character, which only a damaged run has, has no bytes.
    write_whole(path, report_page(folder).encode("utf-8", "backslashreplace"))
    return path


def report_at_end(folder: Path) -> None:
    """Write the page of a run that has ended; a finished run never fails for that."""
    try:
        write_report(folder)
    except Exception as error:
        reason = str(error) if isinstance(error, MeritNASError) else repr(error)
        print(visible_line(f"note: no report was written: {reason}"), file=sys.stderr)


@cache
def _template() -> Template:
    here = Path(__file__).parent
    environment = Environment(
        loader=FileSystemLoader([here / "templates", here.parent / "charts"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["whole"] = whole
    return environment.get_template("report.html")


def _last_sections(run: RunFiles, problems: list[str]) -> list[Section]:
    """Notes, and how to repeat the run."""
    found = []
    kept = run["result"].get("notes", ())
    notes = [str(note) for note in kept] if isinstance(kept, list) else []
    ended = _ending(run)
    if ended:
        notes.insert(0, ended)
    if problems or notes:
        found.append(Section("notes", "Notes", items=(*problems, *notes)))
    strategy = run["architecture"].get("strategy")
    try:
        command = repeat_command(run.config, run.network if strategy == "given" else None)
    except (AttributeError, LookupError, TypeError):
        command = None
    if command is not None:
        found.append(Section("repeat", "The same again", code=command))
    else:
        lead = "This run was made on data in memory; give the same data to meritnas.search again."
        found.append(Section("repeat", "The same again", lead))
    return found


def _ending(run: RunFiles) -> str:
    """That the search ended too early; nothing where it did not or a file has lost it."""
    chosen = run["architecture"]
    try:
        return ending_text(chosen["ending"], float(chosen["seconds"]))
    except (LookupError, TypeError, ValueError):
        return ""


def _name(run: RunFiles) -> str:
    """Of the data."""
    data = run.config.get("data")
    return str(data.get("name", "a run")) if isinstance(data, dict) else "a run"
