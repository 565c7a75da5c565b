"""A user's own networks as a family: what a build function makes, or a module with choices."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.maximum import LargestSum, Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.devices.placement import on_cpu
from meritnas.errors import SpaceError, UsageError, told
from meritnas.families.built.learning import Learner, factors
from meritnas.families.built.maker import Maker
from meritnas.families.built.pieces import Observer, Piece
from meritnas.families.built.plan import Plan, picks_by_name
from meritnas.families.built.reads import answer_shape, as_reads, example
from meritnas.families.built.steps import steps_of, timed_parts
from meritnas.families.built.supernet import BuiltSupernet
from meritnas.families.built.traced import drawing_of, source_of
from meritnas.families.drawing import Drawing
from meritnas.families.family import Absence, Running, keep, seeded
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.live_memory import PEAK_UNIT
from meritnas.families.own import own_space
from meritnas.families.stored_size import file_bytes
from meritnas.families.timed import TimedFamily
from meritnas.nn.choice import SupernetPick
from meritnas.nn.words import Words
from meritnas.plugins import own_code
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture
from meritnas.space.space import Space

_AT_HAND = ("whole", "learner")
"""What is found out anew where it is asked for."""

Found = TypeVar("Found", bound=Hashable)

_KEPT = 4
_CHECKED = 16
"""Random networks whose weights must be those that the supernet has for them."""


def space_of(
    build: Callable[..., Any] | nn.Module,
    inputs: Any,
    outputs: int,
    *,
    options: Mapping[str, Any] | None = None,
    spec: SpaceSpec | None = None,
) -> BuiltSpace:
    """The space that a build function, or a module with `mn.Choice` inside, stands for.

    Args:
        build: `build(pick, inputs, outputs)` that returns a torch module, or a ready module.
        inputs: what networks read: a number of columns, a `TableInputs`, a shape without the
            batch, or `mn.Words(count)`.
        outputs: how many numbers they give.
        options: keyword arguments for the function.
        spec: of the function, where a run shall find it again.
    """
    if isinstance(outputs, bool) or not isinstance(outputs, int) or outputs < 1:
        raise SpaceError(f"at least one output is needed, got outputs={outputs}")
    if not callable(build):
        raise SpaceError(
            "a space is made of a build function (pick, inputs, outputs) or of a torch module, "
            f"got {type(build).__name__}"
        )
    name = getattr(build, "__name__", type(build).__name__)
    maker = Maker(build, as_reads(inputs), outputs, dict(options or {}), name)
    _check(maker)
    return _space(maker, spec)


def bundled_space(
    build: Callable[..., nn.Module], inputs: Any, outputs: int, options: Mapping[str, Any]
) -> BuiltSpace:
    """The space of a build function of ours: tests have checked that it keeps its word."""
    return _space(Maker(build, as_reads(inputs), outputs, options, build.__name__))


def _space(maker: Maker, spec: SpaceSpec | None = None) -> BuiltSpace:
    origin = _origin(maker)
    return BuiltSpace(maker, origin.plan.options, origin=origin, known_spec=spec)


def searched_space(make: Any, inputs: Any, outputs: int, spec: SpaceSpec) -> BuiltSpace:
    """The space that a search is about, on data that is encoded like this."""
    reads = Words(inputs) if isinstance(inputs, int) else inputs
    return space_of(make, reads, outputs, options=spec.options(), spec=spec)


@lru_cache(maxsize=_KEPT)
def _origin(maker: Maker) -> Origin:
    """What is known of networks; a search asks for the same ones several times."""
    return Origin(maker, maker.plan())


@lru_cache(maxsize=_KEPT)
def _check(maker: Maker) -> None:
    """Complain once about a user's function that does not keep its word."""
    found = _space(maker)
    found.origin.check(found)


