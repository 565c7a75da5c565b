"""NumPy archives of images; what is read is an `ImageSource`."""

from __future__ import annotations

import io
import struct
import warnings
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bad_files.case import Case, Maker, refused
from PIL import Image

N = 12
PIXELS = np.arange(N * 5 * 4, dtype=np.uint8).reshape(N, 5, 4)
LABELS = np.arange(N) % 3


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def claims(kind: str, shape: str, content: bytes = b"", version: int = 1) -> bytes:
    """An array whose header says this, whatever it holds."""
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    size = struct.pack("<H" if version == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes((version, 0)) + size + header + content


def zipped(members: Mapping[str, bytes] | list[tuple[str, bytes]], **options: Any) -> bytes:
    stream = io.BytesIO()
    pairs = members.items() if isinstance(members, Mapping) else members
    with zipfile.ZipFile(stream, "w", **options) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a name that occurs twice
        for name, content in pairs:
            file.writestr(name, content)
    return stream.getvalue()


def archive(content: bytes) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / "a.npz"
        path.write_bytes(content)
        return path

    return make


def saved(packed: bool = False, **arrays: Any) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / "a.npz"
        (np.savez_compressed if packed else np.savez)(path, **arrays)
        return path

    return make


def images(content: bytes) -> Maker:
    """The array of images is this, beside good labels."""
    return archive(zipped({"images.npy": content, "labels.npy": npy(LABELS)}))


def changed(change: Callable[[bytes], bytes]) -> Maker:
    good = zipped({"images.npy": npy(PIXELS), "labels.npy": npy(LABELS)})
    return archive(change(good))


def good(source: Any) -> bool:
    """Whether images and labels are the good ones."""
    same = np.array_equal(source.images[..., 0], PIXELS)
    return bool(same and source.labels.tolist() == LABELS.tolist())


def claimed_size(size: int) -> Callable[[bytes], bytes]:
    """The first file of an archive claims this size, in both places that say so."""

    def change(content: bytes) -> bytes:
        old = struct.pack("<I", len(npy(PIXELS)))
        return content.replace(old, struct.pack("<I", size))

    return change


def locked(content: bytes) -> bytes:
    """The archive as one with a password."""
    first = content.index(b"PK\x01\x02")
    flags = b"\x01\x00"
    return content[:6] + flags + content[8 : first + 8] + flags + content[first + 10 :]


def method(number: int) -> Callable[[bytes], bytes]:
    """The first file of an archive is packed in this way."""

    def change(content: bytes) -> bytes:
        first, way = content.index(b"PK\x01\x02"), struct.pack("<H", number)
        return content[:8] + way + content[10 : first + 10] + way + content[first + 12 :]

    return change


def png(mode: str = "L") -> bytes:
    stream = io.BytesIO()
    Image.new(mode, (5, 4)).save(stream, "PNG")
    return stream.getvalue()


def pictures(offsets: Any, content: bytes = png() * N) -> Maker:
    each = np.frombuffer(content, np.uint8)
    return saved(jpeg_bytes=each, offsets=np.array(offsets), labels=LABELS)


ENDS = [k * len(png()) for k in range(N + 1)]

ARCHIVES: dict[str, Case] = {
    "empty": refused("a.npz", b"", "not made by numpy.savez"),
    "text": refused("a.npz", b"a,b\n1,2\n", "not made by numpy.savez"),
    "an array alone": refused("a.npz", npy(PIXELS), "not made by numpy.savez"),
    "a pickle": refused("a.npz", b"cos\nsystem\n(S'exit'\ntR.", "not made by numpy.savez"),
    "no arrays": Case(archive(zipped({})), "no images under a known name"),
    "no array files": Case(archive(zipped({"images": b"hello", "y": b""})), "damaged"),
    "other names": Case(saved(first=PIXELS, second=LABELS), "no images under a known name"),
    "no labels": Case(saved(images=PIXELS), "no labels"),
    "names with slashes": Case(saved(**{"a/images": PIXELS, "../labels": LABELS}), "no images"),
    "names a terminal obeys": Case(saved(**{"\x1b[2J": PIXELS}), "no images"),
    "a name of 60,000 letters": Case(saved(**{"n" * 60_000: PIXELS}), "no images"),
    "a name twice": Case(
        archive(
            zipped([("images.npy", b"?"), ("images.npy", npy(PIXELS)), ("labels.npy", npy(LABELS))])
        ),
        reads=good,
    ),
    "a folder in it": Case(
        archive(zipped({"x/": b"", "images.npy": npy(PIXELS), "labels.npy": npy(LABELS)})),
        reads=good,
    ),
    "cut off": Case(changed(lambda c: c[:-30]), "not made by numpy.savez"),
    "its beginning cut off": Case(changed(lambda c: c[90:]), "a.npz"),
    "zeros within": Case(changed(lambda c: c[:60] + bytes(40) + c[100:]), "damaged"),
    "a wrong check sum": Case(changed(lambda c: c[:200] + b"\xff\xff" + c[202:]), "damaged"),
    "less than it claims": Case(changed(claimed_size(9_000)), "a.npz"),
    "4 GB of nothing": Case(changed(claimed_size(0xFFFFFFF0)), "--max-unpacked-mb"),
    "a password": Case(changed(locked), "password"),
    "a way of packing there is not": Case(changed(method(77)), "damaged"),
    "not packed as it says": Case(changed(method(8)), "damaged"),
    "218 TiB": Case(images(claims("'<f8'", "(30000000000000,)")), "says it is float64"),
    "218 TiB of axes": Case(images(claims("'|u1'", f"({', '.join(['99999'] * 4)})")), "says it is"),
    "more digits than memory": Case(images(claims("'|u1'", f"({'9' * 3000},)")), "says it is"),
    "a negative side": Case(images(claims("'|u1'", "(-4, -5, 12)", bytes(240))), "says it is"),
    "a side that is text": Case(images(claims("'|u1'", "('a',)")), "damaged"),
    "sides of nothing": Case(images(claims("'|u1'", "(0, 99999999999999, 99999999999)")), "a.npz"),
    "a hundred axes": Case(images(claims("'|u1'", f"({'1, ' * 100})", b"a")), "damaged"),
    "no axes": Case(saved(images=np.uint8(7), labels=LABELS), "has the shape"),
    "more than it says": Case(images(claims("'|u1'", "(2, 2)", bytes(99))), "but has 99 bytes"),
    "a header that runs code": Case(images(claims("__import__('os')", "(1,)")), "damaged"),
    "a header of a megabyte": Case(
        images(claims("'" + "a" * 10**6 + "'", "(1,)", version=2)), "damaged"
    ),
    "a header that is cut off": Case(images(b"\x93NUMPY\x01\x00\xff\xff{"), "damaged"),
    "an old version": Case(images(b"\x93NUMPY\x00\x09" + bytes(99)), "a.npz"),
    "a type there is not": Case(images(claims("'<q9'", "(1,)")), "damaged"),
    "objects": Case(
        saved(images=np.array([{}, []], dtype=object), labels=LABELS), "Python objects"
    ),
    "objects by their header": Case(images(claims("'|O'", "(1,)", b"A" * 8)), "Python objects"),
    "columns with objects": Case(
        images(claims("[('a', '|O')]", "(1,)", b"A" * 8)), "Python objects"
    ),
    "columns": Case(saved(images=np.zeros(N, [("a", "u1"), ("b", "f4")]), labels=LABELS), "plain"),
    "columns with other letters": Case(
        saved(images=np.zeros(N, [("\u00e4", "u1")])), "plain arrays"
    ),
    "raw bytes": Case(images(claims("'|V9'", "(1,)", b"A" * 9)), "plain arrays"),
    "types within types": Case(images(claims("('<f4', (2,))", "(1,)", bytes(8))), "plain arrays"),
    "complex numbers": Case(saved(images=PIXELS * 1j, labels=LABELS), "images are numbers"),
    "dates as pixels": Case(saved(images=PIXELS.astype("M8[s]"), labels=LABELS), "are numbers"),
    "text as pixels": Case(saved(images=PIXELS.astype(str), labels=LABELS), "images are numbers"),
    "NaN as pixels": Case(saved(images=PIXELS * np.nan, labels=LABELS), "NaN"),
    "huge pixels": Case(saved(images=PIXELS * 1e300, labels=LABELS), "from 0 to 1"),
    "negative pixels": Case(saved(images=PIXELS - 300.0, labels=LABELS), "scale them"),
    "no pixels": Case(saved(images=PIXELS[:, :0], labels=LABELS), "has the shape"),
    "two axes": Case(saved(images=PIXELS[0], labels=LABELS), "has the shape"),
    "seven channels": Case(saved(images=np.zeros((N, 5, 5, 7)), labels=LABELS), "has the shape"),
    "Fortran's order": Case(saved(images=np.asfortranarray(PIXELS), labels=LABELS), reads=good),
    "the other order of bytes": Case(
        saved(images=PIXELS.astype(">u2"), labels=LABELS.astype(">i4")), reads=good
    ),
    "words the other way round": Case(
        saved(images=PIXELS.astype(">u2") * 257, labels=LABELS), reads=good
    ),
    "truth values as pixels": Case(
        saved(images=PIXELS > 99, labels=LABELS), reads=lambda s: set(s.images.flat) == {0, 255}
    ),
    "packed": Case(saved(True, images=PIXELS, labels=LABELS), reads=good),
    "a bomb": Case(
        saved(True, images=np.zeros((30, 300, 300)), labels=np.arange(30) % 2),
        "--max-unpacked-mb",
        options=("--max-unpacked-mb", "2"),
    ),
    "a bomb of another packing": Case(
        archive(zipped({"images.npy": bytes(5_000_000)}, compression=zipfile.ZIP_LZMA)),
        "--max-unpacked-mb",
        options=("--max-unpacked-mb", "2"),
    ),
    "too few labels": Case(saved(images=PIXELS, labels=LABELS[:3]), "3 labels for 12 images"),
    "labels of NaN": Case(saved(images=PIXELS, labels=LABELS * np.nan), "label nan"),
    "labels of a table": Case(saved(images=PIXELS, labels=np.zeros((N, 2, 2))), "of shape"),
    "labels of dates": Case(saved(images=PIXELS, labels=LABELS.astype("M8[s]")), "labels of type"),
    "labels that are no Unicode": Case(
        archive(
            zipped(
                {
                    "images.npy": npy(PIXELS),
                    "labels.npy": claims("'<U1'", "(12,)", b"\xff\xff\xff\x7f" * N),
                }
            )
        ),
        "no Unicode",
    ),
    "labels of half letters": Case(
        archive(
            zipped(
                {
                    "images.npy": npy(PIXELS),
                    "labels.npy": claims("'<U1'", "(12,)", b"\x00\xd8\x00\x00" * N),
                }
            )
        ),
        "no Unicode",
    ),
    "labels of empty text": Case(
        archive(zipped({"images.npy": npy(PIXELS), "labels.npy": claims("'<U0'", "(12,)")})),
        "one class",
    ),
    "labels of bytes": Case(
        saved(images=PIXELS, labels=np.array([b"\xff", b"a", b"b"] * 4)),
        reads=lambda s: s.labels.nunique() == 3,
    ),
    "one class": Case(saved(images=PIXELS, labels=LABELS * 0), "one class"),
    "few images": Case(saved(images=PIXELS[:5], labels=LABELS[:5]), "too few"),
    "names of other classes": Case(
        saved(images=PIXELS, labels=LABELS, classes=np.array(["a"])), "1 class names"
    ),
    "pictures": Case(pictures(ENDS), reads=lambda s: s.images.shape == (N, 4, 5, 1)),
    "pictures that fall": Case(pictures(ENDS[::-1]), "rising whole numbers"),
    "pictures beyond": Case(pictures([*ENDS[:-1], 10**15]), "rising whole numbers"),
    "pictures before": Case(pictures([-(10**15), *ENDS[1:]]), "rising whole numbers"),
    "pictures at fractions": Case(pictures([k / 2 for k in ENDS]), "rising whole numbers"),
    "pictures at 2**64": Case(
        pictures(np.array([0] * N + [2**64 - 1], dtype=np.uint64)), "rising whole numbers"
    ),
    "pictures of nothing": Case(pictures([0] * (N + 1)), "no picture"),
    "pictures that are none": Case(pictures(range(0, 13), b"hello, hello!"), "no picture"),
}
