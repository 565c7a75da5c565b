"""What networks for several modalities cost: what is counted, and what is timed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.fusion.backbone import measured, stand_ins
from meritnas.families.fusion.child import CellParts, FusionNetwork, scores
from meritnas.families.fusion.text import longest_text
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import UNIT, header_bytes, packed_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.operations import CHILD
from meritnas.families.stored_size import stored_bytes, text_file_bytes

if TYPE_CHECKING:
    from meritnas.families.fusion.family import FusionSpace


def counted_costs(family: FusionSpace) -> dict[str, CostTerms]:
    """All costs that need no measurement: every step's operation, and what all networks have."""
    counted = replace(family, backbones=stand_ins(family.backbones, family.layout))
    with torch.device("meta"):
        bare = counted.bare()
        made = {name: family.operation(name, CHILD, 0.0) for name in _operations(family)}
    shape = (family.channels, family.length)
    macs = multiply_adds(bare.reader, (family.layout.width,))
    macs += multiply_adds(bare.output, (bare.output.in_features,))
    for cell in bare.cells:
        assert isinstance(cell, CellParts)
        macs += multiply_adds(cell.join, (family.steps * family.channels, family.length))
    params = {name: parameters(one) for name, one in made.items()}
    flops = {name: multiply_adds(one, shape, shape) for name, one in made.items()}
    return {
        "params": _terms(family, parameters(bare), params, "parameters"),
        "flops": _terms(family, macs, flops, "multiply-adds"),
        "size": _stored(family, bare, made),
        **_in_int8(family, bare, made),
    }


def longest_text_of(family: FusionSpace) -> str:
    """A text as long as that of any network; of a part of a space that of the whole."""
    return family.longest or longest_text(family.plans, family.sources, family.options)


def _stored(family: FusionSpace, bare: FusionNetwork, made: Mapping[str, nn.Module]) -> CostTerms:
    """Bytes of the file of weights; names of weights say where their step is."""
    standing = tuple(f"reader.backbones.{k}." for k, own in family.backbones if callable(own))
    tensors = {name: t for name, t in bare.state_dict().items() if not name.startswith(standing)}
    rest = stored_bytes(tensors) + text_file_bytes(longest_text_of(family))
    for number, own in family.backbones:
        if not isinstance(own, str):
            name, shapes = family.layout.modalities[number]
            known = measured(own, shapes, name)
            rest += known.stored + known.tensors * len(f"reader.backbones.{number}.")
    rows = [np.zeros(len(row), dtype=np.int64) for row in family.options]
    for number, plan in enumerate(family.plans):
        for count, step in enumerate(plan.steps):
            prefix = f"cells.{number}.steps.{count}.operation."
            names = family.options[step.operation]
            rows[step.operation] += [
                stored_bytes(made[name].state_dict(), prefix) for name in names
            ]
    return chain_terms(rest, rows, (None,) * (len(rows) - 1), "kB as stored", 1000)


def _in_int8(
    family: FusionSpace, bare: FusionNetwork, made: Mapping[str, nn.Module]
) -> dict[str, CostTerms]:
    """Bytes of the file of 8-bit weights; nothing with a backbone that cannot leave as Python."""
    if any(callable(own) for _, own in family.backbones):
        return {}
    each = {name: packed_bytes(one.state_dict()) for name, one in made.items()}
    rest = header_bytes() + packed_bytes(bare.state_dict())
    return {INT8_SIZE: _terms(family, rest, each, *UNIT)}


def timed_terms(family: FusionSpace, device: Device) -> CostTerms:
    """Microseconds for one sample: of operations, and of a network without any that reads all.

    Args:
        family: whose networks.
        device: where they are to run.
    """
    pair = torch.zeros(2, 1, family.channels, family.length).unbind()
    parts: dict[str, tuple[nn.Module, Tensor | tuple[Tensor, ...]]] = {
        name: (family.operation(name, CHILD, 0.0), tuple(pair)) for name in _operations(family)
    }
    parts[""] = _WithoutSteps(family.bare(), family.steps), torch.ones(1, family.layout.width)
    spent = microseconds_on(parts, device)
    return _terms(family, spent[""], spent, "ms a sample", 1000)


class _WithoutSteps(nn.Module):
    """A network that reads all features, and whose steps give what a cell reads first."""

    def __init__(self, network: FusionNetwork, steps: int) -> None:
        super().__init__()
        self.network, self._steps = network, steps

    def forward(self, rows: Tensor) -> Tensor:
        features = self.network.reader(rows)
        found = []
        for cell in self.network.cells:
            assert isinstance(cell, CellParts)
            found.append(cell.finished([features[0]] * self._steps, features[0]))
        return scores(found, self.network.norm, self.network.output)


def _operations(family: FusionSpace) -> list[str]:
    steps = [step.operation for plan in family.plans for step in plan.steps]
    return sorted({name for i in steps for name in family.options[i]})


def _terms(family: FusionSpace, constant: int, each: Mapping[str, int], *unit: Any) -> CostTerms:
    """Costs of the operations that steps choose from; edges cost nothing."""
    free = {step.operation for plan in family.plans for step in plan.steps}
    rows = [
        np.array([each[name] if i in free else 0 for name in names], dtype=np.int64)
        for i, names in enumerate(family.options)
    ]
    return chain_terms(constant, rows, (None,) * (len(rows) - 1), *unit)
