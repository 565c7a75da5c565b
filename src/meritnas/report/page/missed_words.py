"""Which words a language model does not see coming."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.report.numbers import count_text, score_text, share_text
from meritnas.report.page.failures import failures_of
from meritnas.report.page.section import Section, Table
from meritnas.report.run_files import RunFiles
from meritnas.report.run_network import RunNetwork


def word_ranks_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """How often the next word is the likeliest, by how frequent words are."""
    del network
    found = failures_of(run).get("words")
    if not found:
        return None
    lead = (
        f"Of {found['count']:,} words of the test text, {share_text(found['first'])} were the "
        f"likeliest by the network, {share_text(found['among'])} among its {found['guesses']} "
        "likeliest. Words are numbered from the most frequent of the training text on."
    )
    table = _table("words", found["by_rank"])
    return Section("words", "Frequent and rare words", lead, table=table, half=True)


def dear_words_section(run: RunFiles, network: RunNetwork) -> Section | None:
    """The words that have the largest part in the loss."""
    del network
    dearest = failures_of(run).get("words", {}).get("dearest")
    if not dearest:
        return None
    lead = "What has the largest part in the loss, of which perplexity is made."
    return Section("dear", "Most missed", lead, table=_table("word", dearest), half=True)


def _table(what: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    head = (what, "how often", "likeliest", "perplexity", "part of the loss")
    cells = (
        (
            repr(row["name"]) if what == "word" else str(row["name"]),
            count_text(row["count"]),
            share_text(row["first"]),
            score_text(row["perplexity"]),
            share_text(row["share"]),
        )
        for row in rows
    )
    return Table(head, tuple(cells))
