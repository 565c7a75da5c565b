"""The shared weights of networks in stages: every block at its widest, used in leading blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from meritnas.families.convnet.blocks import (
    BLOCKS,
    Block,
    convolutions,
    squeezed,
    squeezed_channels,
)
from meritnas.supernet.gates import Gate, Gates, one_path
from meritnas.supernet.supernet import leading_block
from meritnas.supernet.width import widest

Held = Mapping[str, Tensor]
Extents = dict[str, tuple[int, ...]]


@dataclass(frozen=True)
class StageOptions:
    """What a stage chooses from: how many blocks (0 for no such stage), which, how wide."""

    depths: tuple[int, ...]
    blocks: tuple[str, ...]
    widths: tuple[int, ...]


class ConvSupernet(nn.Module):
    """The shared weights of a `ConvnetSpace`.

    Every kind of block has weights of its own at each place; a width uses their leading blocks.
    Norms have no weights, and their statistics are those of the batch, so that a slice computes
    what the stand-alone network computes while it trains. A mixture of blocks and widths is the
    weighted sum of what each block gives at each width, filled up with zeros; one of depths is the
    weighted sum of what the blocks give that could be the last, and one of sizes the weighted sum
    of images, scaled to the largest size that has a weight. A stage that may be absent makes the
    stage before it an exit with a linear layer of its own; outputs are the sum of all exits, each
    times the weight of ending there and of getting there.

    Args:
        sizes: (height, width) that images may be scaled to.
        stages: their options.
        colours: channels of images.
        image: (height, width) of what comes in.
        classes: how many numbers come out.
        child: picks -> a fresh child.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[int, int]],
        stages: Sequence[StageOptions],
        colours: int,
        image: tuple[int, int],
        classes: int,
        child: Callable[[Sequence[int]], nn.Module],
    ) -> None:
        super().__init__()
        self._child = child
        self._sizes, self._stages = tuple(sizes), tuple(stages)
        self._colours, self._image, self._classes = colours, image, classes
        self.stages = nn.ModuleList()
        self.exits = nn.ModuleDict()
        before = colours
        for stage, options in enumerate(stages):
            width = max(options.widths)
            places = nn.ModuleList()
            for number in range(max(options.depths)):
                come = before if number == 0 else width
                made = {
                    name: _weights(BLOCKS[name], come, width, number == 0)
                    for name in options.blocks
                }
                places.append(nn.ModuleDict(made))
            self.stages.append(places)
            if stage + 1 == len(stages) or 0 in stages[stage + 1].depths:
                self.exits[str(stage)] = nn.Linear(width, classes)
            before = width

    def forward(self, inputs: Tensor, gates: Gates, weights: Held | None = None) -> Tensor:
        """[n, colours, h, w] -> [n, outputs] of the network that the gates select or mix."""
        held = dict(self.named_parameters()) if weights is None else weights
        units = self._scaled(inputs, gates[0])
        reached: Tensor | None = None
        total: Tensor | None = None
        for stage, (depth, block, width) in enumerate(self._stage_gates(gates)):
            options = self._stages[stage]
            ends = _zero(options.depths, depth)
            if ends and stage:
                share = _product(reached, _weight(depth, ends))
                total = _plus(total, _times(share, self._exit(stage - 1, units, held)))
            deep = [k for k in depth.active if options.depths[k]]
            if not deep:
                break
            if depth.weights is not None:
                reached = _product(reached, depth.weights[deep].sum())
            if stage:
                units = F.max_pool2d(units, 2, ceil_mode=True)
            units = self._stage(stage, units, depth, block, width, held)
        else:
            total = _plus(total, _times(reached, self._exit(len(self._stages) - 1, units, held)))
        return inputs.new_zeros(len(inputs), self._classes) if total is None else total

    def _stage_gates(self, gates: Gates) -> list[tuple[Gate, Gate, Gate]]:
        rows = iter(gates[1:])
        return list(zip(rows, rows, rows, strict=True))

    def _scaled(self, inputs: Tensor, gate: Gate) -> Tensor:
        """Images at the active sizes, as large as the largest of them."""
        if not gate.active:
            return torch.zeros_like(inputs)
        held = gate.weights
        counted = [k for k in gate.active if held is None or float(held[k].detach()) != 0.0]
        largest = max(self._sizes[option] for option in counted or gate.active)
        total: Tensor | None = None
        for option in gate.active:
            size = self._sizes[option]
            own = inputs if size == self._image else F.adaptive_avg_pool2d(inputs, size)
            if size != largest:
                own = F.interpolate(own, largest, mode="bilinear", align_corners=False)
            total = _plus(total, _times(_weight(gate, [option]), own))
        assert total is not None
        return total

    def _stage(
        self, stage: int, units: Tensor, depth: Gate, block: Gate, width: Gate, held: Held
    ) -> Tensor:
        options = self._stages[stage]
        most = widest(options.widths, width)
        total: Tensor | None = None
        for number in range(max(options.depths[k] for k in depth.active)):
            found: Tensor | None = None
            for option, chosen in product(block.active, width.active):
                name, own_width = options.blocks[option], options.widths[chosen]
                run = _Run(f"stages.{stage}.{number}.{name}.", held)
                come = units if number == 0 else units[:, :own_width]
                own = run(BLOCKS[name], come, own_width, number == 0)
                weight = _product(_weight(block, [option]), _weight(width, [chosen]))
                own = _times(weight, own)
                if own_width < most:
                    own = F.pad(own, (0, 0, 0, 0, 0, most - own_width))
                found = _plus(found, own)
            if found is None:
                found = units.new_zeros(len(units), most, *units.shape[2:])
            units = found
            ends = [k for k in depth.active if options.depths[k] == number + 1]
            if ends:
                total = _plus(total, _times(_weight(depth, ends), units))
        assert total is not None
        return total

    def _exit(self, stage: int, units: Tensor, held: Held) -> Tensor:
        means = units.mean((2, 3))
        weight = leading_block(held[f"exits.{stage}.weight"], (self._classes, means.shape[1]))
        return F.linear(means, weight, held[f"exits.{stage}.bias"])

    def each(self, inputs: Tensor, picks: Sequence[Sequence[int]]) -> list[Tensor]:
        """Outputs [n, outputs] of several architectures on one batch."""
        return [self(inputs, one_path(row)) for row in picks]

    def blocks(self, gates: Gates) -> Extents:
        """The active blocks as far as the active widths span, and the exits that are used."""
        found: Extents = {}
        before = self._colours
        for stage, (depth, block, width) in enumerate(self._stage_gates(gates)):
            options = self._stages[stage]
            if stage and _zero(options.depths, depth):
                found |= self._exit_extents(stage - 1, before)
            deep = [options.depths[k] for k in depth.active if options.depths[k]]
            if not deep:
                return found
            most = widest(options.widths, width)
            for number in range(max(deep)):
                for name in (options.blocks[option] for option in block.active):
                    extents = _extents(BLOCKS[name], before, most, number == 0)
                    place = f"stages.{stage}.{number}.{name}."
                    found |= {place + part: shape for part, shape in extents.items()}
                before = most
        return found | self._exit_extents(len(self._stages) - 1, before)

    def _exit_extents(self, stage: int, width: int) -> Extents:
        return {
            f"exits.{stage}.weight": (self._classes, width),
            f"exits.{stage}.bias": (self._classes,),
        }

    def remembering(self) -> AbstractContextManager[None]:
        """Nothing is kept."""
        return nullcontext()

    def whole(self) -> Gates | None:
        """None: there is no network that has the weights of all kinds of blocks."""
        return None

    def extract(self, picks: Sequence[int]) -> dict[str, Tensor]:
        """One architecture's weights by the names of its child; norms are as in a fresh one."""
        own = dict(self.named_parameters())
        gates = one_path(picks)
        last = -1
        names: dict[str, str] = {}
        for stage, (depth, block, _) in enumerate(self._stage_gates(gates)):
            options = self._stages[stage]
            count = options.depths[depth.active[0]]
            if not count:
                break
            last = stage
            kind = options.blocks[block.active[0]]
            for number in range(count):
                names[f"stages.{stage}.{number}.{kind}."] = f"stage{stage + 1}block{number + 1}."
        names[f"exits.{last}."] = "output."
        found = dict(self._child(picks).state_dict())
        for name, extents in self.blocks(gates).items():
            place = next(each for each in names if name.startswith(each))
            part = name[len(place) :]
            if place.startswith("stages") and not part.startswith("squeeze"):
                part = part.replace(".weight", ".conv.weight")
            found[names[place] + part] = leading_block(own[name].detach(), extents).clone()
        return found


