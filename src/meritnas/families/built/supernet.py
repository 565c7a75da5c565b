"""The shared weights of a user's own networks: the build function's network with all options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import zip_longest
from typing import Any

from torch import Tensor, nn
from torch.func import functional_call

from meritnas.errors import SpaceError
from meritnas.nn.gated import GatedChoice, GatedStack
from meritnas.nn.sliced import Sliced, SlicedBatchNorm
from meritnas.nn.switch import Switch
from meritnas.supernet.gates import Gate, Gates, one_path
from meritnas.supernet.supernet import leading_block

Extents = dict[str, tuple[int, ...]]

_MOST_KNOWN = 4096
_BODY = "body."


class BuiltSupernet(nn.Module):
    """The shared weights of a `BuiltSpace`.

    Layers with decided sizes use the leading units of the widest; each option of a choice has
    weights of its own. A mixture weights every unit of a layer by the widths that have it, norms
    over each width alone; of choices it is the weighted sum of what options give, of depths the
    weighted sum of what the blocks give that could be the last. Norms over a batch take its own
    statistics, and nothing is dropped out.

    Args:
        body: the network with all options.
        switch: what its layers look at.
        order: the names of the decisions, as gates come.
        child: picks -> a fresh child.
    """

    def __init__(
        self,
        body: nn.Module,
        switch: Switch,
        order: Sequence[str],
        child: Callable[[Sequence[int]], nn.Module],
    ) -> None:
        super().__init__()
        self.body = shared(body, switch)
        self._switch, self._child = switch, child
        switch.order = tuple(order)
        sliced: set[int] = set()
        for place, module in self.named_modules():
            if isinstance(module, Sliced):
                module.stand_at(place)
                sliced |= {id(param) for param in module._parameters.values()}
        self._names = {id(param): name for name, param in self.named_parameters()}
        self._holding = {module for module in self.modules() if _holds(module)}
        self._plain = [n for n, param in self.named_parameters() if id(param) not in sliced]
        self._known: dict[tuple[tuple[int, ...], ...], Extents] = {}

    def forward(
        self, inputs: Tensor, gates: Gates, weights: Mapping[str, Tensor] | None = None
    ) -> Tensor:
        """Outputs of the network that the gates select or mix."""
        found: Tensor = self._run(gates, weights, inputs)
        return found

    def advance(
        self,
        inputs: Tensor,
        gates: Gates,
        weights: Mapping[str, Tensor] | None = None,
        state: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Of a network that reads words: (outputs, the state after the last word)."""
        found: tuple[Tensor, Tensor] = self._run(gates, weights, inputs, state, advance=True)
        return found

    def _run(
        self,
        gates: Gates,
        weights: Mapping[str, Tensor] | None,
        *inputs: Tensor | None,
        advance: bool = False,
    ) -> Any:
        held = {} if weights is None else weights
        self._switch.turn(gates, held)
        try:
            plain = {n.removeprefix(_BODY): held[n] for n in self._plain if n in held}
            if plain:
                body = _Advancing(self.body) if advance else self.body
                plain = {f"body.{n}": t for n, t in plain.items()} if advance else plain
                return functional_call(body, plain, inputs, tie_weights=False)
            run: Any = self.body.advance if advance else self.body
            return run(*inputs)
        finally:
            self._switch.held = {}

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Outputs of several architectures on one batch."""
        return [self(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> Extents:
        """The active options and blocks, layers as far as the active widths span."""
        key = tuple(gate.active for gate in gates)
        if key not in self._known:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            named = dict(zip(self._switch.order, gates, strict=True))
            self._known[key] = self._blocks(named)
        return dict(self._known[key])

    def _blocks(self, gates: Mapping[str, Gate]) -> Extents:
        units = self._switch.active_units(gates)
        found: Extents = {}
        for _, module in self._active(self.body, "", gates):
            cut = module.extents(units) if isinstance(module, Sliced) else {}
            for own, param in module._parameters.items():
                if param is None:
                    continue
                name, extents = self._names[id(param)], cut.get(own, tuple(param.shape))
                if 0 in extents:  # no number of it is there
                    continue
                before = found.get(name, extents)
                found[name] = tuple(map(max, before, extents))
        return found

    def _active(
        self, module: nn.Module, place: str, gates: Mapping[str, Gate]
    ) -> Iterator[tuple[str, nn.Module]]:
        """All modules with weights that run, each with the name that it has in the child."""
        if isinstance(module, GatedChoice):
            for k in gates[module.decision].active:
                yield from self._active(module.options[str(k)], place, gates)
            return
        yield place, module
        last = None
        if isinstance(module, GatedStack):
            last = module.reached(gates[module.decision].active)
        for name, child in list(module._modules.items())[:last]:
            if child is not None and child in self._holding:
                yield from self._active(child, f"{place}.{name}" if place else name, gates)

    def remembering(self) -> AbstractContextManager[None]:
        """Nothing is kept."""
        return nullcontext()

    def whole(self) -> Gates | None:
        """The options with the most weights, where these have all; None where others have some."""
        return self._whole

    @cached_property
    def _whole(self) -> Gates | None:
        found = one_path(self._largest())
        shapes = {name: tuple(param.shape) for name, param in self.named_parameters()}
        return found if self.blocks(found) == shapes else None

    def _largest(self) -> list[int]:
        """The widest, the deepest, the option of a choice with the most weights."""
        weights: dict[str, list[int]] = {name: [0] for name in self._switch.order}
        for module in self.modules():
            if isinstance(module, GatedChoice):
                own = [sum(p.numel() for p in o.parameters()) for o in module.options.values()]
                before = weights[module.decision]
                weights[module.decision] = [x + y for x, y in zip_longest(own, before, fillvalue=0)]
            elif isinstance(module, GatedStack):
                weights[module.decision] = list(module.depths)
        weights |= {name: list(widths) for name, widths in self._switch.widths.items()}
        return [max(range(len(row)), key=row.__getitem__) for row in weights.values()]

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """One architecture's weights by the names of its child; buffers are as in a fresh one."""
        found = dict(self._child(picks).state_dict())
        for name, own in self.cut(picks).items():
            if name not in found or found[name].shape != own.shape:
                raise SpaceError(_unlike(name, found.get(name), own))
            found[name] = own.detach().clone()
        return found

    def cut(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """Views of one architecture's weights by the names of its child."""
        gates = dict(zip(self._switch.order, one_path(picks), strict=True))
        units = self._switch.active_units(gates)
        found = {}
        for place, module in self._active(self.body, "", gates):
            cut = module.extents(units) if isinstance(module, Sliced) else {}
            for own, param in module._parameters.items():
                if param is not None and 0 not in cut.get(own, ()):
                    block = leading_block(param, cut[own]) if own in cut else param
                    found[f"{place}.{own}" if place else own] = block
        return found

    def check(self, picks: Sequence[int], child: nn.Module) -> None:
        """Complain where a child's weights are not those that the supernet has for it."""
        shapes = dict(child.named_parameters(remove_duplicate=False))
        own = self.cut(picks)
        gates = dict(zip(self._switch.order, one_path(picks), strict=True))
        active = self._active(self.body, "", gates)
        alone = {f"{place}.{name}" for place, module in active for name in _alone(module)}
        for name in dict.fromkeys([*shapes, *own]):
            if name in alone:
                continue
            there, here = shapes.get(name), own.get(name)
            if there is None or here is None or there.shape != here.shape:
                raise SpaceError(_unlike(name, there, here))


class _Advancing(nn.Module):
    """A network that reads words, called by its other method."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, inputs: Tensor, state: Tensor | None) -> Any:
        """(outputs, state)."""
        advance: Any = self.body.advance
        return advance(inputs, state)


def _alone(module: nn.Module) -> tuple[str, ...]:
    """The weights that a network alone has at this place and the supernet has not."""
    return module.alone if isinstance(module, SlicedBatchNorm) else ()


def _holds(module: nn.Module) -> bool:
    """Whether there are weights somewhere in it, here or in a network alone."""
    own = next(module.parameters(), None) is not None
    return own or any(map(_alone, module.modules()))


def _unlike(name: str, there: Tensor | None, here: Tensor | None) -> str:
    def shape(tensor: Tensor | None) -> str:
        return "is not there" if tensor is None else f"has the shape {tuple(tensor.shape)}"

    return (
        f"the weight '{name}' {shape(there)} in a network alone and {shape(here)} among all "
        "options; make layers whose sizes are decided with meritnas.nn (mn.Linear in place of "
        'nn.Linear), and what is there or not with pick.one("name", ...)() or mn.Stack'
    )


def shared(module: nn.Module, switch: Switch, seen: set[int] | None = None) -> nn.Module:
    """A body as it is in a supernet: norms by the batch's statistics, no dropout; in place."""
    seen = set() if seen is None else seen
    if isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
        return SlicedBatchNorm(switch, module, module.num_features)
    if isinstance(module, nn.modules.dropout._DropoutNd):
        return nn.Identity()
    if id(module) not in seen:
        seen.add(id(module))
        for name, child in list(module._modules.items()):
            if child is not None:
                module._modules[name] = shared(child, switch, seen)
    return module
