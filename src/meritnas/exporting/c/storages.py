"""Where the tensors of a trace stand in buffers, and what is still to be done as they are read.

As `families.live_memory` counts, views and elementwise results have no room of their own. So the
places of a tensor's numbers are followed, and a function is applied where its operand stands, or,
where something else still reads that, as the result is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor

from meritnas.errors import UsageError
from meritnas.exporting.c.functions import Functions
from meritnas.exporting.c.operations import Buffer, Shape, View
from meritnas.families.live_memory import Trace


def refuse(what: str) -> NoReturn:
    """Say that a network has something that C is not written for."""
    raise UsageError(
        f"this network has {what}, for which there is no C form; nothing was written, use --to "
        "onnx, --to torch-export or --to python"
    )


@dataclass(frozen=True, eq=False)
class Norm:
    """A layer norm of a row.

    Attributes:
        epsilon: added to the variance.
        scale: of each number afterwards [numbers], in double precision.
        shift: of each number after that.
    """

    epsilon: float
    scale: np.ndarray
    shift: np.ndarray


@dataclass(frozen=True)
class Storage:
    """The numbers of a tensor of the trace, and of those that are views of it.

    Attributes:
        buffer: where they stand.
        places: of each number in that buffer [numbers].
        before: what is to be applied as they are read.
        norm: a layer norm that is to be applied; then `before` is empty.
    """

    buffer: int
    places: Tensor
    before: Functions = ()
    norm: Norm | None = None


class Storages:
    """The storages of a trace.

    Args:
        trace: what a network does.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._lives = trace.program.lives(trace.last)
        self._known: dict[int, Storage] = {}
        self._last_read: dict[int, int] = {}
        for time, operation in enumerate(trace.program.operations):
            self._last_read |= dict.fromkeys(operation.reads, time)
        self._last_read |= dict.fromkeys(trace.last, len(trace.program.operations))
        for place in trace.program.inputs:
            self._new(place)

    def place(self, tensor: Tensor) -> int:
        """The number of a tensor's storage."""
        found = self._trace.place(tensor)
        assert found is not None
        return found

    def depends(self, value: object) -> bool:
        """Whether something is a tensor that depends on the inputs."""
        return isinstance(value, Tensor) and self._trace.place(value) is not None

    def is_known(self, tensor: Tensor) -> bool:
        """Whether a tensor is a view of what was there before."""
        return self.place(tensor) in self._known

    def of(self, tensor: Tensor) -> Storage:
        """What is known of a tensor's storage."""
        return self._known[self.place(tensor)]

    def places(self, tensor: Tensor) -> Tensor:
        """Of each number of a tensor, its place in the buffer; in the tensor's shape."""
        return self.of(tensor).places.as_strided(
            tensor.shape, tensor.stride(), tensor.storage_offset()
        )

    def new(self, tensor: Tensor) -> None:
        """Give a result room of its own."""
        self._new(self.place(tensor))

    def _new(self, place: int) -> None:
        stands = self._lives.stands.get(place, place)
        if stands != place:
            refuse("an operation whose result has no room of its own")
        self._known[place] = Storage(place, torch.arange(self._trace.program.numbers[place]))

    def stands_in(self, result: Tensor) -> int:
        """The buffer that a result has, by the rules of `families.live_memory`."""
        stands = self._lives.stands[self.place(result)]
        return self._known[stands].buffer if stands in self._known else stands

    def put(
        self,
        result: Tensor,
        operand: Tensor,
        before: Functions = (),
        norm: Norm | None = None,
    ) -> None:
        """Let the numbers of a result stand where those of an operand do, one for one."""
        stood = self.of(operand)
        numbers = self._trace.program.numbers[self.place(result)]
        places = torch.full((numbers,), -1)
        places.as_strided(result.shape, result.stride(), result.storage_offset()).copy_(
            self.places(operand)
        )
        self._known[self.place(result)] = Storage(stood.buffer, places, before, norm)

    def is_free(self, operand: Tensor, result: Tensor, time: int) -> bool:
        """Whether nothing but the result is read after an operation where the operand stands."""
        buffer, own = self.of(operand).buffer, self.place(result)
        return all(
            self._last_read.get(place, -1) <= time
            for place, one in self._known.items()
            if one.buffer == buffer and place != own
        )

    def buffers(self) -> dict[int, Buffer]:
        """Of all rooms, how large they are and when they are needed."""
        numbers = self._trace.program.numbers
        return {
            room: Buffer(numbers[room], born, self._lives.dies[room])
            for room, born in self._lives.born.items()
        }


def view_of(buffer: int, places: Tensor, before: Functions = ()) -> View:
    """A view by the places of its numbers, which have up to three dimensions after the batch."""
    shaped = _three(places)
    steps = [
        int(shaped.select(k, 1).flatten()[0] - shaped.flatten()[0]) if shaped.shape[k] > 1 else 0
        for k in range(3)
    ]
    a, b, c = shaped.shape
    shape: Shape = (a, b, c)
    found = View(buffer, int(shaped.flatten()[0]), shape, (steps[0], steps[1], steps[2]), before)
    if not (torch.from_numpy(found.places) == shaped).all():
        refuse("a layout of numbers that is no regular one")
    return found


def _three(places: Tensor) -> Tensor:
    """Three dimensions: without the batch, and with more of size 1 at the end."""
    if places.numel() == 0:
        refuse("a tensor without numbers")
    shaped = places.squeeze(0) if places.dim() > 1 and places.shape[0] == 1 else places
    while shaped.dim() > 3 and shaped.shape[0] == 1:
        shaped = shaped.squeeze(0)
    if shaped.dim() > 3:
        refuse("tensors of more than three dimensions")
    return shaped.reshape(*shaped.shape, *(1,) * (3 - shaped.dim()))
