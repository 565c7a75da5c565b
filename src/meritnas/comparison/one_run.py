"""A run of a comparison as a task that anybody can do who sees its folder."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from meritnas.api import resume, search, search_request
from meritnas.data.files.plain_file import given_path
from meritnas.errors import StoreError
from meritnas.result import is_complete
from meritnas.settings.request import Request, RunOptions
from meritnas.settings.spec import StrategySpec
from meritnas.store.run_folder import has_content
from meritnas.store.run_store import RunStore
from meritnas.tasks.task import Tell

Listener = Callable[[dict[str, Any]], None]

PLAN = "compare.json"
"""In the folder of a comparison: what it is about."""

_RESULT = ("architecture", "params", "seconds", "seed", "strategy", "test", "test_best")
_TOLD = (*_RESULT, "valid_loss")
"""What is needed of result.json, and what more is told where it is there: early runs lack it."""

_SECONDS_BETWEEN = 0.2
"""That a worker says nothing after it has said how far it is."""


class Asked(Protocol):
    """What all runs of a comparison have in common but for the data."""

    def search(self, common: Common, one: OneRun, listen: Listener) -> dict[str, Any]:
        """The summary of a new run."""
        ...

    def by(self, threads: int) -> Asked:
        """The same for a worker: with so many threads, and by itself."""
        ...


@dataclass(frozen=True)
class ByArguments:
    """Runs as `meritnas.search` is called.

    Attributes:
        same: its arguments.
    """

    same: Mapping[str, Any]

    def search(self, common: Common, one: OneRun, listen: Listener) -> dict[str, Any]:
        """The summary of a new run."""
        own: dict[str, Any] = {"strategy": one.spec, "seed": one.seed, "out": one.folder}
        return search(common.data, common.target, **own, listen=listen, **self.same).summary

    def by(self, threads: int) -> ByArguments:
        """The same for a worker."""
        run = self.same.get("run") or RunOptions()
        return ByArguments(
            {**self.same, "run": RunOptions(run.device, threads, latency_table=run.latency_table)}
        )


@dataclass(frozen=True)
class ByRequest:
    """Runs by what a request asks for.

    Attributes:
        request: all but the strategy and the seed.
    """

    request: Request

    def search(self, common: Common, one: OneRun, listen: Listener) -> dict[str, Any]:
        """The summary of a new run."""
        request = replace(self.request, strategy=one.spec, seed=one.seed)
        given = common.data, common.target, request, one.folder, listen
        return search_request(*given).summary

    def by(self, threads: int) -> ByRequest:
        """The same for a worker."""
        own = self.request.run
        run = RunOptions(own.device, threads, latency_table=own.latency_table)
        return ByRequest(replace(self.request, run=run))


@dataclass(frozen=True)
class Common:
    """What all runs of a comparison share.

    Attributes:
        data: as it was given.
        target: the column to predict.
        asked: all else but for strategy and seed.
        named: what of a user's own was named, so that runs may have it imported.
        in_memory: whether a run that goes on must be given the data again.
    """

    data: Any
    target: str | None
    asked: Asked
    named: frozenset[Any]
    in_memory: bool

    def by(self, threads: int) -> Common:
        """The same for a worker, which may be in another folder."""
        path = not self.in_memory and given_path(self.data).exists()
        data = str(given_path(self.data).absolute()) if path else self.data
        return replace(self, data=data, asked=self.asked.by(threads))


@dataclass(frozen=True)
class OneRun:
    """A strategy's run with a seed.

    Attributes:
        label: the strategy with its options.
        spec: the same.
        seed: of the run.
        folder: the run's.
        plan: what is in the comparison's folder, as bytes; whoever does it must see the same.
    """

    label: str
    spec: StrategySpec
    seed: int
    folder: Path
    plan: bytes = field(repr=False)

    @property
    def name(self) -> str:
        """What it is, for messages."""
        return f"the run of {self.label} with seed {self.seed}"

    def known(self) -> dict[str, Any] | None:
        """What result.json says, where the run has ended."""
        if not (self.folder.is_dir() and has_content(self.folder)):
            return None
        store = RunStore.open(self.folder)
        return store.read_json("result.json", *_RESULT) if is_complete(store) else None

    def do(self, common: Common, listen: Listener) -> dict[str, Any]:
        """What result.json says at the end; a run that was begun goes on."""
        if self.folder.is_dir() and has_content(self.folder):
            memory = common.data if common.in_memory else None
            named = common.named | self.spec.own_names
            return resume(self.folder, memory, listen, named).summary
        return common.asked.search(common, self, listen)

    def __call__(self, material: Common, tell: Tell) -> dict[str, Any]:
        """Do it as a worker; `tell` is told what a listener hears, but not too often."""
        place = self.folder.parent / PLAN
        if not place.is_file() or place.read_bytes() != self.plan:
            raise StoreError(
                f"a worker does not see the folder {self.folder.parent}; give an --out that all "
                "machines share, or compare on this one"
            )
        found = self.do(material, _seldom(tell))
        return {name: found[name] for name in _TOLD if name in found}


def _seldom(tell: Tell) -> Listener:
    """A listener that passes on what is said, steps only now and then and at the end of a stage."""
    last = [-_SECONDS_BETWEEN]

    def hear(event: dict[str, Any]) -> None:
        if "steps" in event and event["step"] < event["steps"]:
            now = time.monotonic()
            if now - last[0] < _SECONDS_BETWEEN:
                return
            last[0] = now
        tell(event)

    return hear
