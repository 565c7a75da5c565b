"""A network with the arithmetic before and after it, as one graph that torch can trace."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor, nn
from torch.export import Dim

from meritnas.data.kind import GraphInputs
from meritnas.data.kinds import kind_of
from meritnas.data.task import Task
from meritnas.errors import UsageError
from meritnas.exporting.pooled_windows import with_pooled_windows
from meritnas.exporting.trained import Trained
from meritnas.families.operations import Noise
from meritnas.version import __version__

Sample: TypeAlias = Callable[[int, int], tuple[Tensor, ...]]
"""How many rows, seed -> inputs."""


@dataclass(frozen=True)
class Graph:
    """A network together with the arithmetic before and after it, ready to leave.

    Attributes:
        module: inputs -> outputs, in evaluation mode.
        inputs: names of its inputs.
        outputs: names of its outputs.
        free: of each input the dimensions that may be of any size, and their names.
        sample: how many rows, seed -> random inputs.
        own: what the run's own network makes of inputs, to compare with.
        about: what is known about it, name -> text.
    """

    module: nn.Module
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    free: tuple[dict[int, str], ...]
    sample: Sample
    own: Callable[..., tuple[Tensor, ...]]
    about: dict[str, str]


def make_graph(trained: Trained) -> Graph:
    """The graph of a run's network.

    Inputs are those of the kind of data (`DataKind.graph_inputs`); of a network that goes on from
    a state also `state` [n, width], zeros at the beginning.

    Outputs are `scores` [n, outputs] and, of classes, `probabilities` [n, classes], of numbers,
    `predicted` [n] on the target's own scale, of a network with a state, `state_after`.

    Raises:
        UsageError: The network draws noise, so that it never says the same twice.
    """
    encoder, network = trained.predictor.encoder, trained.predictor.module
    task = trained.predictor.task
    if any(isinstance(part, Noise) for part in network.modules()):
        raise UsageError(
            "this network has operations that draw noise, which no graph repeats; write it with "
            "--to python"
        )
    given = kind_of(encoder).graph_inputs(encoder)
    about = {**_about(trained), **given.about}
    if given.remembers:
        return _with_state(given, network, about)
    answer = "predicted" if task.kind == "regression" else "probabilities"
    whole = Whole(given.module, with_pooled_windows(network), task).eval()
    own = Whole(given.module, network, task).eval()
    outputs, shapes = ("scores", answer), tuple(given.free.values())
    return Graph(whole, tuple(given.free), outputs, shapes, given.sample, own, about)


def network_inputs(trained: Trained, n: int, seed: int) -> Tensor:
    """What the network itself reads of n random rows, images or texts."""
    encoder = trained.predictor.encoder
    given = kind_of(encoder).graph_inputs(encoder)
    found: Tensor = given.module(*given.sample(n, seed))
    return found


def free_shapes(graph: Graph) -> tuple[tuple[dict[int, Dim], ...]]:
    """The free dimensions of all inputs, in one tuple as they are positional."""
    named = {name: Dim(name) for row in graph.free for name in row.values()}
    return (tuple({place: named[name] for place, name in row.items()} for row in graph.free),)


def no_graph(error: BaseException, instead: str) -> UsageError:
    """What to say where torch cannot turn a network into a graph, and what to do instead."""
    while error.__cause__ is not None:
        error = error.__cause__
    said = next(iter(str(error).strip().splitlines()), "")
    return UsageError(
        f"torch cannot turn this network into a graph ({type(error).__name__}: {said}); nothing "
        f"was written, use {instead}"
    )


@runtime_checkable
class GoesOn(Protocol):
    """A network that reads words in order, each with the state after the one before.

    Attributes:
        width: of the state.
    """

    width: int

    def advance(self, inputs: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Words [n, steps], state [n, width] -> (scores, the state after the last word)."""
        ...


class Whole(nn.Module):
    """Inputs -> rows or images -> scores and answers."""

    def __init__(self, before: nn.Module, network: nn.Module, task: Task) -> None:
        super().__init__()
        self.before = before
        self.network = network
        self._task = task

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Scores [n, outputs] and what they stand for."""
        scores = self.network(self.before(*inputs))
        if self._task.kind == "regression":
            return scores, scores[:, 0].double() * self._task.scale + self._task.mean
        return scores, self._task.probabilities(scores)


def _with_state(given: GraphInputs, network: nn.Module, about: dict[str, str]) -> Graph:
    """The graph of a network that goes on from a state, the last of its inputs."""
    assert isinstance(network, GoesOn)
    width = network.width

    def sample(n: int, seed: int) -> tuple[Tensor, ...]:
        state = torch.randn(n, width, generator=torch.Generator().manual_seed(seed))
        return (*given.sample(n, seed), state)

    free = (*given.free.values(), {0: "n"})
    inputs, outputs = (*given.free, "state"), ("scores", "state_after")
    loop = _Loop(network).eval()
    return Graph(loop, inputs, outputs, free, sample, network.advance, about)


class _Loop(nn.Module):
    """A language model with a loop that a graph can hold, so that texts may have any length."""

    def __init__(self, network: GoesOn) -> None:
        super().__init__()
        self.network = network

    def forward(self, *inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Words [n, steps], state [n, width] -> scores [n, steps, vocabulary], the state after."""
        # The only loop over a free dimension that both torch.export and ONNX know; ONNX only if
        # no weight asks for gradients.
        from torch._higher_order_ops.scan import scan

        words, state = inputs

        def step(state: Tensor, word: Tensor) -> tuple[Tensor, Tensor]:
            scores, after = self.network.advance(word.unsqueeze(1), state)
            return after, scores.squeeze(1)

        after, scores = scan(step, state, words.transpose(0, 1))
        return scores.transpose(0, 1), after


def _about(trained: Trained) -> dict[str, str]:
    """What the file says about itself; lists as JSON."""
    task = trained.predictor.task
    found = {
        "made_by": f"meritnas {__version__}",
        "architecture": trained.architecture.text,
        "task": task.kind,
        "target": task.target,
    }
    if task.classes:
        found["classes"] = json.dumps(list(task.classes))
    return found
