from __future__ import annotations

import json
import pickle
import re
import struct
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meritnas.data.images.array_pickle import read_array_pickle
from meritnas.data.images.cifar_files import read_cifar_file
from meritnas.errors import DataError

PLANES = np.random.default_rng(0).integers(0, 256, (3, 3072)).astype(np.uint8)
LABELS = [2, 0, 1]

NDARRAY = b"cnumpy\nndarray\n"
RECONSTRUCT = b"cnumpy.core.multiarray\n_reconstruct\n" + NDARRAY + b"K\x00\x85C\x01b\x87R"
FROM_BUFFER = b"cnumpy._core.numeric\n_frombuffer\n"


def dtype(
    name: str, state: bytes = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
) -> bytes:
    """As Python 2 writes it."""
    return b"cnumpy\ndtype\nU" + bytes([len(name)]) + name.encode() + b"K\x00K\x01\x87R" + state


def number(value: int) -> bytes:
    return b"\x8a\x08" + value.to_bytes(8, "little", signed=True)


def blob(content: bytes) -> bytes:
    return b"B" + struct.pack("<I", len(content)) + content


def filled(shape: bytes, kind: bytes, content: bytes, fortran: bytes = b"\x89") -> bytes:
    """An array by its state."""
    return RECONSTRUCT + b"(K\x01" + shape + kind + fortran + content + b"tb"


PLAIN = dtype("u1")
OWN_SIZE = b"(K\x03U\x01|NNN" + number(1 << 40) + number(8) + b"K\x00tb"
COLUMNS = b"(K\x03U\x01|NU\x01a\x85}U\x01a" + dtype("O8", b"") + b"K\x00\x86sK\x08K\x01K\x3ftb"
DEEP = b"N" + b"\x85" * 300_000
SHARED = b"N" + b"".join(b"q\x01h\x01\x86" for _ in range(80))
"""A tuple of two of a tuple of two of ...: writing it, or hashing it, never ends."""

