"""Networks for tables with more to decide than widths, as a family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from torch import nn

from meritnas.cost.maximum import Maximum, WhenAsked
from meritnas.cost.terms import CostTerms
from meritnas.data.columns.inputs import TableInputs
from meritnas.families.built.family import BuiltSpace, space_of
from meritnas.families.built.reads import Columns
from meritnas.families.drawing import Drawing
from meritnas.families.family import Family
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.latency import Device
from meritnas.families.rich_tabular.child import RichNetwork
from meritnas.families.rich_tabular.costs import (
    flops_cost,
    int8_size_cost,
    params_cost,
    size_cost,
)
from meritnas.families.rich_tabular.entries import PLAIN, Entry
from meritnas.families.rich_tabular.layout import Layout, size_of
from meritnas.families.rich_tabular.network import (
    LAYER,
    MEMBERS,
    NO,
    SHORTCUT,
    WIDTH,
    YES,
    rich_network,
)
from meritnas.families.rich_tabular.peak import peak_cost
from meritnas.families.rich_tabular.timing import latency_cost
from meritnas.families.source import network_source
from meritnas.families.tabular.dropout import PooledDropout
from meritnas.settings.spec import SpaceSpec
from meritnas.space.architecture import Architecture


def rich_tabular_space(
    inputs: TableInputs,
    outputs: int,
    entries: Sequence[Entry],
    widths: Sequence[Sequence[int]],
    members: Sequence[int],
    shortcuts: bool,
    spec: SpaceSpec | None = None,
) -> RichTabularSpace:
    """Networks for tables: how columns enter, which layers and members there are.

    Args:
        inputs: the columns.
        outputs: how many numbers come out.
        entries: the decisions about columns.
        widths: to choose from, of each layer that there may be.
        members: how many networks may share weights.
        shortcuts: whether layers after the first may have shortcuts.
        spec: that leads here.
    """
    options = {
        "entries": tuple(entries),
        "widths": tuple(map(tuple, widths)),
        "members": tuple(members),
        "shortcuts": shortcuts,
    }
    found = space_of(rich_network, Columns(inputs), outputs, options=options)
    return RichTabularSpace(found.maker, found.options, origin=found.origin, known_spec=spec)


@dataclass(frozen=True)
class RichTabularSpace(BuiltSpace):
    """The family behind `rich_tabular_space`: a build function whose costs are counted.

    Costs, all of the child, exact:
        params: sum(p.numel()), embeddings and frequencies included.
        flops: multiply-adds of the linear layers for one row.
        size: bytes of its safetensors file, with an upper bound for the file's header.
        size-int8: the same of its file in int8 (`families.int8_weights`).
        peak: bytes of activations that one row takes at once (`families.live_memory`).
        latency: microseconds for one row, as the sum over its parts, where `timed` measured them.
    """

    counted: ClassVar[bool] = True
    has_plain: ClassVar[bool] = True

    @cached_property
    def layout(self) -> Layout:
        """All decisions, with all options."""
        maker = self.maker
        assert isinstance(maker.reads, Columns)
        names = tuple(self.origin.plan.by_name)
        return Layout(maker.reads.inputs, maker.outputs, **maker.options, names=names)

    @cached_property
    def costs(self) -> Mapping[str, CostTerms]:
        """Counted, for the options that are kept."""
        counted = {"params": params_cost, "flops": flops_cost, "size": size_cost}
        counted[INT8_SIZE] = int8_size_cost
        own = {name: count(self.layout).restrict(self._kept) for name, count in counted.items()}
        return {**own, **self.timed_costs}

    @cached_property
    def maxima(self) -> Mapping[str, Maximum]:
        """The memory that is needed at once."""
        return WhenAsked(peak=lambda: peak_cost(self.layout).restrict(self._kept))

    def cost(self, architecture: Architecture | str, name: str = "params") -> int:
        """What an architecture costs."""
        return Family.cost(self, architecture, name)

    def timed(self, device: Device = "cpu") -> RichTabularSpace:
        """The same space with a latency for every network, measured here and now."""
        return self.with_latency(latency_cost(self.layout, device).restrict(self._kept))

    def plain(self, limits: Mapping[str, int]) -> tuple[Architecture, ...]:
        """The largest network whose layers are all equally wide, columns entering as usual."""
        widths = self.layout.widths
        for width in sorted(set.intersection(*map(set, widths)), reverse=True):
            one = self._plain(width)
            if one is not None and self.fits(one, limits):
                return (one,)
        return ()

    def _plain(self, width: int) -> Architecture | None:
        layout = self.layout
        wanted = {entry.name: entry.usual for entry in layout.entries}
        wanted |= {f"{WIDTH}{k}": str(width) for k in (1, *layout.layers)}
        wanted |= {f"{LAYER}{k}": YES for k in layout.layers}
        wanted |= {f"{SHORTCUT}{k}": NO for k in layout.layers}
        wanted[MEMBERS] = str(layout.members[0])
        names = [wanted[name] for name in layout.names]
        if any(name not in own for name, own in zip(names, self.options, strict=True)):
            return None
        picks = [own.index(name) for name, own in zip(names, self.options, strict=True)]
        return self.space.architecture(picks)

    def child(
        self,
        architecture: Architecture | str,
        seed: int = 0,
        dropout: float = 0.0,
        auxiliary: bool = False,
    ) -> nn.Module:
        """The network of one architecture; `dropout` leaves out hidden units while training."""
        network = super().child(architecture, seed, auxiliary=auxiliary)
        if dropout:
            for module in list(network.modules()):
                if isinstance(getattr(module, "dropout", None), nn.Dropout):
                    module.dropout = PooledDropout(dropout)
        return network

    def _answers(self, architecture: Architecture | str) -> dict[str, Any]:
        """What the options of an architecture stand for, by decision; none that is not asked."""
        found = self.as_architecture(architecture)
        self.space.picks(found)  # complains about what is no architecture of this space
        rows = zip(self.origin.plan.questions, found.options, strict=True)
        asked = self.origin.plan.asked(found.options)
        return {
            q.name: self.layout.values[q.name][q.options.index(name)]
            for (q, name), there in zip(rows, asked, strict=True)
            if there
        }

    def short(self, architecture: Architecture | str) -> str:
        """Widths, and what is not as in a plain network: `32-16, 4 members, age periodic4`."""
        answers = self._answers(architecture)
        widths = [answers[f"{WIDTH}{k}"] for k in self._there(answers)]
        words = ["-".join(map(str, widths))]
        joined = [f"{k}" for k in self.layout.layers if answers.get(f"{SHORTCUT}{k}")]
        if joined:
            words.append(f"shortcut at layer {' and '.join(joined)}")
        members = answers.get(MEMBERS, 1)
        if members > 1:
            words.append(f"{members} members")
        for entry in self.layout.entries:
            way = answers[entry.name]
            if way.option not in (PLAIN, entry.usual):
                words.append(f"{entry.name.removeprefix('input ')} {way.option}")
        return ", ".join(words)

    def _there(self, answers: Mapping[str, Any]) -> list[int]:
        """The numbers of the layers that there are."""
        return [1, *(k for k in self.layout.layers if answers.get(f"{LAYER}{k}"))]

    def drawings(self, architecture: Architecture | str) -> tuple[Drawing, ...]:
        """None: networks are rows of layers."""
        del architecture
        return ()

    def layers(self, architecture: Architecture | str) -> tuple[tuple[str, int], ...]:
        """What the first layer reads, the hidden layers, what comes out: (name, width) of each."""
        answers, layout = self._answers(architecture), self.layout
        ways = [answers[entry.name] for entry in layout.entries]
        read = layout.inputs.numbers + sum(size_of(way).features for way in ways)
        hidden = ((f"layer {k}", answers[f"{WIDTH}{k}"]) for k in self._there(answers))
        return (("inputs", read), *hidden, ("outputs", layout.outputs))

    def source(self, architecture: Architecture | str) -> str:
        """The network from plain numbers, in torch's own operations."""
        answers, layout = self._answers(architecture), self.layout
        there = self._there(answers)
        ways = {str(k): answers[entry.name] for k, entry in enumerate(layout.entries)}
        about = f"Encoded rows [n, {layout.columns}] -> scores [n, {layout.outputs}]."
        told = {
            "numbers": layout.inputs.numbers,
            "parts": {k: (way.kind, dict(way.told)) for k, way in ways.items() if way.kind},
            "widths": [answers[f"{WIDTH}{k}"] for k in there],
            "shortcuts": [answers.get(f"{SHORTCUT}{k}", False) for k in there[1:]],
            "members": answers.get(MEMBERS, layout.members[0]),
            "outputs": layout.outputs,
        }
        text = self.as_architecture(architecture).text
        return network_source(RichNetwork, told, text, about)
