from __future__ import annotations

from dataclasses import dataclass

from meritnas.errors import MeritNASError
from meritnas.families.family import Family
from meritnas.families.tabular.family import TabularSpace
from meritnas.prepare.config import settings_of
from meritnas.prepare.family import make_family
from meritnas.prepare.preprocessing import read_preprocessing
from meritnas.report.run_files import RunFiles
from meritnas.store.run_store import RunStore


@dataclass(frozen=True)
class RunNetwork:
    """What a run decides about, and what it has decided.

    Attributes:
        decisions: their names, in order.
        chosen: the option of each in the run's network; empty where there is none yet.
        inputs: numbers that come into a network of layers; None for other networks.
        outputs: numbers that come out of it.
        family: that it is of; None where this version cannot tell.
    """

    decisions: tuple[str, ...]
    chosen: tuple[str, ...]
    inputs: int | None = None
    outputs: int | None = None
    family: Family | None = None


def run_network(run: RunFiles) -> RunNetwork:
    """The names of a run's decisions; only numbers where this version cannot tell."""
    try:
        settings = settings_of(run.config)
        encoder, task = read_preprocessing(RunStore(run.folder, dict(run.config)))
        family = make_family(settings, encoder, task)
        names = tuple(decision.name for decision in family.space.decisions)
        chosen = family.parse(run.network).options if run.network else ()
    except (MeritNASError, KeyError, TypeError, ValueError, AttributeError, AssertionError):
        options = run["plan"].get("options")
        count = len(options) if isinstance(options, list) else 0
        return RunNetwork(tuple(f"decision {k + 1}" for k in range(count)), _kept(run))
    if isinstance(family, TabularSpace):
        return RunNetwork(names, chosen, family.inputs.width, family.outputs, family)
    return RunNetwork(names, chosen, family=family)


def _kept(run: RunFiles) -> tuple[str, ...]:
    """The options as the run wrote them down, if they are those of its network."""
    found = run["architecture"].get("chosen")
    if isinstance(found, dict) and found.get("text") == run.network:
        return tuple(map(str, found.get("options", ())))
    return ()