HOSTILE: dict[str, bytes] = {
    "bytes as objects": filled(b"K\x01\x85", dtype("O8"), blob(b"A" * 8)),
    "a list of objects": filled(b"K\x01\x85", dtype("O8"), b"]"),
    "objects over a buffer": NDARRAY + b"(K\x01\x85" + dtype("O8") + blob(b"A" * 8) + b"tR",
    "an array beyond its buffer": NDARRAY + b"(M\xff\xff\x85" + PLAIN + blob(b"A") + b"tR",
    "an offset": NDARRAY + b"(K\x01\x85" + PLAIN + blob(b"A" * 8) + number(-4096) + b"tR",
    "strides": NDARRAY
    + b"(K\x02\x85"
    + PLAIN
    + blob(b"A" * 8)
    + b"K\x00"
    + number(-(1 << 40))
    + b"\x85tR",
    "more than there is": filled(b"M\xff\xffM\xff\xff\x86", PLAIN, blob(b"AAAA")),
    "less than there is": filled(b"K\x01\x85", PLAIN, blob(b"AAAA")),
    "a negative side": filled(number(-2) + number(-2) + b"\x86", PLAIN, blob(b"AAAA")),
    "a side that is no number": filled(b"N\x85", PLAIN, blob(b"AAAA")),
    "endless sides of nothing": filled(
        b"K\x00" + number(1 << 62) + number(1 << 62) + b"\x87", PLAIN, blob(b"")
    ),
    "a hundred axes": filled(b"(" + b"K\x01" * 100 + b"t", PLAIN, blob(b"A")),
    "a type with a size of its own": filled(b"K\x01\x85", dtype("u1", OWN_SIZE), blob(b"A")),
    "a type with columns": filled(b"K\x01\x85", dtype("V8", COLUMNS), blob(b"A" * 8)),
    "a plain type that gets columns": filled(b"K\x01\x85", dtype("u8", COLUMNS), blob(b"A" * 8)),
    "a type of raw bytes": filled(b"K\x01\x85", dtype("V8"), blob(b"A" * 8)),
    "a type of text": filled(b"K\x01\x85", dtype("U2"), blob(b"\xff" * 8)),
    "a type of dates": filled(b"K\x01\x85", dtype("M8"), blob(b"A" * 8)),
    "no type": filled(b"K\x01\x85", b"N", blob(b"A")),
    "a state that is no state": RECONSTRUCT + b"Nb",
    "a short state": RECONSTRUCT + b"K\x01\x85b",
    "objects from a buffer": FROM_BUFFER
    + b"("
    + blob(b"A" * 8)
    + dtype("O8")
    + b"K\x01\x85U\x01CtR",
    "a buffer that is too short": FROM_BUFFER
    + b"("
    + blob(b"A")
    + PLAIN
    + b"M\xff\xff\x85U\x01CtR",
    "axes there are not": FROM_BUFFER + b"(" + blob(b"AA") + PLAIN + b"K\x02\x85U\x01KK\x07\x85tR",
    "another class to reconstruct": b"cnumpy.core.multiarray\n_reconstruct\nNK\x00\x85C\x01b\x87R",
    "a class that is called": NDARRAY + b"K\x05\x85\x85R",
    "a state for a dictionary": b"}}b",
    "a state for a number": b"K\x01}b",
    "a state for a class": NDARRAY + b"}b",
    "a call of a value": b"K\x01)R",
    "a call of a type": PLAIN + b")R",
    "a call without arguments": NDARRAY + b"NR",
    "as many bytes as one likes": b"c__builtin__\nbytes\n" + number(1 << 40) + b"\x85R",
    "a persistent id": b"Pabc\n",
    "a persistent id from the stack": b"NQ",
    "extension 1": b"\x82\x01",
    "extension 2": b"\x83\x01\x01",
    "extension 4": b"\x84\x01\x01\x01\x01",
    "an instance": b"(ios\nsystem\n",
    "an object": b"(cos\nsystem\no",
    "a new object": NDARRAY + b")\x81",
    "a new object with names": NDARRAY + b")}\x92",
    "a buffer from elsewhere": b"\x97",
    "a read-only buffer": b"N\x98",
    "a name from the stack": b"U\x02osU\x06system\x93",
    "a name that is no text": b"NN\x93",
    "a module within a name": b"cnumpy\nndarray.__class__\n",
    "a set": b"\x8f",
    "far ends of the memory": b"Nr\xff\xff\xff\xff",
    "numbers that collide as places": b"N"
    + b"".join(b"p%d\n" % (k * (2**61 - 1)) for k in range(1, 50)),
    "numbers that collide as keys": b"}("
    + b"".join(number(k * (2**55 - 1)) + b"N" for k in range(50))
    + b"u",
    "2**60 bytes": b"\x8e" + struct.pack("<Q", 1 << 60) + b"AAAA",
    "2**60 letters": b"\x8d" + struct.pack("<Q", 1 << 60) + b"AAAA",
    "an array of 2**60 bytes": b"\x96" + struct.pack("<Q", 1 << 60) + b"AAAA",
    "minus one bytes": b"T\xff\xff\xff\xffAAAA",
    "2**31 digits": b"\x8b\xff\xff\xff\x7fAAAA",
    "a number of many digits": b"I" + b"9" * 1_000_000 + b"\n",
    "deep tuples": DEEP,
    "deep tuples as a key": b"}" + DEEP + b"Ns",
    "endless tuples as a key": b"}" + SHARED + b"Ns",
    "endless tuples as a type": b"cnumpy\ndtype\n" + SHARED + b"\x85R",
    "endless tuples as a codec": b"c_codecs\nencode\nX\x01\x00\x00\x00a" + SHARED + b"\x86R",
    "endless tuples as an order": dtype(
        "u1", b"(K\x03" + SHARED + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    ),
    "endless tuples as sides": filled(SHARED, PLAIN, blob(b"A")),
    "one text encoded again and again": b"X\x00\x00\x10\x00"
    + b"a" * (1 << 20)
    + b"q\x00c_codecs\nencode\nq\x01U\x06latin1q\x02("
    + b"h\x01h\x00h\x02\x86R" * 5000
    + b"l",
    "another codec": b"c_codecs\nencode\nX\x01\x00\x00\x00aX\x03\x00\x00\x00zip\x86R",
    "a list that holds itself": b"]q\x00h\x00a",
    "more opcodes than allowed": b"]" * 2_100_000,
    "no end": b"}",
    "nothing at all": b"",
    "a mark alone": b"(",
    "an end without a mark": b"Nt",
    "values that are missing": b"\x87",
    "a list item without a list": b"NNa",
    "a key without a value": b"}(U\x01au",
    "a place there is not": b"h\x07",
    "text that is no UTF-8": b"X\x02\x00\x00\x00\xff\xff",
    "an opcode there is not": b"\xff",
}

