"""What networks of cells and heads cost: each part by itself, for they share backbones only.

Where there are no cells, decisions on them have the options `absent`, whose costs are counted as
if they were there; so `on` costs as much more than `none` as all of cells takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.families.counting import multiply_adds, parameters
from meritnas.families.family import seeded
from meritnas.families.fusion.backbone import Backbone, measured, stand_ins
from meritnas.families.fusion.costs import longest_text_of
from meritnas.families.fusion.joint_child import ALL
from meritnas.families.fusion.joint_text import ON, longest_tail
from meritnas.families.fusion.plain_child import FlatReader, Head
from meritnas.families.fusion.reader import make_backbones
from meritnas.families.fusion.text import NONE
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import header_bytes, packed_bytes
from meritnas.families.latency import Device, microseconds_on
from meritnas.families.operations import CHILD
from meritnas.families.stored_size import stored_bytes, text_file_bytes

if TYPE_CHECKING:
    from meritnas.families.fusion.joint import JointSpace

Key = tuple[str, int]
"""A head by its name and its width."""


def counted_joint(family: JointSpace) -> dict[str, CostTerms]:
    """All costs that need no measurement."""
    own = family.fusion
    with torch.device("meta"):
        reader = _reader(family, dict(stand_ins(own.backbones, own.layout)))
        heads = _heads(family, reader.widths)
    width = (own.layout.width,)
    shapes = {key: _reads(head) for key, head in heads.items()}
    known = {name: terms for name, terms in own.costs.items() if name != "latency"}
    read = {"params": parameters(reader), "flops": multiply_adds(reader, width)}
    read["size"] = _stored_backbones(family, reader)
    each = {
        "params": {key: parameters(head) for key, head in heads.items()},
        "flops": {key: multiply_adds(head, shapes[key]) for key, head in heads.items()},
        "size": {
            key: stored_bytes(head.state_dict(), f"heads.{key[0]}.") for key, head in heads.items()
        },
    }
    beside = {"size": text_file_bytes(longest_text_of(own))}
    always = {"size": text_file_bytes(longest_joint(family))}
    if INT8_SIZE in known:
        read[INT8_SIZE] = packed_bytes(reader.state_dict())
        each[INT8_SIZE] = {key: packed_bytes(head.state_dict()) for key, head in heads.items()}
        beside[INT8_SIZE] = always[INT8_SIZE] = header_bytes()
    return {
        name: joint_terms(
            family,
            terms,
            always.get(name, 0) + read[name],
            terms.constant - beside.get(name, 0) - read[name],
            each[name],
        )
        for name, terms in known.items()
    }


def joint_terms(
    family: JointSpace,
    cells: CostTerms,
    constant: int,
    more: int,
    each: Mapping[Key, int],
) -> CostTerms:
    """A cost of networks with heads.

    Args:
        family: whose networks.
        cells: the same of networks of cells alone.
        constant: what is always there.
        more: what cells take beside that and their operations.
        each: of each head by its width.
    """
    rows = list(cells.single)
    spent = sum(
        int(row[names.index(absent)])
        for row, names, absent in zip(rows, family.fusion.options, family.absent, strict=True)
        if absent in names  # where one is missing, no network is without cells
    )
    rows.append(np.array([more + spent if n == ON else 0 for n in family.tail[0]], dtype=np.int64))
    for name, options in zip(family.keys, family.tail[1:-1], strict=True):
        rows.append(
            np.array([0 if n == NONE else each[name, int(n)] for n in options], dtype=np.int64)
        )
    rows.append(np.zeros(len(family.tail[-1]), dtype=np.int64))
    unit = cells.unit, cells.a_unit
    return chain_terms(constant - spent, rows, (None,) * (len(rows) - 1), *unit)


def longest_joint(family: JointSpace) -> str:
    """A text as long as that of any network; of a part of a space that of the whole."""
    own = f"{longest_text_of(family.fusion)} + "
    return family.longest or own + longest_tail(family.names, family.tail[1:-1])


def timed_joint(family: JointSpace, device: Device) -> CostTerms:
    """Microseconds for one sample: cells and what they read, what heads read, heads."""
    cells = family.fusion.timed(device).latency
    assert cells is not None
    with seeded(0):
        reader = _reader(family, dict(family.fusion.backbones))
        heads = _heads(family, reader.widths)
    rows = torch.ones(1, family.fusion.layout.width)
    parts: dict[Key, tuple[nn.Module, torch.Tensor]] = {
        key: (head, torch.zeros(1, *_reads(head))) for key, head in heads.items()
    }
    parts["", 0] = reader, rows
    spent = microseconds_on(parts, device)
    more = max(0, cells.constant - spent["", 0])
    return joint_terms(family, cells, spent["", 0], more, spent)


def _reader(family: JointSpace, backbones: dict[int, str | Backbone]) -> FlatReader:
    columns = family.fusion.layout.columns
    return FlatReader(columns, make_backbones(backbones, columns, CHILD), family.last)


def _heads(family: JointSpace, widths: Sequence[int]) -> dict[Key, Head]:
    """A head of each width that there is to choose."""
    found = {}
    for name, options in zip(family.keys, family.tail[1:-1], strict=True):
        inputs = sum(widths) if name == ALL else widths[int(name)]
        for width in (int(option) for option in options if option != NONE):
            found[name, width] = Head(inputs, width, family.fusion.outputs, 0.0)
    return found


def _reads(head: Head) -> tuple[int]:
    """How many numbers come into a head."""
    first = head[0]
    assert isinstance(first, nn.Linear)
    return (first.in_features,)


def _stored_backbones(family: JointSpace, reader: FlatReader) -> int:
    """Bytes of backbones in the file of weights."""
    own = {number: one for number, one in family.fusion.backbones if callable(one)}
    standing = tuple(f"backbones.{number}." for number in own)
    tensors = {n: t for n, t in reader.state_dict().items() if not n.startswith(standing)}
    total = stored_bytes(tensors, "reader.")
    for number, one in own.items():
        name, shapes = family.fusion.layout.modalities[number]
        known = measured(one, shapes, name)
        total += known.stored + known.tensors * len(f"reader.backbones.{number}.")
    return total
