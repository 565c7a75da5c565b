from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor, nn
from torch.export import Dim

from meritnas.data.columns.encoder import TableEncoder
from meritnas.data.images.encoder import ImageEncoder
from meritnas.data.task import Task
from meritnas.data.texts.encoder import TextEncoder
from meritnas.errors import UsageError
from meritnas.exporting.pooled_windows import with_pooled_windows
from meritnas.exporting.table_rows import PERIODS, TableRows, raw_numbers
from meritnas.exporting.trained import Trained
from meritnas.families.operations import Noise
from meritnas.families.recurrent.child import RecurrentNetwork
from meritnas.version import __version__

Sample: TypeAlias = Callable[[int, int], tuple[Tensor, ...]]
"""How many rows, seed -> inputs."""

_STEPS = 5
_MISSING = 0.1


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

    Inputs are, of tables: `numbers` and `codes` (see `TableRows`; one of them may be absent); of
    images: `pixels` uint8 [n, h, w, channels]; of texts: `words` int64 [n, steps] and `state`
    [n, width], zeros at the beginning; of several modalities: encoded `rows` [n, width].

    Outputs are `scores` [n, outputs] and, of classes, `probabilities` [n, classes], of numbers,
    `predicted` [n] on the target's own scale, of texts, `state_after` the last word.

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
    about = _about(trained)
    if isinstance(encoder, TextEncoder):
        return _language(network, about)
    answer = "predicted" if task.kind == "regression" else "probabilities"
    before, free, sample = _before(trained)
    whole = _Whole(before, with_pooled_windows(network), task).eval()
    own = _Whole(before, network, task).eval()
    outputs, shapes = ("scores", answer), tuple(free.values())
    return Graph(whole, tuple(free), outputs, shapes, sample, own, about)


def network_inputs(trained: Trained, n: int, seed: int) -> Tensor:
    """What the network itself reads of n random rows, images or texts."""
    if isinstance(trained.predictor.encoder, TextEncoder):
        return _language(trained.predictor.module, {}).sample(n, seed)[0]
    before, _, sample = _before(trained)
    found: Tensor = before(*sample(n, seed))
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


def _before(
    trained: Trained,
) -> tuple[nn.Module, dict[str, dict[int, str]], Sample]:
    """What comes before the network, its inputs with their free dimensions, random inputs."""
    encoder = trained.predictor.encoder
    if isinstance(encoder, TableEncoder):
        named = {"numbers": raw_numbers(encoder), "codes": encoder.category_columns}
        free = {name: {0: "n"} for name, columns in named.items() if columns}
        return TableRows(encoder), free, lambda n, seed: _table_sample(encoder, n, seed)
    if isinstance(encoder, ImageEncoder):
        shape = (encoder.height, encoder.width, encoder.channels)

        def pixels(n: int, seed: int) -> tuple[Tensor, ...]:
            return (torch.randint(256, (n, *shape), generator=_seeded(seed)).to(torch.uint8),)

        return _Pixels(encoder), {"pixels": {0: "n"}}, pixels
    assert not isinstance(encoder, TextEncoder)
    width = encoder.layout.width

    def rows(n: int, seed: int) -> tuple[Tensor, ...]:
        return (torch.rand(n, width, generator=_seeded(seed)),)

    return nn.Identity(), {"rows": {0: "n"}}, rows


class _Whole(nn.Module):
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


class _Pixels(nn.Module):
    """Pixels uint8 [n, h, w, channels] -> images float32 [n, channels, h, w], standardised."""

    mean: Tensor
    std: Tensor

    def __init__(self, encoder: ImageEncoder) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(encoder.mean), persistent=False)
        self.register_buffer("std", torch.tensor(encoder.std), persistent=False)

    def forward(self, pixels: Tensor) -> Tensor:
        """As `ImageEncoder.transform`, but for the last digit."""
        return ((pixels.float() / 255 - self.mean) / self.std).permute(0, 3, 1, 2)


def _language(network: nn.Module, about: dict[str, str]) -> Graph:
    assert isinstance(network, RecurrentNetwork)
    vocabulary, width = network.words.num_embeddings, network.width

    def sample(n: int, seed: int) -> tuple[Tensor, ...]:
        generator = _seeded(seed)
        words = torch.randint(vocabulary, (n, _STEPS + seed), generator=generator)
        return words, torch.randn(n, width, generator=generator)

    loop = _Loop(network).eval()
    free: tuple[dict[int, str], ...] = ({0: "n", 1: "steps"}, {0: "n"})
    inputs, outputs = ("words", "state"), ("scores", "state_after")
    return Graph(loop, inputs, outputs, free, sample, network.advance, about)


class _Loop(nn.Module):
    """A language model with a loop that a graph can hold, so that texts may have any length."""

    def __init__(self, network: RecurrentNetwork) -> None:
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


def _table_sample(encoder: TableEncoder, n: int, seed: int) -> tuple[Tensor, ...]:
    generator = _seeded(seed)
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


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def _about(trained: Trained) -> dict[str, str]:
    """What the file says about itself; lists as JSON."""
    encoder, task = trained.predictor.encoder, trained.predictor.task
    found = {
        "made_by": f"meritnas {__version__}",
        "architecture": trained.architecture.text,
        "task": task.kind,
        "target": task.target,
    }
    if task.classes:
        found["classes"] = json.dumps(list(task.classes))
    if isinstance(encoder, TableEncoder):
        found["numbers"] = json.dumps(raw_numbers(encoder))
        found["codes"] = json.dumps([column.name for column in encoder.category_columns])
    return found
