"""What networks for tables take in a file of 8-bit weights."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import torch

from meritnas.cost.terms import CostTerms, chain_terms
from meritnas.families.int8_weights import UNIT, header_bytes, packed_bytes, tensor_bytes
from meritnas.families.tabular.embed import EmbedTable

if TYPE_CHECKING:
    from meritnas.families.tabular.family import TabularSpace


def int8_size(family: TabularSpace) -> CostTerms:
    """Bytes of the file: matrices and biases of layers, embeddings always."""
    rows = family.widths
    inputs, outputs = (family.inputs.width,), (family.outputs,)
    single = [np.zeros(len(row), dtype=np.int64) for row in rows]
    single[0] += _layers(inputs, rows[0])[0]
    single[-1] += _layers(rows[-1], outputs)[:, 0]
    pair = tuple(_layers(before, after) for before, after in pairwise(rows))
    return chain_terms(header_bytes() + embedding_bytes(family), single, pair, *UNIT)


def embedding_bytes(family: TabularSpace) -> int:
    """What the embeddings of categories take."""
    inputs = family.inputs
    if not inputs.cardinalities:
        return 0
    with torch.device("meta"):
        table = EmbedTable(inputs.numbers, inputs.cardinalities, inputs.embedding_widths)
    return packed_bytes(table.state_dict())


def _layers(before: tuple[int, ...], after: tuple[int, ...]) -> np.ndarray:
    """Bytes [widths that come in, widths that go out] of a layer."""
    found = [[tensor_bytes(b, a) + tensor_bytes(b) for b in after] for a in before]
    return np.array(found, dtype=np.int64)