@dataclass(eq=False)
class Origin:
    """What is found out once about networks, whichever of their options are kept.

    Attributes:
        maker: makes them.
        plan: their decisions.
    """

    maker: Maker
    plan: Plan

    def __getstate__(self) -> dict[str, Any]:
        """What another process gets: what was found out, and not how."""
        return {name: value for name, value in vars(self).items() if name not in _AT_HAND}

    @cached_property
    def whole(self) -> tuple[nn.Module, SupernetPick]:
        """The network with all options, for a look."""
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            return self.maker.body()

    @cached_property
    def device(self) -> str:
        """Where networks are run to be counted: `meta`, unless they cannot be made there."""
        try:
            self._run(self.plan.largest, Observer().pieces, "meta")
        except Exception:  # whatever a user's code does on tensors without numbers
            return "cpu"
        return "meta"

    def built(self, picks: Sequence[int], device: str = "meta") -> nn.Module:
        """The network of these picks, for a look; it must ask what the plan says."""
        named = dict(zip(self.plan.by_name, picks, strict=True))
        with torch.device(device), torch.random.fork_rng(devices=[]):
            return self.maker.child(named, self.plan.by_name)

    def check(self, family: BuiltSpace) -> None:
        """Complain about networks that do not fit the data, or are not what the supernet has."""
        rng = np.random.default_rng(0)
        random = [tuple(map(int, rng.integers(self.plan.sizes))) for _ in range(_CHECKED)]
        with torch.device("meta"):
            supernet = family.supernet()
        for picks in map(self.plan.canonical, [self.plan.largest, self.plan.largest, *random]):
            self._check_asked(picks)
            supernet.check(picks, self.built(picks))
        self._check_answer()

    def _check_answer(self) -> None:
        """Complain where a network fails on an example, or gives what is no answer."""
        network = self.built(self.plan.largest, self.device)
        with own_code(self.maker.name), torch.no_grad():
            found = network(example(self.maker.reads, 2, self.device))
        wanted = answer_shape(self.maker.reads, 2, self.maker.outputs)
        if not isinstance(found, Tensor) or tuple(found.shape) != wanted:
            got = told(found)
            if isinstance(found, Tensor):
                got = f"numbers of the shape {tuple(found.shape)}"
            raise SpaceError(
                f"networks of {self.maker.name} must give numbers of the shape {wanted} for two "
                f"rows, got {got}; end with a layer of `outputs` units"
            )

    def _check_asked(self, picks: Sequence[int]) -> None:
        named = dict(zip(self.plan.by_name, picks, strict=True))
        with torch.device("meta"), torch.random.fork_rng(devices=[]):
            asked = set(self.maker.asked(named, self.plan.by_name))
        answers = [q.options[k] for q, k in zip(self.plan.questions, picks, strict=True)]
        for name, wanted in zip(named, self.plan.asked(answers), strict=True):
            if (name in asked) != wanted:
                raise SpaceError(
                    f"decision '{name}' is {'not ' if wanted else ''}asked by the network "
                    f"{'-'.join(answers)}, where all options together say that it is"
                    f"{'' if wanted else ' not'}; what depends on an answer stands in a function: "
                    'pick.one("name", this=lambda: ..., that=lambda: ...)() or mn.Stack'
                )

    def _run(
        self,
        picks: Sequence[int],
        look: Callable[[nn.Module, Tensor], Mapping[str, Found]],
        device: str,
    ) -> Mapping[str, Found]:
        """What is found while the network of these picks runs on an example."""
        network = self.built(picks, device)
        with own_code(self.maker.name):
            return look(network, example(self.maker.reads, 1, device))

    def _learnt(self, look: Callable[[nn.Module, Tensor], Mapping[str, Found]]) -> Learner[Found]:
        """The same of all networks, from a few."""
        device = self.device
        learner = Learner(
            self.plan.sizes, lambda picks: self._run(picks, look, device), list(self.plan.by_name)
        )
        learner.learn()
        return learner

    @cached_property
    def learner(self) -> Learner[Piece]:
        """What every module of every network costs."""
        return self._learnt(Observer().pieces)

    def peaks(self, picks: Sequence[int]) -> Mapping[str, int]:
        """The most bytes that are alive while operations of each module of one network run."""
        return self._run(picks, Observer().peaks, self.device)

    @cached_property
    def peak(self) -> LargestSum:
        """The memory that is needed at once: the most that any module's operations find alive."""
        unit, parts = (PEAK_UNIT, 1000), self._learnt(Observer().peaks).parts()
        alive = [factors(self.plan.sizes, [part], int, 0, *unit) for part in parts]
        return LargestSum(self.plan.sizes, tuple(alive), *unit)

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Exact sums of factors."""
        rest = file_bytes(len(self.plan.questions))

        def terms(cost: Callable[[Piece], int], constant: int, *unit: Any) -> CostTerms:
            return factors(self.plan.sizes, self.learner.parts(), cost, constant, *unit)

        return {
            "params": terms(lambda piece: piece.params, 0, "parameters"),
            "flops": terms(lambda piece: piece.flops, 0, "multiply-adds"),
            "size": terms(lambda piece: piece.stored, rest, "kB as stored", 1000),
            INT8_SIZE: terms(lambda piece: piece.in_int8, header_bytes(), *UNIT),
        }

    def timed(self, device: Device) -> CostTerms:
        """Microseconds: every layer with such settings and inputs, every operation between them."""
        observer = Observer()
        learner = self._learnt(lambda network, row: steps_of(observer.calls(network, row)))
        parts = timed_parts(learner.networks(), lambda picks: self.built(picks, "cpu"))
        spent = microseconds_on(parts, device)
        unit = ("ms a row", 1000)
        return factors(self.plan.sizes, learner.parts(), spent.__getitem__, 0, *unit)


@dataclass(frozen=True)
class BuiltSpace(TimedFamily):
    """The family behind `space_of`; `options` holds the names of every decision's options.

    Costs, all of the child, exact:
        params: sum(p.numel()), embeddings of a table's categories included.
        flops: multiply-adds of all matrix products and convolutions for one row, image or word.
        size: bytes of its safetensors file, with an upper bound for the file's header.
        peak: bytes of activations that one row takes at once (`families.live_memory`).
        latency: microseconds for one row, as the sum over its layers and the operations between
            them, where `timed` measured them.
    """

    maker: Maker
    options: tuple[tuple[str, ...], ...]
    origin: Origin = field(compare=False, repr=False)
    known_spec: SpaceSpec | None = field(default=None, compare=False, repr=False)

    @cached_property
    def space(self) -> Space:
        """The decisions of the build function, in the order in which it asks."""
        return self.origin.plan.space(self.options)

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """What was counted, for the options that are kept."""
        own = {name: terms.restrict(self._kept) for name, terms in self.origin.costs.items()}
        return {**own, **self.timed_costs}

    counted: ClassVar[bool] = False

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=self._peak)

    def _peak(self) -> LargestSum:
        return self.origin.peak.restrict(self._kept)

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture costs; its memory alone does not take knowing that of all others."""
        if name != "peak":
            return super().cost(architecture, name)
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        picks = picks_by_name(self.origin.plan, found.options).values()
        return max(self.origin.peaks(tuple(picks)).values())

    @property
    def _kept(self) -> list[np.ndarray]:
        """For each decision the numbers of the options that there are."""
        rows = zip(self.origin.plan.questions, self.options, strict=True)
        return [np.array([q.options.index(name) for name in names]) for q, names in rows]

    @property
    def builds(self) -> int:
        """How many networks were built to find the costs out."""
        return self.origin.learner.builds

    def timed(self, device: Device = "cpu") -> BuiltSpace:
        """The same space with a latency for every network."""
        whole = self.origin.timed(device)
        return self.with_latency(whole.restrict(self._kept))

    def supernet(self, seed: int = 0) -> BuiltSupernet:
        """The build function's network with all options."""
        names = list(self.origin.plan.by_name)
        with seeded(seed):
            body, pick = self.maker.body(dict(zip(names, self.options, strict=True)))
            return BuiltSupernet(body, pick.switch, names, self._child_of)

    def _child_of(self, picks: Sequence[int]) -> nn.Module:
        return self.child(self.space.architecture(picks))

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """What the build function makes of these answers; `dropout` is that of its dropout layers.

        Without any dropout, their own rates hold.
        """
        if auxiliary:
            raise UsageError(
                "networks of a space of your own have no auxiliary head; set auxiliary to 0"
            )
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        picks = picks_by_name(self.origin.plan, found.options)
        with seeded(seed):
            network = self.maker.child(picks, self.origin.plan.by_name)
        for module in network.modules() if dropout else ():
            if isinstance(module, nn.modules.dropout._DropoutNd):
                module.p = dropout
        return network

    def running(self, module: nn.Module, device: str = "cpu") -> Running:
        """What the dry runs read: one row, image or text."""
        return Running(module, (example(self.maker.reads, 1, device),))

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """Layers in the order in which they run, where the code can be traced."""
        return drawing_of(self.child(architecture))

    def source(self, architecture: Architecture | str) -> str:
        """The layers and the operations between them, where the code can be traced."""
        found = self.as_architecture(architecture)
        return source_of(self.child(found), found.text, f"Made by {self.maker.name}.")

    @property
    def identity(self) -> Mapping[str, Any]:
        """The decisions, and of a ready module a digest of its weights."""
        questions = self.origin.plan.questions
        found: dict[str, Any] = {"decisions": {q.name: list(q.options) for q in questions}}
        if isinstance(self.maker.given, nn.Module):
            digest = hashlib.sha256()
            for name, tensor in self.maker.given.state_dict().items():
                digest.update(f"{name} {tuple(tensor.shape)} ".encode())
                digest.update(on_cpu(tensor.detach()).contiguous().numpy().tobytes())
            found["weights"] = digest.hexdigest()
        return found

    @property
    def drops(self) -> bool:
        """Whether there are dropout layers, whose rate can be another one."""
        body, _ = self.origin.whole
        return any(isinstance(module, nn.modules.dropout._DropoutNd) for module in body.modules())

    def restrict(self, kept: Sequence[np.ndarray]) -> BuiltSpace:
        """The same networks with fewer options to choose from."""
        latency = self.restricted_latency(kept)
        return replace(self, options=keep(self.options, kept), latency=latency)

    @property
    def spec(self) -> SpaceSpec:
        """That of the function or module that makes the networks."""
        if self.known_spec is not None:
            return self.known_spec
        return own_space(self.maker.given)(**self.maker.options)

    @property
    def absence(self) -> Absence:
        """What is taken away is answered by the first option: the narrowest, the shallowest."""
        return Absence(0, "the first option")
