"""A table's graph that takes columns as they are: a number or a text for each cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meritnas.errors import UsageError

FILE = "raw.onnx"

_PREFIX = "network/"
_TOLERANCE = 1e-5


def raw_graph(blob: bytes, described: Mapping[str, Any]) -> bytes | None:
    """The graph of `model.onnx` with an input for each column, by its name.

    Number columns are float64 [n], NaN for missing; category columns are texts [n], empty for
    missing, compared as they are written, whole numbers also with `.0`, true and false in small and
    large letters.

    Args:
        blob: `model.onnx`.
        described: `preprocessing.json`.

    Returns:
        None where ONNX cannot say it: of what is no table, where a column holds dates, or has the
        name of an output.
    """
    import onnx
    from onnx import TensorProto, helper

    columns = described.get("columns", ())
    if described.get("kind") != "table" or any(c["kind"] == "date" for c in columns):
        return None
    model = onnx.compose.add_prefix(
        onnx.load_from_string(blob), _PREFIX, rename_outputs=False, inplace=True
    )
    graph = model.graph
    if {one.name for one in graph.output} & {column["column"] for column in columns}:
        return None
    axis = helper.make_tensor(f"{_PREFIX}second_axis", TensorProto.INT64, [1], [1])
    nodes, parts, inputs = [], dict[str, list[str]](), []
    for column in columns:
        name, coded = column["column"], column["kind"] == "category"
        kind = TensorProto.STRING if coded else TensorProto.DOUBLE
        inputs.append(helper.make_tensor_value_info(name, kind, ["n"]))
        value = name
        if coded:
            value = f"{_PREFIX}code of {name}"
            nodes.append(_codes(helper, name, value, column["categories"]))
        wide = f"{_PREFIX}column {name}"
        nodes.append(helper.make_node("Unsqueeze", [value, axis.name], [wide]))
        parts.setdefault("codes" if coded else "numbers", []).append(wide)
    for name, wides in parts.items():
        nodes.append(helper.make_node("Concat", wides, [_PREFIX + name], axis=1))
    others = list(graph.node)
    del graph.node[:], graph.input[:]
    graph.node.extend([*nodes, *others])
    graph.input.extend(inputs)
    graph.initializer.append(axis)
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    found: bytes = model.SerializeToString()
    return found


def _codes(helper: Any, name: str, value: str, categories: Mapping[str, int]) -> Any:
    """Texts -> their codes, 0 for what is not listed."""
    spelled = {way: code for text, code in categories.items() for way in _ways(text)}
    spelled |= categories
    return helper.make_node(
        "LabelEncoder",
        [name],
        [value],
        domain="ai.onnx.ml",
        keys_strings=list(spelled),
        values_int64s=list(spelled.values()),
        default_int64=0,
    )


def _ways(text: str) -> tuple[str, ...]:
    """How else a category may be written."""
    if text in ("True", "False"):
        return text, text.lower(), text.upper()
    whole = text.removeprefix("-").isdecimal() and text.isascii()
    return (text, f"{text}.0") if whole else (text,)


def check_raw(
    session: Any, named: Mapping[str, np.ndarray], known: list[np.ndarray], described: Any
) -> None:
    """Compare with the graph of numbers and codes.

    Args:
        session: The raw graph, ready to run.
        named: Random inputs of the other graph, by name.
        known: What that makes of them.
        described: `preprocessing.json`.

    Raises:
        UsageError: They differ.
    """
    given: dict[str, np.ndarray] = {}
    for column in described["columns"]:
        if column["kind"] == "category":
            texts = {code: text for text, code in column["categories"].items()}
            codes = named["codes"][:, column["codes"][0]]
            given[column["column"]] = np.array([texts.get(int(c), "") for c in codes], dtype=object)
        else:
            given[column["column"]] = named["numbers"][:, column["numbers"][0]]
    for own, other in zip(known, session.run(None, given), strict=True):
        if not np.allclose(own, other, rtol=_TOLERANCE, atol=_TOLERANCE):
            worst = float(np.abs(own - other).max())
            raise UsageError(
                f"the graph of raw columns differs from that of numbers by up to {worst:.2g}, more "
                f"than {_TOLERANCE:g}; nothing was written, use --to python"
            )
