"""Networks as the few operations that C is printed from, and their place in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import meritnas.nn as mn
from meritnas import Convnet, Darts, DartsUnique, Nasbench201, Residual, Tabular, UsageError
from meritnas.data.columns.inputs import TableInputs
from meritnas.exporting.c.arena import needed_at_once, planned
from meritnas.exporting.c.compiling import STRICT, compiler, runner
from meritnas.exporting.c.computed import computed
from meritnas.exporting.c.int8_computed import computed_in_int8
from meritnas.exporting.c.int8_lowering import in_int8
from meritnas.exporting.c.int8_source import int8_arena, int8_body
from meritnas.exporting.c.lowering import lowered
from meritnas.exporting.c.operations import Buffer
from meritnas.exporting.c.real_source import real_body
from meritnas.exporting.c.source import real_arena, written
from meritnas.families.built.family import space_of
from meritnas.families.family import Family, seeded
from meritnas.families.live_memory import peak_bytes

COLUMNS = TableInputs(5, (3, 9, 2))
FAMILIES: Mapping[str, tuple[Callable[[], Family], tuple[int, ...], int]] = {
    "tabular": (lambda: Tabular(layers=4, widths=(2, 5, 8, 13)).build(COLUMNS, 3, {}), (8,), 40),
    "residual": (lambda: Residual(blocks=3, widths=(4, 8, 24)).build(COLUMNS, 3, {}), (8,), 15),
    "convnet": (lambda: Convnet().build((3, 17, 14), 4, {}), (3, 17, 14), 15),
    "nasbench201": (
        lambda: Nasbench201(channels=4, cells=1).build((3, 9, 11), 4, {}),
        (3, 9, 11),
        20,
    ),
    "darts": (lambda: Darts(channels=4, cells=4).build((3, 9, 10), 4, {}), (3, 9, 10), 4),
    "darts, large stem": (
        lambda: Darts(channels=4, cells=3, stem="imagenet").build((3, 33, 32), 4, {}),
        (3, 33, 32),
        2,
    ),
    "darts-unique": (
        lambda: DartsUnique(channels=4, cells=5).build((3, 8, 7), 4, {}),
        (3, 8, 7),
        2,
    ),
}


def living(network: nn.Module) -> nn.Module:
    """With norms that have seen something."""
    with seeded(0):
        for part in network.modules():
            if isinstance(part, nn.BatchNorm2d):
                for weight in (part.running_mean, part.weight, part.bias):
                    nn.init.normal_(weight)  # type: ignore[arg-type]
                nn.init.uniform_(part.running_var, 0.5, 2.0)  # type: ignore[arg-type]
            if isinstance(part, nn.LayerNorm) and part.weight is not None:
                nn.init.normal_(part.weight)
                nn.init.normal_(part.bias)
    return network.eval().requires_grad_(False)


def rows_of(shape: tuple[int, ...], count: int = 3) -> Tensor:
    rows = torch.randn(count, *shape, generator=torch.Generator().manual_seed(0))
    if len(shape) == 1:
        rows[:, COLUMNS.numbers :] = torch.tensor(
            [[0.0, 8.0, 1.0], [2.0, 3.0, 0.0], [1.0, 1.0, 1.0]]
        )
    return rows


@pytest.mark.parametrize("name", FAMILIES)
def test_the_arena_of_random_networks_is_the_counted_peak(name: str) -> None:
    make, shape, count = FAMILIES[name]
    family, rows, rng = make(), rows_of(shape), np.random.default_rng(0)
    for _ in range(count):
        chosen = family.space.random(rng)
        network = living(family.child(chosen))
        program = lowered(network, rows[:1])
        assert 4 * planned(program.buffers)[1] == family.cost(chosen, "peak"), chosen.text
        own = network(rows)
        assert torch.allclose(computed(program, rows), own, rtol=1e-4, atol=1e-4), chosen.text


class Several(nn.Module):
    """Grouped and dilated convolutions, pooling of every sort, squeezing, sums and products."""

    def __init__(self) -> None:
        super().__init__()
        self.grouped = nn.Conv2d(4, 6, (3, 5), (2, 1), (1, 2), (1, 2), groups=2)
        self.norm, self.group = nn.BatchNorm2d(4), nn.GroupNorm(3, 6)
        self.counted = nn.AvgPool2d(3, 2, 1, ceil_mode=True)
        self.largest = nn.AdaptiveMaxPool2d((3, 2))
        self.shared = nn.AdaptiveAvgPool2d((3, 2))
        self.squeeze, self.last = nn.Conv2d(6, 6, 1), nn.Linear(72, 3)

    def forward(self, images: Tensor) -> Tensor:
        """[n, 4, h, w] -> [n, 3]."""
        found = nn.functional.hardswish(self.group(self.grouped(self.norm(images).relu())))
        found = found * self.squeeze(found.mean((2, 3), keepdim=True)).sigmoid()
        pooled = self.counted(found + found)
        parts = [self.largest(pooled), nn.functional.gelu(self.shared(pooled * 0.5 - 1.0))]
        return self.last(torch.cat(parts, 1).transpose(2, 3).flatten(1))


def described(shape: tuple[int, int, int], classes: int) -> dict[str, object]:
    c, h, w = shape
    names = ["*/ #error", "ends in \\", "??/", "caf\u00e9\n", *range(classes)][:classes]
    answers = {"task": "multiclass", "target": "/* a", "scores": "s", "classes": names}
    size = {"channels": c, "height": h, "width": w, "mean": [0.5] * c, "std": [0.25] * c}
    return {"kind": "images", "architecture": "a", "answers": answers, **size}


def image_network(name: str) -> tuple[nn.Module, np.ndarray, Tensor]:
    """A network, pictures, and what it reads of these."""
    if name == "several":
        network, shape = living(Several()), (4, 13, 11)
    else:
        make, shape, _ = FAMILIES[name]  # type: ignore[assignment]
        family = make()
        network = living(family.child(family.space.random(3)))
    pixels = np.random.default_rng(0).integers(0, 256, (4, *shape[1:], shape[0]), dtype=np.uint8)
    rows = ((torch.from_numpy(pixels).float() / 255 - 0.5) / 0.25).permute(0, 3, 1, 2)
    return network, pixels, rows.contiguous()


IMAGES = ("several", "convnet", "nasbench201", "darts, large stem")


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", IMAGES)
def test_compiled_networks_say_what_torch_says(name: str) -> None:
    network, pixels, rows = image_network(name)
    own = network(rows)
    program = lowered(network, rows[:1])
    offsets, size = planned(program.buffers)
    places = (offsets[one.buffer] + one.first for one in (program.given, program.scores))
    shape: tuple[int, int, int] = tuple(rows.shape[1:])  # type: ignore[assignment]
    made = written(
        described(shape, own.shape[1]), real_body(program, offsets), real_arena(size, *places)
    )
    assert 4 * size == peak_bytes(network, [rows[:1].clone()])
    scores, probabilities = runner(made.files, [own.shape[1]] * 2, STRICT)([pixels])
    assert np.allclose(scores, own.numpy(), rtol=1e-4, atol=1e-5)
    assert np.allclose(probabilities, own.softmax(1).numpy(), atol=1e-5)


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
@pytest.mark.parametrize("name", IMAGES)
def test_c_in_int8_computes_what_numpy_does(name: str) -> None:
    network, pixels, rows = image_network(name)
    own = network(rows).numpy()
    whole = in_int8(lowered(network, rows[:1]), [rows])
    offsets, size = planned(whole.buffers)
    shape: tuple[int, int, int] = tuple(rows.shape[1:])  # type: ignore[assignment]
    made = written(
        described(shape, own.shape[1]), int8_body(whole, offsets), int8_arena(whole, offsets, size)
    )
    known = computed_in_int8(whole, rows.numpy())
    scores, _ = runner(made.files, [own.shape[1]] * 2, STRICT)([pixels])
    assert np.allclose(scores, known, rtol=1e-5, atol=1e-6)
    assert 0 < np.abs(known - own).max() < 0.1 * own.std() + 0.05
    assert not any(word in made.files["model.c"] for word in ("alloc(", "alloca(", "free("))


@pytest.mark.parametrize("name", ["tabular", "residual"])
def test_tables_in_int8_are_near(name: str) -> None:
    make, shape, _ = FAMILIES[name]
    family, rows = make(), rows_of(shape)
    network = living(family.child(family.space.random(1)))
    own = network(rows).numpy()
    found = computed_in_int8(in_int8(lowered(network, rows[:1]), [rows]), rows.numpy())
    assert 0 < np.abs(found - own).max() < 0.1 * own.std()


def test_what_has_no_int8_form_is_named() -> None:
    network = nn.Sequential(nn.Linear(8, 4), _Quotient(), nn.Linear(4, 2)).eval()
    rows = torch.rand(3, 8)
    with pytest.raises(UsageError, match="sigmoid of what is read again in int8, for which"):
        in_int8(lowered(network, rows[:1]), [rows])


class _Quotient(nn.Module):
    def forward(self, rows: Tensor) -> Tensor:
        """[n, width] -> the same."""
        return rows / rows.sigmoid()


def test_a_build_function_of_ones_own() -> None:
    def build(pick: mn.Pick, inputs: int, outputs: int) -> nn.Module:
        width = pick.width("width", 4, 8)
        return nn.Sequential(mn.Linear(inputs, width), nn.Tanh(), mn.Linear(width, outputs))

    family = space_of(build, COLUMNS, 2)
    network = family.child("8").eval()
    program = lowered(network, rows_of((8,))[:1])
    assert 4 * planned(program.buffers)[1] == family.cost("8", "peak")
    assert torch.allclose(computed(program, rows_of((8,))), network(rows_of((8,))), atol=1e-5)


@pytest.mark.parametrize(
    ("network", "named"),
    [
        (nn.Softmax(dim=1), "the operation _softmax"),
        (nn.Sequential(nn.Unflatten(1, (2, 4)), nn.Linear(4, 3), nn.Flatten()), "several rows"),
        (nn.GELU("tanh"), "approximation of gelu"),
    ],
)
def test_what_has_no_c_form_is_named(network: nn.Module, named: str) -> None:
    with pytest.raises(UsageError, match=f"{named}.*for which there is no C form.*use --to onnx"):
        lowered(network.eval(), torch.randn(1, 8))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 9), st.integers(0, 4)), min_size=1))
def test_no_two_buffers_overlap_while_both_are_needed(
    rows: list[tuple[int, int, int]],
) -> None:
    buffers = {k: Buffer(size, born, born + life) for k, (size, born, life) in enumerate(rows)}
    places, size = planned(buffers)
    assert needed_at_once(buffers) <= size <= sum(one.numbers for one in buffers.values())
    for a, one in buffers.items():
        assert 0 <= places[a] <= size - one.numbers
        for b, other in buffers.items():
            together = a != b and one.born <= other.dies and other.born <= one.dies
            apart = places[a] >= places[b] + other.numbers or places[b] >= places[a] + one.numbers
            assert apart or not together
