"""The arithmetic of a table's encoder as a graph can hold it, and random rows to try it on."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import Tensor, nn

from meritnas.data.columns.bound import FARTHEST
from meritnas.data.columns.date_column import DateColumn
from meritnas.data.columns.description import raw_numbers
from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.columns.number_column import NumberColumn
from meritnas.data.columns.row_inputs import PERIODS
from meritnas.data.kind import GraphInputs

_MISSING = 0.1
"""Of random numbers are missing."""


def table_graph_inputs(encoder: TableEncoder) -> GraphInputs:
    """`numbers` float64 [n, numbers] and `codes` int64 [n, codes]; one of them may be absent."""
    codes = [column.name for column in encoder.category_columns]
    named = {"numbers": raw_numbers(encoder), "codes": codes}
    free = {name: {0: "n"} for name, columns in named.items() if columns}
    about = {name: json.dumps(columns) for name, columns in named.items()}
    return GraphInputs(TableRows(encoder), free, lambda n, seed: _sample(encoder, n, seed), about)


def _sample(encoder: TableEncoder, n: int, seed: int) -> tuple[Tensor, ...]:
    generator = torch.Generator().manual_seed(seed)
    columns = []
    for number in encoder.number_columns:
        normal = torch.randn(n, generator=generator, dtype=torch.float64)
        columns.append(number.mean + 2 * number.scale * normal)
    for date in encoder.date_columns:
        normal = torch.randn(n, generator=generator, dtype=torch.float64)
        columns.append(date.mean + date.scale * normal)
        for cycle in date.cycles:
            places = torch.randint(PERIODS[cycle], (n,), generator=generator)
            columns.append(places.double())
    found = []
    if columns:
        numbers = torch.stack(columns, dim=1)
        missing = torch.rand(numbers.shape, generator=generator) < _MISSING
        found.append(numbers.masked_fill(missing, torch.nan))
    codes = [torch.randint(c, (n,), generator=generator) for c in encoder.cardinalities]
    return (*found, torch.stack(codes, dim=1)) if codes else tuple(found)


class TableRows(nn.Module):
    """What `TableEncoder.transform` does with numbers, as arithmetic that a graph can hold.

    Numbers [n, raw], float64 and NaN for missing, and codes [n, categories], int64, become the
    rows [n, width] that the network reads. The numbers are those that `raw_numbers` names: of a
    number column its value, of a date column the seconds since 1970 and the place in each cycle
    (month 0 to 11, weekday 0 for Monday, hour with minutes as its fraction). A code that does
    not exist counts as 0. Infinite numbers, an error in the encoder, are taken as far ones.

    An input without columns is left out of the call.
    """

    cardinalities: Tensor
    sources: Tensor
    flagged: Tensor
    limits: Tensor

    def __init__(self, encoder: TableEncoder) -> None:
        super().__init__()
        numbers, dates = encoder.number_columns, encoder.date_columns
        self.plain = len(numbers)
        self.numbers = ScaledNumbers(numbers) if numbers else None
        self.dates = ScaledDates(dates) if dates else None
        sources = list(range(self.plain))  # of each number in the row: what it is made of
        flagged = [i for i, column in enumerate(numbers) if column.indicator]
        place = self.plain
        for date in dates:
            sources.append(place)
            flagged += [place] if date.indicator else []
            sources += [place + 1 + cycle for cycle in range(len(date.cycles)) for _ in range(2)]
            place += 1 + len(date.cycles)
        limits = [math.inf] * place
        for number, column in enumerate(numbers):
            limits[number] = math.inf if column.far is None else column.far.limit
        self.fills = any(column.far is not None for column in numbers)
        _keep_reals(self, limits=limits)
        _keep(self, cardinalities=encoder.cardinalities, sources=sources, flagged=flagged)

    def forward(self, *inputs: Tensor) -> Tensor:
        """Numbers, if there are any, and codes, if there are any -> [n, width], float32."""
        parts = []
        if len(self.sources):
            missing = torch.isnan(inputs[0])
            if self.fills:
                missing = missing | (inputs[0].abs() >= self.limits)
            found = self._numbers(inputs[0])
            parts.append(found.masked_fill(missing.index_select(1, self.sources), 0.0))
            if len(self.flagged):
                parts.append(missing.index_select(1, self.flagged).float())
        if len(self.cardinalities):
            codes = inputs[-1]
            exists = (codes >= 0) & (codes < self.cardinalities)
            parts.append(torch.where(exists, codes, 0).float())
        return torch.cat(parts, dim=1)

    def _numbers(self, numbers: Tensor) -> Tensor:
        parts = []
        if self.numbers is not None:
            parts.append(self.numbers(numbers[:, : self.plain]).float())
        if self.dates is not None:
            parts.append(self.dates(numbers[:, self.plain :]))
        return torch.cat(parts, dim=1)


class ScaledDates(nn.Module):
    """Dates [n, raw], float64, of each seconds and places in cycles -> their inputs, float32."""

    mean: Tensor
    scale: Tensor
    turns: Tensor
    times: Tensor
    places: Tensor
    order: Tensor

    def __init__(self, columns: Sequence[DateColumn]) -> None:
        super().__init__()
        times: list[int] = []
        places: list[int] = []
        order: list[int] = []
        waves = sum(len(column.cycles) for column in columns)
        for column in columns:
            order.append(len(times))
            times.append(len(times) + len(places))
            for _ in column.cycles:
                order += [len(columns) + len(places), len(columns) + waves + len(places)]
                places.append(len(times) + len(places))
        _keep(self, times=times, places=places, order=order)
        turns = [2 * math.pi / PERIODS[cycle] for column in columns for cycle in column.cycles]
        _keep_reals(
            self,
            mean=[column.mean for column in columns],
            scale=[column.scale for column in columns],
            turns=turns,
        )

    def forward(self, numbers: Tensor) -> Tensor:
        """Time standardised, then sine and cosine of each cycle, date by date."""
        seconds = numbers.index_select(1, self.times)
        parts = [((seconds - self.mean) / self.scale).clamp(-FARTHEST, FARTHEST).float()]
        if len(self.places):
            # In single precision: onnxruntime has no cosine for more.
            angles = (numbers.index_select(1, self.places) * self.turns).float()
            parts += [torch.sin(angles), torch.cos(angles)]
        return torch.cat(parts, dim=1).index_select(1, self.order)


class ScaledNumbers(nn.Module):
    """Number columns [n, columns], float64 -> the same standardised, or between their knots."""

    mean: Tensor
    scale: Tensor
    bent: Tensor
    order: Tensor
    knots: Tensor
    left: Tensor
    height: Tensor
    slope: Tensor
    last: Tensor
    start: Tensor
    low: Tensor
    high: Tensor

    def __init__(self, columns: Sequence[NumberColumn]) -> None:
        super().__init__()
        bent = [i for i, column in enumerate(columns) if column.knots]
        order = list(range(len(columns)))
        for place, column in enumerate(bent):
            order[column] = len(columns) + place
        most = max((len(columns[i].knots) for i in bent), default=0)
        knots = torch.full((len(bent), most), math.inf, dtype=torch.float64)
        height, slope = torch.zeros_like(knots), torch.zeros_like(knots)
        for row, i in enumerate(bent):
            own = columns[i]
            knots[row, : len(own.knots)] = torch.tensor(own.knots, dtype=torch.float64)
            height[row, : len(own.heights)] = torch.tensor(own.heights, dtype=torch.float64)
            steps = zip(pairwise(own.knots), pairwise(own.heights), strict=True)
            for k, ((a, b), (c, d)) in enumerate(steps):
                slope[row, k] = (d - c) / (b - a)
        _keep(
            self,
            bent=bent,
            order=order,
            last=[len(columns[i].knots) - 2 for i in bent],
            start=[row * most for row in range(len(bent))],
        )
        _keep_reals(
            self,
            mean=[column.mean for column in columns],
            scale=[column.scale for column in columns],
            low=[columns[i].knots[0] for i in bent],
            high=[columns[i].knots[-1] for i in bent],
            knots=knots,
            left=knots.flatten(),
            height=height.flatten(),
            slope=slope.flatten(),
        )

    def forward(self, numbers: Tensor) -> Tensor:
        """Missing values, NaN, give anything."""
        scaled = ((numbers - self.mean) / self.scale).clamp(-FARTHEST, FARTHEST)
        if not len(self.bent):
            return scaled
        mapped = self._between_knots(numbers.index_select(1, self.bent))
        return torch.cat([scaled, mapped], dim=1).index_select(1, self.order)

    def _between_knots(self, numbers: Tensor) -> Tensor:
        """Linear interpolation, flat beyond the first and the last knot."""
        inside = torch.minimum(torch.maximum(numbers, self.low), self.high)
        below = (inside.unsqueeze(2) >= self.knots).sum(dim=2) - 1
        place = torch.minimum(below.clamp(min=0), self.last) + self.start
        left, height, slope = (
            table.index_select(0, place.flatten()).view_as(inside)
            for table in (self.left, self.height, self.slope)
        )
        return height + slope * (inside - left)


def _keep(module: nn.Module, **values: Sequence[int]) -> None:
    for name, row in values.items():
        whole = torch.tensor(row, dtype=torch.int64)
        module.register_buffer(name, whole, persistent=False)


def _keep_reals(module: nn.Module, **values: Sequence[float] | Tensor) -> None:
    for name, row in values.items():
        real = torch.as_tensor(row, dtype=torch.float64)
        module.register_buffer(name, real, persistent=False)
