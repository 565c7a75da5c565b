"""Files and folders of images; what is read is an `ImageSource`."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bad_files.case import Case, Maker, refused
from PIL import Image

N = 12
PIXELS = np.arange(N * 5 * 4, dtype=np.uint8).reshape(N, 5, 4)
LABELS = (np.arange(N) % 3).astype(np.uint8)
IDX, IDX_LABELS = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"


def idx(array: np.ndarray, *shape: int) -> bytes:
    """An idx file that claims this shape."""
    sides = shape or array.shape
    return bytes((0, 0, 8, len(sides))) + struct.pack(f">{len(sides)}I", *sides) + array.tobytes()


def files(**contents: bytes) -> Maker:
    """A folder of these files."""

    def make(folder: Path) -> Path:
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        return folder

    return make


def mnist(images: bytes, labels: bytes = idx(LABELS)) -> Maker:
    return files(**{IDX: images, IDX_LABELS: labels})


def same(source: Any) -> bool:
    return np.array_equal(source.images[..., 0], PIXELS)


def cifar(name: str, content: bytes) -> Maker:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return make


def records(count: int, label_bytes: int = 1) -> bytes:
    rows = np.zeros((count, label_bytes + 3072), dtype=np.uint8)
    rows[:, label_bytes - 1] = np.arange(count) % 3
    return rows.tobytes()


def encoded(picture: Image.Image, form: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    picture.save(stream, form, **options)
    return stream.getvalue()


def grey(level: int = 7) -> Image.Image:
    return Image.new("L", (6, 5), level)


def pets(content: bytes, name: str = "odd.png") -> Maker:
    """A folder of two classes of good pictures, and one of these bytes."""

    def make(folder: Path) -> Path:
        for number in range(N):
            place = folder / ("cat", "dog")[number % 2]
            place.mkdir(exist_ok=True)
            (place / f"{number}.png").write_bytes(encoded(grey(number)))
        (folder / "cat" / name).write_bytes(content)
        return folder

    return make


def drawn(picture: Image.Image, form: str = "PNG", **options: Any) -> Maker:
    return pets(encoded(picture, form, **options))


def odd_is(level: int, channels: int = 1) -> Callable[[Any], bool]:
    """Whether the odd picture, the last of the cats, has this grey in its middle."""

    def right(source: Any) -> bool:
        odd = source.images[source.labels.tolist().count("cat") - 1]
        return odd.shape[2] == channels and abs(int(odd[2, 2, 0]) - level) <= 1

    return right


def chunk(kind: bytes, content: bytes) -> bytes:
    check = struct.pack(">I", zlib.crc32(kind + content))
    return struct.pack(">I", len(content)) + kind + content + check


def png_of(width: int, height: int, content: bytes = b"") -> bytes:
    """A PNG that claims this size."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    body = chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + body


def animated() -> bytes:
    frames = [Image.new("P", (6, 5), k) for k in (0, 1)]
    for frame in frames:
        frame.putpalette([9] * 3 + [200] * 3)
    return encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])


def with_folder(folder: Path) -> Path:
    """A folder in the place of a picture."""
    pets(b"x", "a.txt")(folder)
    (folder / "cat" / "inner.png").mkdir()
    return folder


def with_loop(folder: Path) -> Path:
    """A link that leads to where it is."""
    pets(b"x", "a.txt")(folder)
    (folder / "cat" / "again").symlink_to(folder, target_is_directory=True)
    return folder


def with_pipe(folder: Path) -> Path:
    pets(b"x", "a.txt")(folder)
    os.mkfifo(folder / "cat" / "pipe.png")
    return folder


def with_broken_link(folder: Path) -> Path:
    pets(b"x", "a.txt")(folder)
    (folder / "cat" / "gone.png").symlink_to(folder / "nowhere.png")
    return folder


def only_folders(folder: Path) -> Path:
    (folder / "cat").mkdir()
    (folder / "dog").mkdir()
    (folder / "cat" / "inner.png").mkdir()
    return folder


