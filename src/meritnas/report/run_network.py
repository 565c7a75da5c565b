"""The family that a run searched, and its network, as far as they can be read again."""

from __future__ import annotations

from dataclasses import dataclass

from meritnas.errors import MeritNASError, SpaceError
from meritnas.families.family import Family
from meritnas.prepare.config import settings_of
from meritnas.prepare.family import make_family
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.report.run_files import RunFiles
from meritnas.space.architecture import Architecture
from meritnas.store.run_store import RunStore

_UNREADABLE = (MeritNASError, KeyError, TypeError, ValueError, AttributeError, AssertionError)


@dataclass(frozen=True)
class RunNetwork:
    """What a run decides about, and what it has decided.

    Attributes:
        decisions: their names, in order.
        chosen: the option of each in the run's network; empty where there is none yet.
        family: that it is of; None where this version cannot tell.
    """

    decisions: tuple[str, ...]
    chosen: tuple[str, ...]
    family: Family | None = None

    def parsed(self, text: str) -> Architecture:
        """The architecture of a text; an error says that it is damaged."""
        assert self.family is not None
        try:
            return self.family.parse(text)
        except (LookupError, TypeError, ValueError, MemoryError, RecursionError) as error:
            raise SpaceError(
                "the network's text is damaged and cannot be drawn "
                f"({type(error).__name__}: {error})"
            ) from error

    def short(self, text: str) -> str:
        """A network in a few words, or as it is where nothing is known about it."""
        known = self._known(text)
        return text if known is None or self.family is None else self.family.short(known)

    def lines(self, text: str) -> list[str]:
        """A network's text on several lines, or as it is where nothing is known about it."""
        known = self._known(text)
        return [text] if known is None or self.family is None else self.family.lines(known)

    def _known(self, text: str) -> Architecture | None:
        if self.family is None:
            return None
        try:
            return self.parsed(text)
        except SpaceError:
            return None


def run_network(run: RunFiles) -> RunNetwork:
    """The names of a run's decisions; only numbers where this version cannot tell."""
    try:
        settings = settings_of(run.config)
        encoder, task = read_preprocessing(RunStore(run.folder, dict(run.config)))
        family = make_family(settings, encoder, task)
        names = tuple(decision.name for decision in family.space.decisions)
    except _UNREADABLE:
        options = run["plan"].get("options")
        count = len(options) if isinstance(options, list) else 0
        return RunNetwork(tuple(f"decision {k + 1}" for k in range(count)), _kept(run))
    found = RunNetwork(names, (), family)
    try:
        chosen = found.parsed(run.network).options if run.network else ()
    except SpaceError:
        chosen = _kept(run)
    return RunNetwork(names, chosen, family)


def _kept(run: RunFiles) -> tuple[str, ...]:
    """The options as the run wrote them down, if they are those of its network."""
    found = run["architecture"].get("chosen")
    if isinstance(found, dict) and found.get("text") == run.network:
        return tuple(map(str, found.get("options", ())))
    return ()
