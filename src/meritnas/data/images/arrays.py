"""Arrays of images as pixels."""

from __future__ import annotations

import numpy as np

from meritnas.errors import DataError

_CHANNELS = (1, 3)
_BYTE = 255
_WORD = 65535


def as_images(values: object, where: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """Returns an array of images as pixels.

    Images are [n, h, w] for grey, [n, h, w, c] or [n, c, h, w] with c = 1 or 3; where both of the
    latter fit, the last axis is the channels. Numbers from 0 to 1 are scaled up to 0..255 and
    16-bit numbers down to it; 8-bit numbers stay as they are.

    Args:
        values: The array.
        where: What errors call it.

    Returns:
        Pixels uint8 [n, h, w, c], which may share memory with `values`; and notes.

    Raises:
        DataError: The array has no such shape, or values out of range.
    """
    array = np.asarray(values)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    shaped, layout = _channels_last(array, where)
    pixels, scaling = _as_bytes(shaped, where)
    return np.ascontiguousarray(pixels), tuple(note for note in (layout, scaling) if note)


def _channels_last(array: np.ndarray, where: str) -> tuple[np.ndarray, str]:
    """Returns the array as [n, h, w, c], and a note or an empty string."""
    if array.ndim == 3 and array.size:
        return array[..., None], ""
    if array.ndim == 4 and array.size:
        if array.shape[3] in _CHANNELS:
            doubtful = array.shape[1] in _CHANNELS
            note = f"the last axis of {where} {list(array.shape)} is taken as the channels"
            return array, note if doubtful else ""
        if array.shape[1] in _CHANNELS:
            return array.transpose(0, 2, 3, 1), ""
    raise DataError(
        f"{where} has the shape {list(array.shape)}, but images are [n, height, width], "
        "[n, height, width, channels] or [n, channels, height, width] with 1 or 3 channels; "
        "reshape it"
    )


def _as_bytes(array: np.ndarray, where: str) -> tuple[np.ndarray, str]:
    """Returns the array as uint8, and a note or an empty string."""
    if array.dtype == np.uint8:
        return array, ""
    if array.dtype.kind == "b":
        return array.astype(np.uint8) * _BYTE, ""
    if array.dtype.kind not in "iuf":
        raise DataError(f"{where} holds values of type {array.dtype}; images are numbers")
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise DataError(f"{where} holds NaN or infinite values; correct or drop these images")
    words = array.dtype == np.uint16 and high > _BYTE
    top = _WORD if words else _BYTE if high > 1 else 1
    if low < 0 or high > top:
        raise DataError(
            f"{where} has values from {low:g} to {high:g}, but images go from 0 to 1 or from 0 to "
            "255; scale them"
        )
    note = "" if top == _BYTE else f"the values of {where}, 0 to {top}, are scaled to 0..255"
    if array.dtype.kind == "f" and top == _BYTE:
        note = f"the values of {where} are rounded to whole numbers 0..255"
    pixels = np.empty(array.shape, dtype=np.uint8)
    for place, image in enumerate(array):
        pixels[place] = np.rint(image.astype(np.float32) * (_BYTE / top))
    return pixels, note
