from __future__ import annotations

import json
import math
import textwrap
from collections.abc import Collection
from itertools import pairwise

from meritnas.data.modalities.row_layout import Shape
from meritnas.families.fusion.backbone import Convolutions
from meritnas.families.fusion.family import FusionSpace
from meritnas.families.fusion.network import grid

_KINDS = ("FromVector", "FromSequence", "FromPicture")
"""What brings a feature of 1, 2 or 3 dimensions to the cells' shape."""


def reader_source(family: FusionSpace, read: Collection[int]) -> str:
    """The class `Reader`, which knows where in a row each modality is, and what it needs.

    Args:
        family: the space.
        read: the numbers of the features that cells read.
    """
    kinds = {len(feature.shape) for feature in family.features}
    return (
        "".join(_from(family, kind) for kind in sorted(kinds))
        + (_STAGE if family.backbones else "")
        + _reader(family, read)
    )


def quoted(name: str) -> str:
    """A name as a literal of Python, which is JSON's."""
    return json.dumps(name, ensure_ascii=False)


def escaped(name: str) -> str:
    """The same for comments and within docstrings."""
    return quoted(name)[1:-1]


_STAGE = '''class Stage(nn.Sequential):
    """3x3 convolution, batch norm, ReLU and pooling to half the size, rounded up."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(),
            nn.MaxPool2d(2, ceil_mode=True),
        )


'''


def _from(family: FusionSpace, dimensions: int) -> str:
    """The class that brings features of so many dimensions to the cells' shape."""
    c, long = family.channels, family.length
    what, comes, run = (
        (
            f"A vector -> {long} learned views of it",
            "columns",
            f"self.map(feature).reshape(-1, {c}, {long})",
        ),
        (
            f"A sequence -> its maxima in {long} parts, mapped one by one",
            "inputs, steps",
            f"self.map(nn.functional.adaptive_max_pool1d(feature, {long}))",
        ),
        (
            f"A picture -> its maxima in {grid(long)[0]} by {grid(long)[1]} parts, mapped one by "
            "one",
            "inputs, height, width",
            f"self.map(nn.functional.adaptive_max_pool2d(feature, {grid(long)}).flatten(2))",
        ),
    )[dimensions - 1]
    given, layer = "inputs", f"nn.Conv1d(inputs, {c}, 1, bias=False)"
    if dimensions == 1:
        given, layer = "columns", f"nn.Linear(columns, {c * long}, bias=False)"
    return f'''class {_KINDS[dimensions - 1]}(nn.Module):
    """{what}; batch norm and ReLU."""

    def __init__(self, {given}: int) -> None:
        super().__init__()
        self.map = {layer}
        self.norm = nn.BatchNorm1d({c})

    def forward(self, feature: Tensor, there: Tensor) -> Tensor:
        """[n, {comes}] -> [n, {c}, {long}], zeros where a sample is not `there` [n, 1]."""
        mapped = {run}
        return torch.relu(self.norm(mapped)) * there[:, :, None]


'''


def _reader(family: FusionSpace, read: Collection[int]) -> str:
    layout = family.layout
    seen = {family.features[k].modality for k in read}
    backbones = ""
    for number, _ in family.backbones:
        widths = _widths(layout.modalities[number][1][0])
        stages = ", ".join(f"Stage({a}, {b})" for a, b in pairwise(widths))
        note = escaped(layout.names[number]) + _unread(number in seen)
        backbones += f'                "{number}": nn.Sequential({stages}),  # {note}\n'
    if backbones:
        backbones = f"""        self.backbones = nn.ModuleDict(
            {{
{backbones}            }}
        )
"""
    rows = "".join(
        f"                {_KINDS[len(feature.shape) - 1]}({feature.shape[0]}),  "
        f"# {escaped(family.sources[k])}{_unread(k in read)}\n"
        for k, feature in enumerate(family.features)
    )
    where = "".join(_columns(family, number) for number in range(len(layout.names)))
    run = "".join(_modality(family, number, read) for number in sorted(seen))
    size = f"{family.channels}, {family.length}"
    return f'''class Reader(nn.Module):
    """Rows of inputs -> the features that cells read; what a sample lacks is zeros.

    Of each modality a row has one number that says whether the sample has it, 1 or 0, and then
    its features, flattened. Columns, from 0 on:

{where}    """

    def __init__(self) -> None:
        super().__init__()
{backbones}        self.reshapes = nn.ModuleList(
            [
{rows}            ]
        )

    def forward(self, rows: Tensor) -> dict[str, Tensor]:
        """Rows [n, {layout.width}] -> features by name, each [n, {size}]."""
        features = {{}}
{run}        return features


'''


def _widths(image: Shape) -> tuple[int, ...]:
    """Channels of an image before, between and after the stages of its backbone."""
    return image[0], *(shape[0] for shape in Convolutions.shapes(image))


def _places(family: FusionSpace, modality: int) -> list[tuple[Shape, int, int]]:
    """Of each feature of a modality, as it comes in: its shape, first column, column after it."""
    found, start = [], family.layout.flag(modality) + 1
    for shape in family.layout.modalities[modality][1]:
        found.append((shape, start, start + math.prod(shape)))
        start += math.prod(shape)
    return found


def _columns(family: FusionSpace, modality: int) -> str:
    """The lines that say which columns of a row are a modality's."""
    name, flag = escaped(family.layout.names[modality]), family.layout.flag(modality)
    said = f"{name}: {flag} says whether it is there"
    for shape, start, end in _places(family, modality):
        said += f", {start} is" if end == start + 1 else f", {start} to {end - 1} are"
        said += f" {shape}"
    wrap = textwrap.TextWrapper(96, " " * 4, " " * 8, break_long_words=False)
    return wrap.fill(said) + "\n"


def _modality(family: FusionSpace, modality: int, read: Collection[int]) -> str:
    """The lines that make those features of a modality that cells read."""
    flag, places = family.layout.flag(modality), _places(family, modality)
    own = [(k, f) for k, f in enumerate(family.features) if f.modality == modality]
    found = f"        # {escaped(family.layout.names[modality])}\n"
    found += f"        there = rows[:, {flag}:{flag + 1}] > 0\n"
    staged = modality in dict(family.backbones)
    if staged:
        found += _part(*places[0])
    last = max(k for k, _ in own if k in read)
    for k, feature in own:
        if staged and k <= last:
            found += f'        part = self.backbones["{modality}"][{feature.place}](part)\n'
        if k in read:
            found += "" if staged else _part(*places[feature.place])
            name = quoted(family.sources[k])
            found += f"        features[{name}] = self.reshapes[{k}](part, there)\n"
    return found


def _part(shape: Shape, start: int, end: int) -> str:
    line = f"        part = rows[:, {start}:{end}].where(there, 0)"
    if len(shape) > 1:
        line += f".reshape(-1, {', '.join(map(str, shape))})"
    return line + "\n"


def _unread(read: bool) -> str:
    return "" if read else ", which no cell reads"
