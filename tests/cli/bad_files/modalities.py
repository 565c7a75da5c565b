"""Archives and tables of several modalities; what is read is a `ModalitySource`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bad_files.archives import archive, claims, npy, saved, zipped
from bad_files.case import Case, Maker, refused

N = 12
NUMBERS = np.linspace(0, 1, N * 3).reshape(N, 3)
LABELS = np.arange(N) % 2


def views(**arrays: Any) -> Maker:
    """Numbers and labels, and these arrays."""
    return saved(**{"sound": NUMBERS, "y": LABELS, **arrays})


def hostile(content: bytes) -> Maker:
    members = {"sound.npy": npy(NUMBERS), "look.npy": content, "y.npy": npy(LABELS)}
    return archive(zipped(members))


def table(frame: dict[str, Any]) -> Maker:
    def make(folder: Path) -> Path:
        path = folder / "t.parquet"
        pd.DataFrame({"n.a": range(N), "y": LABELS, **frame}).to_parquet(path)
        return path

    return make


def has(*names: str) -> Callable[[Any], bool]:
    return lambda source: set(source.views) == set(names)


MODALITIES: dict[str, Case] = {
    "two vectors": Case(views(look=NUMBERS), reads=has("sound", "look")),
    "empty": refused("a.npz", b"", "not made by numpy.savez"),
    "no target": Case(saved(sound=NUMBERS), "no array 'y'"),
    "a target alone": Case(saved(y=LABELS), "nothing besides its target"),
    "a target of text": Case(
        views(y=np.array(["a", "b"] * 6), look=NUMBERS), reads=lambda s: set(s.target) == {"a", "b"}
    ),
    "a target of objects": Case(views(y=np.array([{}, 1] * 6)), "Python objects"),
    "a target of NaN": Case(views(y=LABELS * np.nan, look=NUMBERS), "both a target"),
    "a target of dates": Case(views(y=LABELS.astype("M8[s]"), look=NUMBERS), "datetime64"),
    "a target of complex numbers": Case(views(y=LABELS * 1j, look=NUMBERS), "complex128"),
    "a target of three axes": Case(views(y=np.zeros((N, 2, 2)), look=NUMBERS), "target 'y'"),
    "a target of one number": Case(views(y=np.int64(1), look=NUMBERS), "target 'y'"),
    "a target of other length": Case(views(y=LABELS[:5], look=NUMBERS), "rows"),
    "labels other than 0 and 1": Case(
        views(y=np.full((N, 3), 7), look=NUMBERS), "several labels a row are 0 and 1"
    ),
    "names for other labels": Case(
        views(y=np.eye(N)[:, :3], y_names=np.array(["a"]), look=NUMBERS), "different names"
    ),
    "names of numbers": Case(
        views(y_names=np.array([1.5, 2.5]), look=NUMBERS), reads=has("sound", "look")
    ),
    "names of three axes": Case(views(y_names=np.zeros((2, 2, 2)), look=NUMBERS), "y_names"),
    "names of one axis too few": Case(views(y_names=np.str_("a"), look=NUMBERS), "y_names"),
    "other lengths": Case(views(look=NUMBERS[:5]), "rows"),
    "no rows": Case(
        saved(sound=NUMBERS[:0], look=NUMBERS[:0], y=LABELS[:0]), "'sound' is float64 [0, 3]"
    ),
    "no columns": Case(views(look=NUMBERS[:, :0]), "'look'"),
    "no axes": Case(views(look=np.float64(1)), "'look'"),
    "five axes": Case(views(look=np.zeros((N, 2, 2, 2, 2))), "'look'"),
    "objects": Case(views(look=np.array([{}, 1] * 6)), "Python objects"),
    "complex numbers": Case(views(look=NUMBERS * 1j), "'look'"),
    "dates": Case(views(look=NUMBERS.astype("M8[s]")), "'look'"),
    "columns": Case(views(look=np.zeros(N, [("a", "f4"), ("b", "u1")])), "plain arrays"),
    "the other order of bytes": Case(
        views(look=NUMBERS.astype(">f4"), y=LABELS.astype(">i8")), reads=has("sound", "look")
    ),
    "Fortran's order": Case(views(look=np.asfortranarray(NUMBERS)), reads=has("sound", "look")),
    "218 TiB": Case(hostile(claims("'<f8'", "(30000000000000,)")), "says it is float64"),
    "no Unicode": Case(hostile(claims("'<U1'", "(12,)", b"\xff\xff\xff\x7f" * N)), "no Unicode"),
    "a bomb": Case(
        saved(True, sound=NUMBERS, y=LABELS, look=np.zeros((N, 50_000))),
        "--max-unpacked-mb",
        options=("--max-unpacked-mb", "2"),
    ),
    "two halves of a bomb": Case(
        saved(True, y=LABELS, sound=np.zeros((N, 15_000)), look=np.zeros((N, 15_000))),
        "--max-unpacked-mb",
        options=("--max-unpacked-mb", "2"),
    ),
    "text": Case(views(look=np.array(["a b c", ""] * 6)), reads=has("sound", "look")),
    "text of two axes": Case(views(look=np.array([["a", "b"]] * N)), "'look'"),
    "bytes that are no UTF-8": Case(
        views(look=np.array([b"\xff\xfe x", b"a b"] * 6)), reads=has("sound", "look")
    ),
    "infinite numbers": Case(views(look=np.full((N, 3), np.inf)), "holds inf"),
    "huge numbers": Case(views(look=NUMBERS * 1e300), reads=has("sound", "look")),
    "NaN alone": Case(views(look=NUMBERS * np.nan), reads=has("sound", "look")),
    "NaN everywhere": Case(saved(sound=NUMBERS * np.nan, y=LABELS), "both a target"),
    "a name with a dot": Case(
        views(**{"look.a": NUMBERS, "look.b": NUMBERS}), reads=has("sound", "look")
    ),
    "a name and a dot": Case(views(**{"sound.a": NUMBERS}), "rename one"),
    "a name of dots": Case(views(**{"...": NUMBERS}), reads=has("sound", "...")),
    "an empty name": Case(views(**{"": NUMBERS}), "name of a modality"),
    "a name of marks": Case(views(**{"a(b)": NUMBERS}), "name of a modality"),
    "a name a terminal obeys": Case(views(**{"\x1b[2J": NUMBERS}), "name of a modality"),
    "a name with slashes": Case(views(**{"../look": NUMBERS}), reads=has("sound", "../look")),
    "all kept for testing": Case(
        views(look=NUMBERS, test=np.ones(N, dtype=bool)), "keeps all rows for testing"
    ),
    "a test of other length": Case(
        views(look=NUMBERS, test=np.ones(3, dtype=bool)), "'test' has 3 rows"
    ),
    "pictures too small": Case(views(look=np.zeros((N, 2, 2))), "'look'"),
    "a table": Case(table({"m.b": range(N)}), reads=has("n", "m")),
    "a table of unequal lists": Case(
        table({"look": [[1.0] * (1 + k % 2) for k in range(N)]}), "are 1, 2 long"
    ),
    "a table of mixed lists": Case(
        table({"look": [[1.0, None], [2.0, 3.0]] * 6}), reads=has("n", "look")
    ),
    "a table of lists of lists": Case(table({"look": [[[1.0]]] * N}), "no column is left"),
    "a table of structs": Case(table({"look": [{"a": 1}] * N}), "no column is left"),
    "a table and its lists": Case(
        table({"n.b": [[1.0, 2.0]] * N}), "columns of lists and other columns"
    ),
}
