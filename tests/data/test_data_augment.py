from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import pytest
import torch
from torch import Tensor

from meritnas.data.augment import augmented
from meritnas.errors import DataError, UsageError
from meritnas.settings.augment import Augment


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def pictures(n: int, channels: int = 3, height: int = 7, width: int = 9) -> Tensor:
    """Every number is another one and none is 0."""
    count = n * channels * height * width
    numbers = torch.arange(1.0, count + 1).view(n, channels, height, width)
    return numbers.contiguous(memory_format=torch.channels_last)


def crops(image: Tensor, border: int) -> list[Tensor]:
    """All that a random crop [channels, height, width] can give."""
    height, width = image.shape[1:]
    large = torch.nn.functional.pad(image, (border,) * 4)
    places = range(2 * border + 1)
    return [large[:, y : y + height, x : x + width] for y in places for x in places]


def place(found: Tensor, candidates: list[Tensor]) -> int:
    """Which of the candidates it is."""
    (index,) = [i for i, one in enumerate(candidates) if torch.equal(one, found)]
    return index


def test_by_default_nothing_is_drawn_or_changed() -> None:
    images, own = pictures(3), generator()
    assert augmented(images, Augment(), own) is images
    assert torch.equal(own.get_state(), generator().get_state())
    assert not Augment().changes


@pytest.mark.parametrize("channels", [1, 3])
def test_a_crop_is_one_of_the_bordered_images_and_each_is_equally_likely(channels: int) -> None:
    image = pictures(1, channels, 5, 6)
    found = augmented(image.expand(900, -1, -1, -1), Augment(crop=1), generator())
    counts = [0] * 9
    for one in found:
        counts[place(one, crops(image[0], 1))] += 1
    assert min(counts) > 60
    assert max(counts) < 140


def test_every_image_is_changed_in_its_own_way() -> None:
    images = pictures(40)
    found = augmented(images, Augment(crop=2, flip=True), generator())
    drawn = {
        place(new, crops(old, 2) + [one.flip(2) for one in crops(old, 2)])
        for old, new in zip(images, found, strict=True)
    }
    assert len(drawn) > 15


def test_half_of_the_images_are_mirrored() -> None:
    images = pictures(400, 1, 2, 3)
    found = augmented(images, Augment(flip=True), generator())
    pairs = zip(images, found, strict=True)
    mirrored = sum(place(new, [old, old.flip(2)]) for old, new in pairs)
    assert 160 < mirrored < 240


@pytest.mark.parametrize("side", [1, 2, 3, 4, 40])
def test_a_square_is_blotted_out_around_any_centre(side: int) -> None:
    images = pictures(600)
    found = augmented(images, Augment(cutout=side), generator())
    blotted = found == 0
    assert torch.equal(found[~blotted], images[~blotted])
    assert torch.equal(blotted, blotted[:, :1].expand_as(blotted))
    expected = set()
    for y in range(7):
        for x in range(9):
            mask = torch.zeros(7, 9, dtype=torch.bool)
            top, left = y - side // 2, x - side // 2
            mask[max(0, top) : top + side, max(0, left) : left + side] = True
            expected.add(tuple(mask.flatten().tolist()))
    assert {tuple(one[0].flatten().tolist()) for one in blotted} == expected


def test_squares_are_blotted_out_of_cropped_images() -> None:
    images = pictures(50)
    both = augmented(images, Augment(crop=2, flip=True, cutout=3), generator())
    cropped = augmented(images, Augment(crop=2, flip=True), generator())
    kept = both != 0
    assert torch.equal(both[kept], cropped[kept])
    assert (~kept & (cropped != 0)).any()


@pytest.mark.parametrize("augment", [Augment(2), Augment(flip=True), Augment(1, True, 3)])
@pytest.mark.parametrize("layout", [torch.channels_last, torch.contiguous_format])
def test_shapes_layout_and_inputs(augment: Augment, layout: torch.memory_format) -> None:
    images = pictures(4).contiguous(memory_format=layout)
    before = images.clone()
    found = augmented(images, augment, generator())
    assert torch.equal(images, before)
    assert found.shape == images.shape
    assert found.dtype == images.dtype
    assert found.is_contiguous(memory_format=torch.channels_last)
    same = augmented(pictures(4), augment, generator())
    assert torch.equal(found, same)
    assert not torch.equal(augmented(images, augment, generator(1)), found)


def test_drawing_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    augmented(pictures(4), Augment(2, True, 3), generator())
    assert torch.equal(torch.get_rng_state(), before)


def test_it_survives_json() -> None:
    augment = Augment(4, True, 16)
    assert Augment(**json.loads(json.dumps(asdict(augment)))) == augment


@pytest.mark.parametrize(
    "wrong",
    [{"crop": -1}, {"crop": 1.5}, {"cutout": -2}, {"cutout": "4"}, {"flip": 1}, {"flip": "no"}],
)
def test_values_that_make_no_sense_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="must be"):
        Augment(**wrong)


@pytest.mark.parametrize("shape", [(5, 8), (5, 1, 4, 9), (5, 1, 9, 4), (1, 9, 9)])
def test_only_images_larger_than_the_border_are_taken(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match=r"crop of 4.*got the shape \[.*leave them out"):
        augmented(torch.zeros(shape), Augment(crop=4), generator())


def spots(n: int, height: int, width: int, y: float, x: float) -> Tensor:
    """A soft spot at (y, x) pixels from the centre."""
    rows = torch.arange(height)[:, None] - (height - 1) / 2 - y
    columns = torch.arange(width)[None, :] - (width - 1) / 2 - x
    one = torch.exp(-(rows**2 + columns**2) / 4)
    return one.expand(n, 1, height, width)


def centres(images: Tensor) -> Tensor:
    """Of what is in images [n, 1, h, w], in pixels from the middle: [n, 2]."""
    weights = images[:, 0] / images.sum((1, 2, 3))[:, None, None]
    places = [torch.arange(size) - (size - 1) / 2 for size in images.shape[2:]]
    return torch.stack(
        [(weights.sum(2) * places[0]).sum(1), (weights.sum(1) * places[1]).sum(1)], 1
    )


@pytest.mark.parametrize(("height", "width"), [(33, 33), (33, 49), (49, 33)])
def test_a_turn_keeps_distances_and_is_at_most_as_wide_as_asked_for(
    height: int, width: int
) -> None:
    found = centres(augmented(spots(400, height, width, 0, 9), Augment(rotation=30), generator()))
    torch.testing.assert_close(found.norm(dim=1), torch.full((400,), 9.0), atol=0.15, rtol=0)
    angles = torch.rad2deg(torch.atan2(found[:, 0], found[:, 1]))
    assert angles.abs().max() <= 30.5
    assert angles.min() < -25
    assert angles.max() > 25
    assert abs(float(angles.mean())) < 3


def test_turned_images_are_channels_last_whatever_else_is_done_to_them() -> None:
    images = pictures(4)
    for augment in (Augment(rotation=20), Augment(rotation=20, crop=1, cutout=3)):
        found = augmented(images, augment, generator())
        assert found.shape == images.shape
        assert found.is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(found, augmented(images, augment, generator()))
    assert not torch.equal(augmented(images, Augment(rotation=20), generator()), images)
