"""How many bytes of activations are alive while a network runs, operation by operation.

One row, image or word is computed, in the order of the network's own code, and every number takes
four bytes, whatever its type. What counts are the tensors that depend on the input; weights, and
what could be computed from weights alone before any input comes, do not.

- A tensor is alive from the operation that makes it until the last one that reads it: at that
  moment both what is read and what is made are there. What comes in is alive from the beginning,
  what goes out until the end.
- Views (reshaping, slices, transposing) and changes of layout take nothing: they are what they
  look at, all of which is alive for as long as they are.
- Elementwise operations on one tensor (activations, norms, softmax) take nothing either: they are
  done where the tensor stands, or as it is read.
- Elementwise operations on several tensors (sums, products) write into one that has as many
  numbers as what they make and that nothing reads later, the first such; else into a new one.
- Everything else (convolutions, linear layers, pooling, means, concatenation) makes a new tensor.
  Memory inside one operation, such as a convolution's patches, is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

BYTES_A_NUMBER = 4
PEAK_UNIT = "kB of activations"

_ELEMENTWISE = (
    *("native_batch_norm", "_native_batch_norm_legit_no_training", "native_layer_norm"),
    *("native_group_norm", "_softmax", "_log_softmax", "_to_copy", "clone"),
    *("cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_no_update", "native_dropout"),
)
"""Operations on one tensor that torch does not mark as elementwise, by their names: norms that are
trained, which go through all numbers once, and copies."""


class Moment(NamedTuple):
    """What is alive while one operation runs.

    Attributes:
        own: bytes of what was made since the input came.
        inputs: the numbers of the inputs that are alive.
    """

    own: int
    inputs: tuple[int, ...]


class Operation(NamedTuple):
    """An operation as it runs; what it reads and makes are storages, by their numbers.

    Attributes:
        reads: what it reads, each once.
        whole: of these, what it reads all of.
        makes: what it makes, or writes into.
        elementwise: whether each number of a result follows from the same of each operand.
    """

    reads: tuple[int, ...]
    whole: tuple[int, ...]
    makes: tuple[int, ...]
    elementwise: bool


class Lives(NamedTuple):
    """Which storages stand in one place, and how long each place is alive.

    Attributes:
        stands: of each storage the one in whose room it is, often itself.
        born: of each room the operation that makes it; inputs are there from the first on.
        dies: of each room the last operation that reads it, or one after all for what goes out.
    """

    stands: Mapping[int, int]
    born: Mapping[int, int]
    dies: Mapping[int, int]


class Program:
    """Operations in order, and the numbers that each storage holds.

    Attributes:
        operations: as they run.
        numbers: of each storage.
        inputs: the storages that come in.
    """

    def __init__(self, inputs: Sequence[int] = ()) -> None:
        self.operations: list[Operation] = []
        self.numbers: list[int] = list(inputs)
        self.inputs = list(range(len(inputs)))

    def make(self, numbers: int, *reads: int, elementwise: bool = False) -> int:
        """Add an operation that reads all of these and makes a storage of so many numbers."""
        made = len(self.numbers)
        self.numbers.append(numbers)
        self.operations.append(Operation(tuple(dict.fromkeys(reads)), reads, (made,), elementwise))
        return made

    def moments(self, last: Sequence[int]) -> list[Moment]:
        """What is alive while each operation runs.

        Args:
            last: storages that are alive when all have run.
        """
        lives = self.lives(last)
        return [self._moment(time, lives) for time in range(len(self.operations))]

    def lives(self, last: Sequence[int]) -> Lives:
        """Where each storage stands, and how long that is alive.

        Args:
            last: storages that are alive when all have run.
        """
        reads: dict[int, list[int]] = {place: [len(self.operations)] for place in last}
        for time, operation in enumerate(self.operations):
            for place in operation.reads:
                reads.setdefault(place, []).append(time)
        final = {place: max(times) for place, times in reads.items()}
        buffer = {place: place for place in self.inputs}  # where each storage really stands
        born = dict.fromkeys(self.inputs, 0)
        dies = {place: final.get(place, 0) for place in self.inputs}
        for time, operation in enumerate(self.operations):
            for place in operation.makes:
                if place in buffer or (len(operation.makes) > 1 and place not in final):
                    continue  # there already, or one of several results that nobody asks for
                found = self._taken(operation, place, time, buffer, dies)
                stands = place if found is None else buffer[found]
                buffer[place] = stands
                born.setdefault(stands, time)
                dies[stands] = max(dies.get(stands, time), final.get(place, time))
        return Lives(buffer, born, dies)

    def _taken(
        self,
        operation: Operation,
        place: int,
        time: int,
        buffer: Mapping[int, int],
        dies: Mapping[int, int],
    ) -> int | None:
        """The storage that an operation writes its result into; None for a new one."""
        if not operation.elementwise:
            return None
        size = self.numbers[place]
        if len(operation.reads) == 1:
            return operation.reads[0] if self.numbers[operation.reads[0]] >= size else None
        whole = (one for one in operation.whole if self.numbers[buffer[one]] == size)
        return next((one for one in whole if dies[buffer[one]] <= time), None)

    def _moment(self, time: int, lives: Lives) -> Moment:
        alive = {place for place, begin in lives.born.items() if begin <= time <= lives.dies[place]}
        own = sum(self.numbers[place] for place in alive.difference(self.inputs))
        inputs = tuple(k for k, place in enumerate(self.inputs) if place in alive)
        return Moment(BYTES_A_NUMBER * own, inputs)


class Call(NamedTuple):
    """An operation as torch was asked for it, and what it gave."""

    name: str
    arguments: tuple[Any, ...]
    named: Mapping[str, Any]
    found: Any


class _Recorder(TorchDispatchMode):
    """Writes down every operation that depends on the inputs."""

    def __init__(self, inputs: Sequence[Tensor], where: Callable[[], str] = str) -> None:
        super().__init__()
        self.program = Program()
        self.where = where
        self.places: list[str] = []  # of operations
        self.calls: list[Call] = []  # the same operations
        self._kept: list[Any] = []  # so that no address is used twice
        self._places: dict[int, int] = {}
        self.program.inputs = [self._add(tensor) for tensor in inputs]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Otherwise torch would load its compiler, which takes seconds."""
        return False

    def place(self, tensor: Tensor) -> int | None:
        """The number of a tensor's storage; None where it does not depend on the inputs."""
        return self._places.get(tensor.untyped_storage()._cdata)

    def _add(self, tensor: Tensor) -> int:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._places:
            self._kept.append(storage)
            self._places[storage._cdata] = len(self.program.numbers)
            self.program.numbers.append(storage.nbytes() // tensor.element_size())
        return self._places[storage._cdata]

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        del types
        found = func(*args, **(kwargs or {}))
        read = [(one, self.place(one)) for one in _tensors((args, kwargs or {}))]
        known = [(one, place) for one, place in read if place is not None]
        if known:
            name = func.overloadpacket.__name__
            makes = tuple(dict.fromkeys(self._add(one) for one in _tensors(found)))
            if name.endswith("_like"):
                known = []  # of which only the shape matters
            numbers = self.program.numbers
            self.places.append(self.where())
            self.calls.append(Call(name, args, kwargs or {}, found))
            self.program.operations.append(
                Operation(
                    tuple(dict.fromkeys(place for _, place in known)),
                    tuple(place for one, place in known if one.numel() == numbers[place]),
                    makes,
                    name in _ELEMENTWISE or torch.Tag.pointwise in func.tags,
                )
            )
        return found


def moments(
    run: Callable[..., Any], inputs: Sequence[Tensor], kept: Collection[int] = ()
) -> list[Moment]:
    """What is alive while each operation of a network runs; see this module.

    Args:
        run: the network, or a part of one, in evaluation mode; best on the `meta` device.
        inputs: what it reads.
        kept: the numbers of inputs that are read again after it has run.
    """
    program, last = recorded(run, inputs)
    return program.moments([*last, *(program.inputs[number] for number in kept)])


def recorded(run: Callable[..., Any], inputs: Sequence[Tensor]) -> tuple[Program, list[int]]:
    """(what a network does, the storages of what it gives), as far as inputs matter."""
    found = traced(run, inputs)
    return found.program, found.last


class Trace(NamedTuple):
    """What a network does with its inputs, operation by operation.

    Attributes:
        program: its operations and storages.
        calls: the same operations as torch was asked for them.
        place: a tensor's storage; None where it does not depend on the inputs.
        outputs: what it gives.
        last: their storages, as far as inputs matter.
    """

    program: Program
    calls: list[Call]
    place: Callable[[Tensor], int | None]
    outputs: Any
    last: list[int]


def traced(run: Callable[..., Any], inputs: Sequence[Tensor]) -> Trace:
    """Run a network once and write down what it does."""
    with torch.no_grad(), _Recorder(inputs) as recorder:
        outputs = run(*inputs)
    ends = [recorder.place(one) for one in _tensors(outputs)]
    last = [place for place in ends if place is not None]
    return Trace(recorder.program, recorder.calls, recorder.place, outputs, last)


def peak_by_place(
    run: Callable[..., Any], inputs: Sequence[Tensor], where: Callable[[], str]
) -> dict[str, int]:
    """The most bytes that are alive while any operation of a place runs, inputs included.

    Args:
        run: as `moments` takes it.
        inputs: what it reads.
        where: the place of the operation that runs now, such as a module's name.
    """
    sizes = [_bytes_of(one) for one in inputs]
    with torch.no_grad(), _Recorder(inputs, where) as recorder:
        outputs = run(*inputs)
    ends = [recorder.place(one) for one in _tensors(outputs)]
    alive = recorder.program.moments([place for place in ends if place is not None])
    found: dict[str, int] = {}
    for place, one in zip(recorder.places, alive, strict=True):
        found[place] = max(found.get(place, 0), one.own + sum(sizes[k] for k in one.inputs))
    return found


def peak_bytes(run: Callable[..., Any], inputs: Sequence[Tensor]) -> int:
    """The most bytes that are alive at once while a network runs, its inputs included."""
    sizes = [_bytes_of(one) for one in inputs]
    found = [one.own + sum(sizes[k] for k in one.inputs) for one in moments(run, inputs)]
    return max(found, default=sum(sizes))


def _bytes_of(tensor: Tensor) -> int:
    return BYTES_A_NUMBER * tensor.untyped_storage().nbytes() // tensor.element_size()


def _tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        for one in value.values():
            yield from _tensors(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _tensors(one)