SCRIPT = """
import json, pathlib, resource, sys
from meritnas.data.images.cifar_files import read_cifar_file
from meritnas.errors import DataError
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
found = {}
for path in sorted(pathlib.Path(sys.argv[1]).iterdir()):
    print(path.name, file=sys.stderr, flush=True)  # the one to look at after a crash
    try:
        found[path.name] = str(read_cifar_file(path).images.shape)
    except DataError as error:
        found[path.name] = "refused: " + str(error)
print(json.dumps(found))
"""


def test_hostile_pickles_are_refused_in_no_time_and_no_memory(tmp_path: Path) -> None:
    """In a process of its own, which might crash."""
    places = {f"{number:03}": name for number, name in enumerate(HOSTILE)}
    for place, name in places.items():
        (tmp_path / place).write_bytes(b"\x80\x02" + HOSTILE[name] + b".")
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, places.get(done.stderr.splitlines()[-1], done.stderr)
    told = {places[place]: outcome for place, outcome in json.loads(done.stdout).items()}
    assert len(told) == len(HOSTILE) >= 75
    assert [name for name, outcome in told.items() if not outcome.startswith("refused: ")] == []
    assert max(map(len, told.values())) < 400  # none tells all that it holds
    assert not [name for name, outcome in told.items() if re.search("[Mm]emory|alloc", outcome)]


def batch(kind: Callable[[np.ndarray], np.ndarray] = np.asarray) -> dict[bytes, Any]:
    return {b"data": kind(PLANES), b"labels": LABELS, b"filenames": [b"a.png", b"b.png", b"c.png"]}


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    "kind",
    [np.ascontiguousarray, np.asfortranarray, lambda a: np.repeat(a, 2, axis=1)[:, ::2]],
    ids=["C", "F", "strided"],
)
def test_batches_of_all_protocols_and_orders(
    tmp_path: Path, protocol: int, kind: Callable[[np.ndarray], np.ndarray]
) -> None:
    content = pickle.dumps(batch(kind), protocol)
    for number, spelling in enumerate((b"numpy.core", b"numpy._core")):
        path = tmp_path / f"data_batch_{number}"
        # Names of later protocols are counted.
        known = content if protocol > 3 else content.replace(b"numpy._core", spelling)
        path.write_bytes(known)
        found = read_array_pickle(path)
        assert np.array_equal(found[b"data"], PLANES)
        assert read_cifar_file(path).images.shape == (3, 32, 32, 3)
    assert found[b"filenames"] == [b"a.png", b"b.png", b"c.png"]


def test_a_batch_as_python_2_pickles_it(tmp_path: Path) -> None:
    """Opcode by opcode as in data_batch_1 of cifar-10-python.tar.gz."""
    content = (
        b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05"
        b"(K\x02K\x00K\x01eU\x04dataq\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray"
        b"\nq\x08K\x00\x85U\x01b\x87Rq\t(K\x01K\x03M\x00\x0c\x86cnumpy\ndtype\nq\nU\x02u1K\x00K\x01"
        b"\x87Rq\x0b(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
        + struct.pack("<i", PLANES.size)
        + PLANES.tobytes()
        + b"tbU\tfilenamesq\x0c]q\r(U\x05a.pngq\x0eU\x05b.pngq\x0fU\x05c.pngq\x10eu."
    )
    path = tmp_path / "data_batch_1"
    path.write_bytes(content)
    assert list(read_array_pickle(path)) == [b"batch_label", b"labels", b"data", b"filenames"]
    found = read_cifar_file(path)
    assert np.array_equal(found.images.transpose(0, 3, 1, 2).reshape(3, -1), PLANES)
    assert found.labels is not None
    assert found.labels.tolist() == LABELS


