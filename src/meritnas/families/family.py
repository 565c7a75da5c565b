"""What users call a space: decisions, costs, supernet, children, and how they are shown."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.feasible import FeasibleSet
from meritnas.cost.maximum import Maximum
from meritnas.cost.terms import CostTerms, Limit
from meritnas.devices.placement import seed_other_devices
from meritnas.errors import SpaceError, UsageError
from meritnas.families.drawing import Drawing
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.latency import Device
from meritnas.settings.limits import Limits
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture
from meritnas.space.space import Space
from meritnas.supernet.supernet import Supernet

Kept = TypeVar("Kept")


@dataclass(frozen=True)
class Absence:
    """What takes the place of a part that is taken away from a network.

    Attributes:
        option: of the part's decision, by number; None for nothing at all.
        words: the same for people.
    """

    option: int | None
    words: str


class Running(NamedTuple):
    """How a network is run.

    Attributes:
        run: the network, or what of it answers.
        inputs: what it reads, of one row, image or word.
    """

    run: Callable[..., Any]
    inputs: tuple[Tensor, ...]


class Family(ABC):
    """What users call a space: its decisions, costs, supernet and children together.

    A new kind of network gives the five abstract members; the rest follows from them.
    """

    @property
    @abstractmethod
    def space(self) -> Space:
        """The decisions."""

    @property
    @abstractmethod
    def costs(self) -> Mapping[str, CostTerms]:
        """What architectures cost, by the cost's name."""

    counted: ClassVar[bool] = True
    """Whether maxima are counted, and not found by running a user's own networks."""

    @property
    def maxima(self) -> Mapping[str, Maximum]:
        """Costs that are the largest of many, by name, made when they are asked for."""
        return {}

    @abstractmethod
    def supernet(self, seed: int = 0) -> Supernet:
        """Fresh shared weights of all options."""

    @abstractmethod
    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The stand-alone network of one architecture with fresh weights: a plain torch Module.

        Dropout changes how it trains, not what it holds: its weights have the same names. An
        auxiliary head is a second classifier that helps to train deep networks of cells; its
        weights are named `auxiliary.` and are no part of the network's costs.
        """

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """A child as it answers for one row, image or word, with zeros to read."""
        del module, device
        raise SpaceError(f"nothing is known about what networks of a {type(self).__name__} read")

    def answering(self, answers: str) -> Self:
        """The same networks for outputs that are `classes`, `labels` or `numbers`."""
        del answers
        return self

    @property
    def witnesses(self) -> Mapping[str, float]:
        """How much each witness of candidates counts, by its name (see `meritnas.witness`).

        Mean over 50 searches on tables (`digits` within 3,000 and 8,000 parameters, four
        strategies; `wine` within 700, three; five seeds each, 30 epochs) of the smallest validation
        loss of the first three networks, and of the first alone: .1046 and .1519 in the strategies'
        own order; .0996 and .1241 by one-shot loss; with sizes weighted .25, .5, 1, 2: .1001 and
        .1174, .1004 and .1183, .1007 and .1182, .1031 and .1193.
        """
        return {"one-shot": 1.0, "size": 0.25}

    def trunk(self, module: nn.Module) -> tuple[nn.Module, nn.Module] | None:
        """The parts of a child whose outputs are where its trunk begins and ends.

        Between the two, gradients should neither grow nor vanish. None where there is no such way.
        """
        del module
        return None

    @property
    def asked(self) -> Family:
        """The family as it was asked for, without another that races beside it."""
        return self

    def of(self, architecture: Architecture | str) -> Family:
        """The family that an architecture is of: the one that was asked for, or another beside."""
        del architecture
        return self

    @property
    def identity(self) -> Mapping[str, Any]:
        """What a run keeps to notice that its networks are made by other code; empty for nothing.

        Plain data, by what it is called in messages.
        """
        return {}

    @property
    def drops(self) -> bool:
        """Whether some of its networks train differently with another dropout."""
        return True

    has_plain: ClassVar[bool] = False
    """Whether some of its networks are plain ones."""

    explained: ClassVar[str] = "--no-plain leaves such networks out"
    """What a user can do to learn about a network of it that raced beside what was searched."""

    @property
    def plain_limitable(self) -> Collection[str]:
        """The costs that are known of its plain networks."""
        return (*self.costs, *self.maxima)

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """Networks that one would build without a search, as large as these limits allow.

        Args:
            limits: by the cost's name.
        """
        del limits
        return ()

    @abstractmethod
    def restrict(self, kept: Sequence[np.ndarray]) -> Self:
        """The family that has only these option indices of each decision."""

    @property
    def useful(self) -> Self:
        """The family without architectures that cannot learn anything: what is searched."""
        return self

    @property
    def nodes(self) -> tuple[tuple[int, ...], ...]:
        """Groups of decisions that are edges into the same node; empty where there are no cells."""
        return ()

    @property
    def tables(self) -> tuple[tuple[int, ...], ...]:
        """Groups of decisions that make up one searched cell; one of all where there are none."""
        return (tuple(range(len(self.space.decisions))),)

    @property
    def spec(self) -> SpaceSpec:
        """The spec that builds an equal family for the same inputs and outputs."""
        raise UsageError(
            f"a {type(self).__name__} is a space of your own; give its function or class by name, "
            "module:function, so that a run finds it again"
        )

    @property
    def parts(self) -> tuple[int, ...]:
        """The decisions whose answers are parts of a network, which can be taken away from it."""
        return tuple(range(len(self.space.decisions)))

    @property
    def absence(self) -> Absence:
        """What takes the place of a part that is taken away from a network."""
        return Absence(None, "nothing")

    @property
    def latency(self) -> CostTerms | None:
        """How long networks take, where that was measured."""
        return None

    def timed(self, device: Device = "cpu") -> Self:
        """The same family with a latency for every network, measured here and now."""
        del device
        raise SpaceError(f"no cost 'latency' here; there are {', '.join(self.costs)}")

    def with_latency(self, latency: CostTerms) -> Self:
        """The same family with latencies measured earlier."""
        del latency
        raise SpaceError(f"no cost 'latency' here; there are {', '.join(self.costs)}")

    @property
    def plain_latency(self) -> CostTerms | None:
        """How long plain networks of another family take, where that was measured."""
        return None

    def with_plain_latency(self, latency: CostTerms) -> Self:
        """The same family with such latencies measured earlier."""
        del latency
        return self

    def lines(self, architecture: Architecture | str) -> list[str]:
        """An architecture's text, a node of its cells a line; joined they are the text again."""
        return [self.as_architecture(architecture).text]

    def short(self, architecture: Architecture | str) -> str:
        """An architecture in a few words, for a line that has to say more than that."""
        return self.as_architecture(architecture).text

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """The cells of an architecture as graphs; none where nothing is known about that."""
        del architecture
        return ()

    def layers(self, architecture: Architecture | str) -> tuple[tuple[str, int], ...]:
        """(name, width) of the layers of a network that is a row of them; none for others."""
        del architecture
        return ()

    def source(self, architecture: Architecture | str) -> str:
        """A Python file with the network as a torch Module that needs no MeritNAS."""
        del architecture
        raise UsageError(
            "networks of a space of your own cannot be written as Python, because their source is "
            "yours; use --to onnx or --to torch-export"
        )

    def parse(self, text: str) -> Architecture:
        """The architecture that people write as `text`."""
        return self.space.parse(text)

    def sees(self, architecture: Architecture | str) -> bool:
        """Whether what a network says depends on what it reads: some cells pass nothing on."""
        del architecture
        return True

    def pruned(self, architecture: Architecture | str) -> Architecture:
        """The same network, written without parts that have no effect and are not built."""
        return self.as_architecture(architecture)

    def own_weights(
        self, architecture: Architecture | str, weights: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The weights of a child, from those that a child of an earlier version had."""
        del architecture
        return dict(weights)

    def random(self, seed: int | np.random.Generator) -> Architecture:
        """One architecture, every one equally likely."""
        return self.space.random(seed)

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture costs."""
        picks = self.space.picks(self.as_architecture(architecture))
        return int(self.known_cost(name).of(np.array([picks]))[0])

    def known_cost(self, name: str) -> CostTerms | Maximum:
        """A cost by its name; an error names those that are known."""
        if name in self.costs:
            return self.costs[name]
        if name in self.maxima:
            return self.maxima[name]
        known = ", ".join((*self.costs, *self.maxima))
        raise SpaceError(f"no cost '{name}' here; there are {known}")

    def all_costs(
        self, architecture: Architecture | str, limited: Collection[str] = ()
    ) -> dict[str, int]:
        """What an architecture costs, by the cost's name.

        Args:
            architecture: whose.
            limited: the costs that have a limit, which are told in any case.
        """
        own = self.of(architecture)
        told = [name for name in own.costs if name != INT8_SIZE or name in limited]
        told += [name for name in own.maxima if own.counted or name in limited]
        return {name: own.cost(architecture, name) for name in told}

    def largest(self, name: str = "params") -> int:
        """No architecture costs more than this; 0 where nothing is known about that."""
        return self.costs[name].most if name in self.costs else 0

    def feasible(self, **limits: Any) -> FeasibleSet:
        """The architectures within these limits; without any, all of them.

        Args:
            limits: `max_params`, `max_flops`, `max_size_kb`, ..., as `Limits` has them.
        """
        return self.within(Limits(**limits).by_cost())

    def fits(self, architecture: Architecture | str, limits: Mapping[str, int]) -> bool:
        """Whether an architecture costs at most these limits, by the cost's name."""
        return all(self.cost(architecture, name) <= most for name, most in limits.items())

    @property
    def limitable(self) -> tuple[str, ...]:
        """The costs that can be limited, those that are to be measured first included."""
        return (*self.costs, *self.maxima)

    def within(self, limits: Mapping[str, int]) -> FeasibleSet:
        """The architectures whose costs are at most these limits, by the cost's name."""
        for name, most in limits.items():
            self.known_cost(name)
            if not math.isfinite(most) or most != int(most):
                raise SpaceError(f"the limit on {name} must be a whole number, got {most}")
        found = [Limit(name, int(most)) for name, most in limits.items()]
        return FeasibleSet(self.space, {name: self.known_cost(name) for name in limits}, found)

    def as_architecture(self, architecture: Architecture | str) -> Architecture:
        """An architecture of this space, from one or from its text."""
        return self.parse(architecture) if isinstance(architecture, str) else architecture


def keep(
    rows: Sequence[Sequence[Kept]], indices: Sequence[np.ndarray]
) -> tuple[tuple[Kept, ...], ...]:
    """Of each row the entries at these indices."""
    return tuple(
        tuple(row[int(i)] for i in found) for row, found in zip(rows, indices, strict=True)
    )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Draw initial weights from this seed and leave torch's global generator as it was."""
    with torch.random.fork_rng(devices=[]):
        # torch.manual_seed looks at its callers, which takes longer than a small pass.
        torch.default_generator.manual_seed(seed)
        seed_other_devices(seed)
        yield