class _Run:
    """Runs a block on weights that may be cut to their leading blocks already."""

    def __init__(self, place: str, held: Held) -> None:
        self._place, self._held = place, held

    def __call__(self, block: Block, inputs: Tensor, width: int, first: bool) -> Tensor:
        shapes = convolutions(block, inputs.shape[1], width, first)
        channels = squeezed_channels(block, width)

        def conv(name: str, units: Tensor) -> Tensor:
            come, go, kernel, groups = shapes[name]
            weight = self._cut(f"{name}.weight", (go, come // groups, kernel, kernel))
            found = F.conv2d(units, weight, padding=kernel // 2, groups=groups)
            return F.batch_norm(found, None, None, training=True)

        def squeeze(units: Tensor) -> Tensor:
            return self._squeeze(units, channels) if channels else units

        if block.kind == "plain":
            return squeeze(torch.relu(conv("conv", inputs)))
        if block.kind == "residual":
            branch = squeeze(conv("conv2", torch.relu(conv("conv1", inputs))))
            return torch.relu(branch + (conv("shortcut", inputs) if first else inputs))
        inside = torch.relu(conv("each", torch.relu(conv("expand", inputs))))
        found = conv("project", squeeze(inside))
        return found if first else inputs + found

    def _squeeze(self, units: Tensor, channels: int) -> Tensor:
        hidden = squeezed(channels)
        means = units.mean((2, 3), keepdim=True)
        down = self._cut("squeeze.down.weight", (hidden, channels, 1, 1))
        up = self._cut("squeeze.up.weight", (channels, hidden, 1, 1))
        inside = F.conv2d(means, down, self._cut("squeeze.down.bias", (hidden,)))
        factors = F.conv2d(F.silu(inside), up, self._cut("squeeze.up.bias", (channels,)))
        return units * torch.sigmoid(factors)

    def _cut(self, name: str, extents: Sequence[int]) -> Tensor:
        return leading_block(self._held[self._place + name], extents)


def _weights(block: Block, inputs: int, width: int, first: bool) -> nn.ModuleDict:
    """The convolutions of a block at its widest, initialised as a stand-alone network's."""
    parts: dict[str, nn.Module] = {}
    for name, (come, go, kernel, groups) in convolutions(block, inputs, width, first).items():
        parts[name] = nn.Conv2d(come, go, kernel, groups=groups, bias=False)
    channels = squeezed_channels(block, width)
    if channels:
        hidden = squeezed(channels)
        down, up = nn.Conv2d(channels, hidden, 1), nn.Conv2d(hidden, channels, 1)
        parts["squeeze"] = nn.ModuleDict({"down": down, "up": up})
    return nn.ModuleDict(parts)


def _extents(block: Block, inputs: int, width: int, first: bool) -> Extents:
    found: Extents = {
        f"{name}.weight": (go, come // groups, kernel, kernel)
        for name, (come, go, kernel, groups) in convolutions(block, inputs, width, first).items()
    }
    channels = squeezed_channels(block, width)
    if channels:
        hidden = squeezed(channels)
        found |= {
            "squeeze.down.weight": (hidden, channels, 1, 1),
            "squeeze.down.bias": (hidden,),
            "squeeze.up.weight": (channels, hidden, 1, 1),
            "squeeze.up.bias": (channels,),
        }
    return found


def _zero(depths: Sequence[int], gate: Gate) -> list[int]:
    """The active options that mean: no such stage."""
    return [k for k in gate.active if depths[k] == 0]


def _weight(gate: Gate, options: Sequence[int]) -> Tensor | None:
    """The weight of one of these options, which is the only one; None for one."""
    return None if gate.weights is None else gate.weights[list(options)].sum()


def _product(first: Tensor | None, second: Tensor | None) -> Tensor | None:
    """Of two weights; None stands for one."""
    if first is None or second is None:
        return first if second is None else second
    return first * second


def _times(weight: Tensor | None, value: Tensor) -> Tensor:
    return value if weight is None else weight * value


def _plus(total: Tensor | None, value: Tensor) -> Tensor:
    return value if total is None else total + value