def test_text_of_the_first_protocol_is_unquoted(tmp_path: Path) -> None:
    path = tmp_path / "p"
    path.write_bytes(b"(dp0\nS'a\\x93\\'b'\np1\nF1.5\nsS\"c\"\np2\nL12L\nsVd\\u00e4\nI01\ns.")
    assert read_array_pickle(path) == {b"a\x93'b": 1.5, b"c": 12, "d\u00e4": True}


@pytest.mark.parametrize("kind", ["<i8", ">i8", ">u2", "|u1", "<f4", "|b1"])
@pytest.mark.parametrize("protocol", [2, 5])
def test_plain_types_keep_their_values(tmp_path: Path, kind: str, protocol: int) -> None:
    array = np.array([[0, 1, 200], [3, 1, 0]]).astype(kind)
    path = tmp_path / "p"
    path.write_bytes(pickle.dumps({"a": array, "b": array[:0]}, protocol))
    found = read_array_pickle(path)
    assert np.array_equal(found["a"], array)
    assert found["a"].dtype == array.dtype.newbyteorder("=")
    assert found["b"].shape == (0, 3)


def test_labels_are_whole_numbers_and_nothing_else_is_looked_into(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    for labels in (["cat", "dog", "cat"], [[0, 1], [1, 0], [0, 1]], {"a": 1}, [True, 0, 1], 7):
        path.write_bytes(pickle.dumps({"data": PLANES, "labels": labels}))
        with pytest.raises(DataError, match="are no list of whole numbers"):
            read_cifar_file(path)
    path.write_bytes(pickle.dumps({"data": PLANES, "labels": np.array(LABELS, dtype=">i2")}))
    labels = read_cifar_file(path).labels
    assert labels is not None
    assert labels.tolist() == LABELS


def test_names_of_classes_need_not_be_text_that_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "data_batch_1"
    path.write_bytes(pickle.dumps(batch(), 2))
    for names, expected in (([b"a\xff", "b", b"c"], "c"), ([1, 2, 3], 2), ("abc", 2)):
        (tmp_path / "batches.meta").write_bytes(pickle.dumps({"label_names": names}, 4))
        labels = read_cifar_file(path).labels
        assert labels is not None
        assert labels.iloc[0] == expected


@settings(max_examples=300)
@given(
    st.sampled_from([0, 2, 4, 5]),
    st.lists(st.tuples(st.integers(0, 4000), st.binary(max_size=3), st.integers(0, 3)), max_size=4),
    st.none() | st.integers(0, 4000),
)
def test_changed_bytes_are_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory,
    protocol: int,
    changes: list[tuple[int, bytes, int]],
    cut: int | None,
) -> None:
    content = pickle.dumps({b"data": PLANES[:1], b"labels": [2]}, protocol)
    # What is not pixels is at both ends, a few hundred bytes each.
    for place, new, old in changes:
        place = place % 400 if place < 2000 else len(content) - place % 400
        content = content[:place] + new + content[place + old :]
    path = tmp_path_factory.getbasetemp() / "changed-pickle"
    path.write_bytes(content[:cut])
    with suppress(DataError):
        found = read_cifar_file(path)
        assert found.images.dtype == np.uint8
        assert found.images.shape[1:] == (32, 32, 3)
        assert found.labels is not None
        assert len(found.labels) == len(found.images)
    if not changes and cut is None:
        assert np.array_equal(read_cifar_file(path).images.reshape(-1)[:3], PLANES[0, ::1024])
