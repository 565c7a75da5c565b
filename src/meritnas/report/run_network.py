"""The family that a run searched, and its network, as far as they can be read again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from meritnas.errors import MeritNASError, SpaceError
from meritnas.families.drawing import Drawing, drawing_from_json
from meritnas.families.family import Family
from meritnas.plugins import NOBODY
from meritnas.prepare.config import settings_of
from meritnas.prepare.family import make_family
from meritnas.prepare.preprocessing import preprocessing_of
from meritnas.report.run_files import RunFiles
from meritnas.space.architecture import Architecture

_UNREADABLE = (MeritNASError, KeyError, TypeError, ValueError, AttributeError, AssertionError)


@dataclass(frozen=True)
class RunNetwork:
    """What a run decides about, and what it has decided.

    Attributes:
        decisions: their names, in order.
        chosen: the option of each in the run's network; empty where there is none yet.
        family: that it is of; None where this version cannot tell, or where only the user's own
            code could, which is not imported to look at a run.
        layers: (name, width) of the layers of a network that is a row of them.
        drawings: the cells of any other as graphs.
    """

    decisions: tuple[str, ...]
    chosen: tuple[str, ...]
    family: Family | None = None
    layers: tuple[tuple[str, int], ...] = ()
    drawings: tuple[Drawing, ...] = ()

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
        encoder, task = preprocessing_of(run["preprocessing"])
        NOBODY.check(settings.own_names | encoder.own_names, run.folder)
        family = make_family(settings, encoder, task)
        names = tuple(decision.name for decision in family.space.decisions)
    except _UNREADABLE:
        return _as_written(run)
    found = RunNetwork(names, (), family)
    if run.network is None:
        return found
    try:
        parsed = found.parsed(run.network)
    except SpaceError:
        return replace(found, chosen=_kept(run))
    layers, drawings = family.layers(parsed), family.drawings(parsed)
    # A plain network of another space answers none of these decisions.
    chosen = parsed.options if family.of(parsed) is family.asked else ()
    return RunNetwork(names, chosen, family, layers, drawings)


def _as_written(run: RunFiles) -> RunNetwork:
    """What the run's own files say, without the space it is of."""
    options, names = run["plan"].get("options"), run["plan"].get("decisions")
    count = len(options) if isinstance(options, list) else 0
    if not isinstance(names, list) or len(names) != count:
        names = [f"decision {k + 1}" for k in range(count)]
    written = RunNetwork(tuple(map(str, names)), _kept(run))
    try:
        drawn = run["result"]["drawn"]
        layers = tuple((str(name), int(width)) for name, width in drawn["layers"])
        return replace(
            written, layers=layers, drawings=tuple(map(drawing_from_json, drawn["drawings"]))
        )
    except _UNREADABLE:
        return written


def _kept(run: RunFiles) -> tuple[str, ...]:
    """The options as the run wrote them down, if they are those of its network."""
    found = run["architecture"].get("chosen")
    if isinstance(found, dict) and found.get("text") == run.network:
        return tuple(map(str, found.get("options", ())))
    return ()