def batch(folder: Path, content: Any) -> Path:
    (folder / "data_batch_1").write_bytes(pickle.dumps(content))
    return folder


ROWS = np.zeros((N, 3072), dtype=np.uint8)
NO_PICTURE = "damaged or no picture"

IMAGES: dict[str, Case] = {
    "idx": Case(mnist(idx(PIXELS)), reads=same),
    "idx: packed": Case(mnist(gzip.compress(idx(PIXELS))), reads=same),
    "idx: empty": Case(mnist(b""), "begins with the bytes none"),
    "idx: header alone": Case(mnist(idx(PIXELS)[:16]), "but has 0"),
    "idx: half a header": Case(mnist(idx(PIXELS)[:9]), "within its header"),
    "idx: cut off": Case(mnist(idx(PIXELS)[:-1]), "240 bytes but has 239"),
    "idx: too long": Case(mnist(idx(PIXELS) + b"x"), "but has 241"),
    "idx: 2**96 bytes": Case(mnist(idx(PIXELS, *[2**32 - 1] * 3)), "but has 240"),
    "idx: no images": Case(mnist(idx(PIXELS[:0]), idx(LABELS[:0])), "too few"),
    "idx: no pixels": Case(mnist(idx(PIXELS[:, :0])), "no pixels"),
    "idx: another type": Case(mnist(b"\x00\x00\x0d" + idx(PIXELS)[3:]), "begins with"),
    "idx: labels as images": Case(mnist(idx(LABELS)), "begins with"),
    "idx: images as labels": Case(mnist(idx(PIXELS), idx(PIXELS)), "begins with"),
    "idx: too few labels": Case(mnist(idx(PIXELS), idx(LABELS[:5])), "5 labels for 12"),
    "idx: packed and cut off": Case(mnist(gzip.compress(idx(PIXELS))[:-9]), "gzip"),
    "idx: a bomb": Case(
        mnist(gzip.compress(bytes(5_000_000))),
        "--max-unpacked-mb",
        options=("--max-unpacked-mb", "2"),
    ),
    "idx: text": Case(mnist(b"hello"), "begins with the bytes 68 65"),
    "CIFAR: good": Case(cifar("data_batch_1.bin", records(N)), reads=lambda s: len(s.images) == N),
    "CIFAR: hundred": Case(cifar("train.bin", records(N, 2)), reads=lambda s: len(s.images) == N),
    "CIFAR: empty": Case(cifar("data_batch_1.bin", b""), "has 0 bytes"),
    "CIFAR: a byte too few": Case(cifar("data_batch_1.bin", records(N)[1:]), "are left over"),
    "CIFAR: a byte too many": Case(cifar("train.bin", records(N, 2) + b"x"), "1 are left over"),
    "CIFAR: anything": Case(cifar("program.bin", b"\x7fELF" + bytes(999)), "are left over"),
    "CIFAR: labels without names": Case(
        files(**{"data_batch_1.bin": records(N), "batches.meta.txt": b"cat\ndog\n"}),
        "2 class names",
    ),
    "CIFAR: no dictionary": Case(lambda folder: batch(folder, [1]), "is a dictionary"),
    "CIFAR: no images": Case(lambda folder: batch(folder, {"a": 1}), "has no images"),
    "CIFAR: text as images": Case(
        lambda folder: batch(folder, {"data": "x", "labels": [1]}), "has no images"
    ),
    "CIFAR: other images": Case(
        lambda folder: batch(folder, {"data": ROWS[:, 1:], "labels": [0] * N}), "uint8 [12, 3071]"
    ),
    "CIFAR: a function": Case(lambda folder: batch(folder, {"data": os.getcwd}), "do not trust"),
    "CIFAR: objects": Case(
        lambda folder: batch(folder, {"data": np.array([{}, []], dtype=object)}), "do not trust"
    ),
    "an archive": refused("images.tar.gz", b"x", "unpack it"),
    "one picture": refused("cat.png", encoded(grey()), "is one picture"),
    "pictures: empty": Case(pets(b""), NO_PICTURE),
    "pictures: text": Case(pets(b"hello"), NO_PICTURE),
    "pictures: HTML": Case(pets(b"<html>not found</html>"), NO_PICTURE),
    "pictures: magic alone": Case(pets(b"\x89PNG\r\n\x1a\n"), NO_PICTURE),
    "pictures: cut off": Case(pets(encoded(grey())[:-30]), NO_PICTURE),
    "pictures: a cut JPEG": Case(
        pets(encoded(Image.effect_noise((64, 64), 99), "JPEG")[:-900]), NO_PICTURE
    ),
    "pictures: a cut GIF": Case(pets(animated()[:30]), NO_PICTURE),
    "pictures: a cut TIFF": Case(pets(encoded(grey(), "TIFF")[:-40]), NO_PICTURE),
    "pictures: a wrong check sum": Case(
        pets(encoded(grey()).replace(b"IDAT", b"IDAX")), NO_PICTURE
    ),
    "pictures: a PostScript program": Case(
        pets(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"),
        NO_PICTURE,
    ),
    "pictures: a PDF": Case(pets(b"%PDF-1.4\n%EOF"), NO_PICTURE),
    "pictures: 2**62 pixels": Case(pets(png_of(2**31 - 1, 2**31 - 1)), "89,478,485 pixels"),
    "pictures: a billion pixels": Case(pets(png_of(32_000, 32_000)), "89,478,485 pixels"),
    "pictures: a hundred million pixels": Case(pets(png_of(10_000, 10_000)), "89,478,485 pixels"),
    "pictures: no pixels": Case(pets(png_of(0, 0)), NO_PICTURE),
    "pictures: a claimed million": Case(pets(png_of(1000, 1000, b"\x00")), NO_PICTURE),
    "pictures: another ending": Case(drawn(grey(90).convert("RGB"), "BMP"), reads=odd_is(90)),
    "pictures: 1 bit": Case(drawn(Image.new("1", (6, 5), 1)), reads=odd_is(255)),
    "pictures: 16 bits": Case(drawn(Image.new("I;16", (6, 5), 257 * 90)), reads=odd_is(90)),
    "pictures: a palette": Case(pets(animated()), reads=odd_is(9)),
    "pictures: clear": Case(drawn(Image.new("RGBA", (6, 5), (9, 9, 9, 0))), reads=odd_is(255)),
    "pictures: grey and clear": Case(drawn(Image.new("LA", (6, 5), (9, 0))), reads=odd_is(255)),
    "pictures: CMYK": Case(drawn(Image.new("CMYK", (6, 5)), "JPEG"), reads=odd_is(255)),
    "pictures: colours": Case(drawn(Image.new("RGB", (6, 5), (200, 0, 0))), reads=odd_is(200, 3)),
    "pictures: fractions": Case(drawn(Image.new("F", (6, 5), 0.5), "TIFF"), "fractions"),
    "pictures: 32 bits": Case(drawn(Image.new("I", (6, 5), 2**30), "TIFF"), "16 bits"),
    "pictures: one pixel": Case(drawn(Image.new("L", (1, 1), 50)), reads=odd_is(50)),
    "pictures: a thread": Case(drawn(Image.new("L", (3000, 1), 50)), reads=odd_is(50)),
    "pictures: a damaged note": Case(
        drawn(grey(50), exif=b"Exif\x00\x00MM\x00*\xff\xff\xff\xff"), reads=odd_is(50)
    ),
    "pictures: a hidden one": Case(pets(b"x", ".hidden.png"), reads=lambda s: len(s.images) == N),
    "pictures: a text beside": Case(pets(b"x", "notes.txt"), reads=lambda s: len(s.images) == N),
    "pictures: a folder as one": Case(with_folder, reads=lambda s: len(s.images) == N),
    "pictures: a link to itself": Case(with_loop, reads=lambda s: len(s.images) == N),
    "pictures: a pipe": Case(with_pipe, "is a pipe"),
    "pictures: a broken link": Case(with_broken_link, "does not exist"),
    "pictures: only folders": Case(only_folders, "no pictures"),
}
