"""What pictures become, in plain terms."""

from __future__ import annotations

from typing import Any

from meritnas.data.images.encoder import ImageEncoder

_PICTURES = (
    "the first frame, turned as its EXIF orientation says",
    "what is transparent is put on white; 16-bit grey becomes round(value / 257)",
    "in colours of 8 bits, red, green, blue; large JPEGs may be decoded at a fraction of their "
    "size, at least twice the longer side",
    "another size than height by width: scaled bilinearly until both sides are covered, and what "
    "is then too much of one side cut off at both ends alike (Pillow: ImageOps.fit)",
    "for 1 channel, red, green and blue become (19595 r + 38470 g + 7471 b + 32768) // 65536",
    "arrays: numbers from 0 to 1 times 255, 16-bit ones times 255 / 65535, rounded; grey ones "
    "repeated for 3 channels",
)


def describe_images(encoder: ImageEncoder) -> dict[str, Any]:
    """What pictures become."""
    return {
        "kind": "images",
        "inputs": "model.onnx and model.pt2 take `pixels`, uint8 [n, height, width, channels]. "
        "model.py takes float32 [n, channels, height, width], (pixel / 255 - mean) / std of each "
        "channel.",
        "pictures": list(_PICTURES),
        "height": encoder.height,
        "width": encoder.width,
        "channels": encoder.channels,
        "mean": list(encoder.mean),
        "std": list(encoder.std),
    }
