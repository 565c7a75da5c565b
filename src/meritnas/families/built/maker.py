"""Who makes a user's own networks: a build function, or a ready module with choices inside."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from meritnas.devices.placement import placed
from meritnas.errors import SpaceError, told
from meritnas.families.built.plan import Plan
from meritnas.families.built.reads import Reads, around, told_to_build
from meritnas.nn.choice import ChildPick, OneOf, Pick, SupernetPick, decisions_in, resolved
from meritnas.nn.questions import Asked, Question
from meritnas.nn.values import Decided, Depth, Width
from meritnas.plugins import own_code


@contextmanager
def _decided_told() -> Iterator[None]:
    """Turn what torch says about a number that is decided into what to do about it."""
    try:
        yield
    except TypeError as error:
        kinds: dict[str, type[Decided]] = {"Width": Width, "OneOf": OneOf, "Depth": Depth}
        for name, kind in kinds.items():
            if f"type {name} " in f"{error} " or f"'{name}'" in str(error):
                raise SpaceError(f"torch got a decided number ({error}); {kind.way_out}") from error
        raise


@dataclass(frozen=True)
class Maker:
    """Who makes networks, for which inputs and outputs.

    Attributes:
        given: a build function `(pick, inputs, outputs)`, or a module with choices.
        reads: what networks read.
        outputs: how many numbers they give.
        options: keyword arguments of the function.
        name: of the function, for messages.
    """

    given: Callable[..., Any]
    reads: Reads = field(hash=False)  # it may hold a dict
    outputs: int
    options: Mapping[str, Any] = field(default_factory=dict, hash=False)
    name: str = "the build function"

    @property
    def ready(self) -> bool:
        """Whether networks are parts of a module that has weights already."""
        return isinstance(self.given, nn.Module)

    def network(self, pick: Pick) -> nn.Module:
        """What is made of these answers."""
        with own_code(self.name), _decided_told():
            if isinstance(self.given, nn.Module):
                found: Any = copy.deepcopy(self.given)
                if torch.empty(0).device.type == "meta":  # for a look
                    found = placed(found, "meta")
            else:
                inputs = told_to_build(self.reads)
                found = self.given(pick, inputs, self.outputs, **self.options)
        if not isinstance(found, nn.Module):
            raise SpaceError(f"{self.name} must return a torch module, got {told(found)}")
        return around(self.reads, resolved(found, pick))

    def body(
        self, kept: Mapping[str, Sequence[str]] | None = None
    ) -> tuple[nn.Module, SupernetPick]:
        """The network with all options, or with those of each decision that are kept."""
        pick = SupernetPick(kept)
        with pick.building():
            body = self.network(pick)
        return body, pick

    def plan(self) -> Plan:
        """The decisions."""
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            body, pick = self.body()
        if not pick.asked.questions:
            raise SpaceError(
                f"{self.name} asks nothing, so there is nothing to search; let it decide something "
                'with pick.one, pick.width or pick.depth, or put mn.Choice("name", ...) into it'
            )
        self._check_used(pick.asked, decisions_in(body))
        return Plan.of(pick.asked)

    def _check_used(self, asked: Asked, used: Collection[str]) -> None:
        """Complain about a decision that is asked and makes no difference."""
        for name, question in asked.questions.items():
            if name not in used and len(question.options) > 1:
                raise SpaceError(
                    f"{self.name} asks '{name}' ({', '.join(question.options)}), and nothing in "
                    "the network depends on the answer, so that every network would be counted "
                    f"{len(question.options)} times; give what is picked to a layer of "
                    "meritnas.nn, call it, or ask only where it is used"
                )

    def child(self, picks: Mapping[str, int], questions: Mapping[str, Question]) -> nn.Module:
        """The network of one architecture, and nothing else."""
        return self.network(ChildPick(picks, questions))

    def asked(self, picks: Mapping[str, int], questions: Mapping[str, Question]) -> list[str]:
        """What the network of one architecture asks, in order."""
        pick = ChildPick(picks, questions)
        self.network(pick)
        return pick.asked
