"""How much of a limit on weights the embeddings of a table's categories may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from meritnas.cost.reduced import cheapest
from meritnas.data.columns.inputs import most_codes
from meritnas.families.int8_weights import COST as INT8_SIZE
from meritnas.families.int8_weights import header_bytes
from meritnas.families.stored_size import BYTES_A_WEIGHT
from meritnas.families.tabular.family import TabularSpace

EMBEDDING_SHARE = 0.3
"""Of the weights that a limit allows, embeddings take at most this part, narrower if need be."""


_ON_WEIGHTS = ("params", "size", INT8_SIZE)

_INT8_BYTES_A_WEIGHT = 2
"""With a scale of four bytes for each category, narrow embeddings take three, wide ones one."""


def narrowed(family: TabularSpace, limits: Mapping[str, int]) -> TabularSpace:
    """The family with embeddings that leave a limit on weights to the layers, if need be.

    They are made narrower until they take at most `EMBEDDING_SHARE` of what is allowed, and
    further where otherwise no network would fit.
    """
    weights = most_weights(family, limits)
    if weights is None:
        return family
    found = _with_embeddings(family, int(EMBEDDING_SHARE * weights))
    while not _has_room(found, limits):
        narrower = _with_embeddings(found, found.inputs.embedding_params - 1)
        if narrower == found:
            break
        found = narrower
    return found


def most_categories(family: TabularSpace, limits: Mapping[str, int]) -> int | None:
    """How many categories each column may keep; None for all of them.

    The rarest are told apart no more where even narrow embeddings take more than their share. A
    width that a user has given stays as it is, and so do all categories.
    """
    weights = most_weights(family, limits)
    if weights is None or family.inputs.embedding is not None:
        return None
    allowed = max(0, int(EMBEDDING_SHARE * weights))
    if family.inputs.embedding_params <= allowed:
        return None
    return max(1, most_codes(family.inputs.cardinalities, allowed) - 1)


def most_weights(family: TabularSpace, limits: Mapping[str, int]) -> int | None:
    """How many weights a network can have at most under these limits; None for any number."""
    bounds = []
    if "params" in limits:
        bounds.append(limits["params"])
    if "size" in limits:
        bounds.append((limits["size"] - family.header_bytes) // BYTES_A_WEIGHT)
    if INT8_SIZE in limits:
        bounds.append((limits[INT8_SIZE] - header_bytes()) // _INT8_BYTES_A_WEIGHT)
    return min(bounds, default=None)


def _has_room(family: TabularSpace, limits: Mapping[str, int]) -> bool:
    """Whether some network keeps each limit on weights."""
    return all(
        cheapest(family.costs[name])[0] <= limits[name] for name in _ON_WEIGHTS if name in limits
    )


def _with_embeddings(family: TabularSpace, params: int) -> TabularSpace:
    return replace(family, inputs=family.inputs.within(params))
