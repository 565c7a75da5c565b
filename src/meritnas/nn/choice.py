"""What is chosen: things that a build function picks, and choices inside a ready module."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, Protocol

from torch import nn

from meritnas.errors import SpaceError, told
from meritnas.nn.follows import Follows
from meritnas.nn.gated import GatedChoice, GatedStack
from meritnas.nn.questions import BUILDING, Asked, Question, numbers_of
from meritnas.nn.sliced import Sliced
from meritnas.nn.switch import Switch
from meritnas.nn.values import Decided, Depth, Size, Width, extent

Values = Sequence[Any] | Mapping[int, Any]
"""By the number of the option."""


class Pick(Protocol):
    """What a build function asks: `pick.one`, `pick.width`, `pick.depth`."""

    def one(self, name: str, *values: Any, **named: Any) -> Any:
        """One of some values, modules, or functions that make modules.

        Args:
            name: of the decision.
            values: to choose from; each is called what it is written as.
            named: the same with names of their own.
        """
        ...

    def width(self, name: str, *widths: int) -> Any:
        """How many units a layer has."""
        ...

    def depth(self, name: str, *depths: int) -> Any:
        """How many blocks of a `Stack` run."""
        ...


class OneOf(Decided):
    """One of several values, while all networks are built at once."""

    way_out = (
        "call it to make the module, give it to a layer of meritnas.nn, or write "
        'pick.one("name", this=lambda: ..., that=lambda: ...)() in place of if'
    )

    def __init__(self, name: str, values: Values, places: Sequence[int]) -> None:
        self.names = (name,)
        self.places = tuple(places)
        self.values = tuple(values[k] for k in places)

    def __call__(self, *arguments: Any, **named: Any) -> nn.Module:
        """The module that the chosen value makes."""
        for value in self.values:
            if not callable(value):
                self._refuse()
        return expanded(lambda make, *a, **n: make(*a, **n), (self, *arguments), named)

    def _each(self, function: Callable[[Any, Any], Any], other: Any) -> OneOf:
        numbers = (*self.values, other)
        if not all(isinstance(number, int | float) for number in numbers):
            self._refuse()
        found = dict(zip(self.places, (function(one, other) for one in self.values), strict=True))
        return OneOf(self.names[0], found, self.places)

    def __add__(self, other: Any) -> OneOf:
        return self._each(operator.add, other)

    def __sub__(self, other: Any) -> OneOf:
        return self._each(operator.sub, other)

    def __mul__(self, other: Any) -> OneOf:
        return self._each(operator.mul, other)

    def __floordiv__(self, other: Any) -> OneOf:
        return self._each(operator.floordiv, other)

    __radd__, __rmul__ = __add__, __mul__


def expanded(
    make: Callable[..., nn.Module], arguments: Sequence[Any], named: Mapping[str, Any]
) -> nn.Module:
    """What is made of arguments, some of which are chosen: a choice of what each would make."""
    pick = BUILDING.get()
    chosen = next((one for one in (*arguments, *named.values()) if isinstance(one, OneOf)), None)
    if chosen is None:
        found = make(*arguments, **named)
        if not isinstance(found, nn.Module):
            raise SpaceError(f"a chosen function must make a torch module, got {told(found)}")
        return found
    assert isinstance(pick, SupernetPick)
    (name,) = chosen.names

    def answered(value: Any, k: int) -> Any:
        same = isinstance(value, OneOf) and value.names == (name,)
        return value.values[k] if same else value

    options = []
    for k, place in enumerate(chosen.places):
        with pick.asked.where(name, frozenset([place])):
            own = {key: answered(value, k) for key, value in named.items()}
            options.append(expanded(make, [answered(one, k) for one in arguments], own))
    return GatedChoice(pick.switch, name, options)


def Stack(depth: Any, block: Callable[[int], nn.Module]) -> nn.Module:
    """So many blocks one after the other, as `torch.nn.Sequential`.

    Args:
        depth: how many: a number, or what `pick.depth` gave.
        block: 0, 1, ... -> the block of this number. What it asks is asked where the block is
            there. Where depths differ, blocks keep the shape of what they read.
    """
    if not isinstance(depth, Depth):
        return nn.Sequential(*(block(number) for number in range(depth)))
    pick = BUILDING.get()
    assert isinstance(pick, SupernetPick)
    blocks = []
    for number in range(max(depth.depths)):
        with pick.asked.where(depth.names[0], pick.deeper(depth, number)):
            blocks.append(block(number))
    return GatedStack(pick.switch, depth, blocks)


class Choice(nn.Module):
    """A choice inside a ready module: one of several modules that read and give the same.

    A module that has such choices is a space. By itself, the first option runs.

    Args:
        name: of the decision; choices of one name are decided together.
        options: name -> module.
    """

    def __init__(self, name: str, **options: nn.Module) -> None:
        super().__init__()
        for option, module in options.items():
            if not isinstance(module, nn.Module):
                raise SpaceError(
                    f"option '{option}' of mn.Choice must be a torch module, got {told(module)}; "
                    "make it: nn.ReLU() and not nn.ReLU"
                )
        Question(name, "one", tuple(options))
        self.decision = name
        self.names = tuple(options)
        # An option may have a name that a module has already, such as `type`.
        self.options = nn.ModuleList(options.values())

    def forward(self, *inputs: Any, **named: Any) -> Any:
        """What the first option gives."""
        return self.options[0](*inputs, **named)


def resolved(module: nn.Module, pick: Pick, seen: dict[int, nn.Module] | None = None) -> nn.Module:
    """A module with its choices answered, in place; one that stands in two places is one."""
    seen = {} if seen is None else seen
    if id(module) in seen:
        return seen[id(module)]
    seen[id(module)] = module
    if isinstance(module, Choice):
        named = dict(zip(module.names, module.options, strict=True))
        chosen = pick.one(module.decision, **{n: _Resolving(o, pick) for n, o in named.items()})
        answered: nn.Module = chosen()
        seen[id(module)] = answered
        return answered
    if isinstance(module, Follows):
        seen[id(module)] = module.answered(pick)
        return seen[id(module)]
    for name, child in list(module._modules.items()):
        if child is not None:
            found = resolved(child, pick, seen)
            if found is not child:
                setattr(module, name, found)
    return module


class _Resolving:
    """Gives a ready option of a choice, with the choices inside it answered where it is chosen."""

    def __init__(self, module: nn.Module, pick: Pick) -> None:
        self._module, self._pick = module, pick

    def __call__(self) -> nn.Module:
        return resolved(self._module, self._pick)


def decisions_in(body: nn.Module) -> set[str]:
    """The decisions that some module of a supernet follows."""
    found: set[str] = set()
    for module in body.modules():
        if isinstance(module, GatedChoice | GatedStack):
            found.add(module.decision)
        elif isinstance(module, Sliced):
            found |= module.decisions
    return found


class SupernetPick:
    """Asks for all options at once, and writes down what is asked when.

    Args:
        kept: the options of each decision that there shall be; all where it says nothing.

    Attributes:
        asked: the questions so far, with all their options.
        switch: what the layers of the supernet look at.
    """

    def __init__(self, kept: Mapping[str, Sequence[str]] | None = None) -> None:
        self.asked = Asked()
        self.switch = Switch()
        self._kept = kept or {}

    def one(self, name: str, *values: Any, **named: Any) -> Any:
        """All of the values; ready modules are mixed at once."""
        question, options = one_of(name, values, named)
        chosen = OneOf(name, options, self._places(question))
        if all(isinstance(value, nn.Module) for value in options):
            return GatedChoice(self.switch, name, chosen.values)
        return chosen

    def width(self, name: str, *widths: int) -> Any:
        """A width that layers follow."""
        question = numbers_of(name, "width", widths, 1)
        numbers = tuple(question.numbers[k] for k in self._places(question))
        self.switch.widths[name] = numbers
        return Width((name,), lambda units: units[name])

    def depth(self, name: str, *depths: int) -> Any:
        """A depth that a `Stack` follows."""
        question = numbers_of(name, "depth", depths, 0)
        return Depth(name, tuple(question.numbers[k] for k in self._places(question)))

    def deeper(self, depth: Depth, number: int) -> frozenset[int]:
        """The options of a depth that are more than a number."""
        counts = self.asked.questions[depth.names[0]].numbers
        return frozenset(k for k, count in enumerate(counts) if count > number)

    def _places(self, question: Question) -> tuple[int, ...]:
        """The numbers of the options that there are."""
        self.asked.ask(question)
        names = self._kept.get(question.name, question.options)
        return tuple(k for k, option in enumerate(question.options) if option in names)

    def most(self, size: Size) -> int:
        """The largest that a size can be."""
        if not isinstance(size, Width):
            return size
        rows = [self.switch.widths[name] for name in size.names]
        return max(
            extent(size, dict(zip(size.names, units, strict=True))) for units in product(*rows)
        )

    @contextmanager
    def building(self) -> Iterator[None]:
        """Inside, layers of meritnas.nn are those of this supernet."""
        token = BUILDING.set(self)
        try:
            yield
        finally:
            BUILDING.reset(token)


class ChildPick:
    """Answers with one option of each question, and writes down what was asked.

    Args:
        picks: the number of the option of each question, by name.
        known: the questions as the supernet asked them.
    """

    def __init__(self, picks: Mapping[str, int], known: Mapping[str, Question]) -> None:
        self._picks, self._known = picks, known
        self.asked: list[str] = []

    def one(self, name: str, *values: Any, **named: Any) -> Any:
        """The chosen value."""
        question, options = one_of(name, values, named)
        return options[self._answer(question)]

    def width(self, name: str, *widths: int) -> Any:
        """The chosen width, a plain number."""
        question = numbers_of(name, "width", widths, 1)
        return question.numbers[self._answer(question)]

    def depth(self, name: str, *depths: int) -> Any:
        """The chosen depth, a plain number."""
        question = numbers_of(name, "depth", depths, 0)
        return question.numbers[self._answer(question)]

    def _answer(self, question: Question) -> int:
        known = self._known.get(question.name)
        if known != question:
            was = "not at all" if known is None else f"with the options {', '.join(known.options)}"
            raise SpaceError(
                f"decision '{question.name}' is asked with the options "
                f"{', '.join(question.options)} here and {was} before; a build function must ask "
                "the same at every call, and what depends on an answer stands in a function: "
                'pick.one("name", this=lambda: ..., that=lambda: ...)()'
            )
        self.asked.append(question.name)
        return self._picks[question.name]


def one_of(
    name: str, values: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Question, tuple[Any, ...]]:
    """The question, and the values of its options."""
    names = [_name_of(value) for value in values]
    return Question(name, "one", (*names, *named)), (*values, *named.values())


def _name_of(value: Any) -> str:
    """What a value is called that was given without a name."""
    return str(getattr(value, "__name__", value))
