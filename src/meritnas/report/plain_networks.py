"""Which of a run's networks were plain ones."""

from __future__ import annotations

from meritnas.report.run_files import RunFiles


def plain_networks(run: RunFiles) -> frozenset[str]:
    """The texts of the plain networks of a run's race; of earlier versions only the best one's."""
    found = run["result"].get("plain")
    if not isinstance(found, dict):
        return frozenset()
    every = found.get("all")
    texts = every if isinstance(every, list) else [found.get("architecture")]
    return frozenset(text for text in texts if isinstance(text, str))
