"""How many bytes a network takes in a safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping

from torch import Tensor

BYTES_A_WEIGHT = 4
_ALIGNMENT = 8


def header_bytes(weights: Mapping[str, Tensor], text: str) -> int:
    """The most bytes that a safetensors file spends beside the weights themselves.

    Args:
        weights: of the largest architecture, by name; only names and shapes matter. Smaller ones
            have the same names and numbers of no more digits.
        text: that architecture, which goes into the file too.
    """
    end = sum(weight.numel() for weight in weights.values()) * BYTES_A_WEIGHT
    header = {
        "__metadata__": {"architecture": text},
        **{
            name: {"dtype": "F32", "shape": list(weight.shape), "data_offsets": [end, end]}
            for name, weight in weights.items()
        },
    }
    length = len(json.dumps(header, separators=(",", ":")).encode())
    # Eight bytes tell the header's length, and blanks fill it up to a whole number of words.
    return 8 + -(-length // _ALIGNMENT) * _ALIGNMENT
