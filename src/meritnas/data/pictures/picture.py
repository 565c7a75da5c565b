"""One picture file as pixels of a size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TypeAlias

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from meritnas.data.files.plain_file import check_plain_file
from meritnas.errors import DataError

PICTURE_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff")

_FORMATS = ("PNG", "JPEG", "BMP", "DIB", "GIF", "WEBP", "TIFF")
"""Pillow would go by what is in a file, and run a program of its own for some formats."""

PictureFile: TypeAlias = Path | bytes
"""Where a picture is, or what its file holds."""

Size: TypeAlias = tuple[int, int]
"""Height and width in pixels."""

_LYING = (5, 6, 7, 8)
"""EXIF orientations that swap height and width."""
_SMALL: Size = (8, 8)
_WORD = 65535
_WORD_PER_BYTE = 257
_ALPHA_MODES = ("RGBA", "RGBa", "LA", "La", "PA")


def is_picture(path: Path) -> bool:
    """Tells by its ending whether a file is a picture."""
    return path.suffix.lower() in PICTURE_ENDINGS


def is_readable(path: Path) -> bool:
    """Tells whether all of a picture can be read."""
    try:
        read_picture(path, str(path), _SMALL)
    except DataError:
        return False
    return True


def picture_size(file: PictureFile, name: str) -> Size:
    """Returns height and width of a picture as it is to be seen; its pixels are not read.

    Args:
        file: The picture.
        name: What errors call it.

    Raises:
        DataError: The picture is damaged.
    """
    with _opened(file, name) as picture:
        width, height = picture.size
        # Asking a PNG without orientation for one would read all of its pixels.
        told = "exif" in picture.info or picture.format == "TIFF"
        lying = told and picture.getexif().get(ExifTags.Base.Orientation) in _LYING
        return (width, height) if lying else (height, width)


def read_picture(file: PictureFile, name: str, size: Size) -> np.ndarray:
    """Returns the pixels of a picture at a size, uint8 [h, w, 3], grey ones with equal channels.

    The first frame counts; it is turned as its EXIF orientation says, what is transparent is
    white, 16-bit grey becomes 8-bit. To fit the size it is scaled, and what is then too much of
    its longer side is cut off at both ends.

    Args:
        file: The picture.
        name: What errors call it.
        size: Height and width of the result.

    Raises:
        DataError: The picture is damaged, or of a kind that has no 8-bit form.
    """
    height, width = size
    with _opened(file, name) as picture:
        # Large JPEGs are decoded several times faster at a fraction of their size.
        picture.draft(None, (2 * max(size), 2 * max(size)))
        colours = _on_white(ImageOps.exif_transpose(picture), name)
        if colours.size != (width, height):
            colours = ImageOps.fit(colours, (width, height), Image.Resampling.BILINEAR)
        return np.array(colours)


@contextmanager
def _opened(file: PictureFile, name: str) -> Iterator[Image.Image]:
    if isinstance(file, Path):
        check_plain_file(file)
    try:
        with (
            _large_ones_refused(),
            Image.open(BytesIO(file) if isinstance(file, bytes) else file, "r", _FORMATS) as found,
        ):
            yield found
    except DataError:
        raise
    except (Image.DecompressionBombWarning, Image.DecompressionBombError) as error:
        raise DataError(
            f"{name} has, or claims, more than {Image.MAX_IMAGE_PIXELS:,} pixels; scale it down or "
            "remove it"
        ) from error
    except Exception as error:  # Pillow has many kinds of them for damaged files
        known = isinstance(error, UnidentifiedImageError) or not str(error)
        reason = "" if known else f" ({error})"
        raise DataError(
            f"{name} is damaged or no picture{reason}; remove or replace this file"
        ) from error


@contextmanager
def _large_ones_refused() -> Iterator[None]:
    """Makes an error of Pillow's warning about more than 89 million pixels; of others nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        yield


def _on_white(picture: Image.Image, name: str) -> Image.Image:
    """Returns a picture in colours of 8 bits without transparency."""
    if picture.mode.startswith("I"):
        return _from_words(picture, name).convert("RGB")
    if picture.mode == "F":
        raise DataError(f"{name} holds fractions as pixels; save it with 8 or 16 bits per pixel")
    if picture.mode in _ALPHA_MODES or "transparency" in picture.info:
        seen = picture.convert("RGBA")
        white = Image.new("RGBA", seen.size, "white")
        return Image.alpha_composite(white, seen).convert("RGB")
    return picture.convert("RGB")


def _from_words(picture: Image.Image, name: str) -> Image.Image:
    """Returns 16-bit grey as 8-bit grey."""
    values = np.asarray(picture).astype(np.int64)
    if values.min() < 0 or values.max() > _WORD:
        raise DataError(
            f"{name} has pixels from {values.min()} to {values.max()}; "
            "save it with 8 or 16 bits per pixel"
        )
    return Image.fromarray(np.rint(values / _WORD_PER_BYTE).astype(np.uint8))
