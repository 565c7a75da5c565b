"""How many bytes a network takes in a safetensors file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from torch import Tensor

BYTES_A_WEIGHT = 4
_ALIGNMENT = 8

_MOST_BYTES = 10**12 - 1
"""Of a file; offsets in its header have no more digits than this number."""

_LONGEST_NUMBER = "x" * 24
"""A number as text, such as the threshold that stands beside the weights of some networks."""

_TEXT_A_DECISION = 24
"""Letters of an architecture's text for each decision, at most."""


def stored_bytes(tensors: Mapping[str, Tensor], prefix: str = "") -> int:
    """What tensors take in a safetensors file: their bytes and their part of its header, at most.

    Args:
        tensors: by name; only names, shapes and types matter.
        prefix: what names in the file begin with.
    """
    return sum(
        tensor.numel() * tensor.element_size() + entry_bytes(prefix + name, tensor.shape)
        for name, tensor in tensors.items()
    )


def entry_bytes(name: str, shape: Sequence[int]) -> int:
    """What the header says of a tensor, at most, with the comma before the next."""
    offsets = [_MOST_BYTES, _MOST_BYTES]
    entry = {name: {"dtype": "F32", "shape": list(shape), "data_offsets": offsets}}
    return len(json.dumps(entry, separators=(",", ":"))) - 1


def file_bytes(decisions: int) -> int:
    """What a file has beside its tensors and what its header says of them, at most.

    Args:
        decisions: of the architecture, whose text is in the file.
    """
    return text_file_bytes("x" * (_TEXT_A_DECISION * decisions))


def text_file_bytes(text: str) -> int:
    """The same where an architecture's text is not longer than this one."""
    header = json.dumps({"__metadata__": _about(text)}, separators=(",", ":"))
    return 8 + len(header) + _ALIGNMENT


def header_bytes(weights: Mapping[str, Tensor], text: str) -> int:
    """The most bytes that a safetensors file spends beside the weights themselves.

    Args:
        weights: of the largest architecture, by name; only names and shapes matter. Smaller ones
            have the same names and numbers of no more digits.
        text: that architecture, which goes into the file too.
    """
    end = sum(weight.numel() for weight in weights.values()) * BYTES_A_WEIGHT
    header = {
        "__metadata__": _about(text),
        **{
            name: {"dtype": "F32", "shape": list(weight.shape), "data_offsets": [end, end]}
            for name, weight in weights.items()
        },
    }
    length = len(json.dumps(header, separators=(",", ":")).encode())
    # Eight bytes tell the header's length, and blanks fill it up to a whole number of words.
    return 8 + -(-length // _ALIGNMENT) * _ALIGNMENT


def _about(text: str) -> dict[str, str]:
    """All that a file may say of a network beside its weights."""
    return {"architecture": text, "threshold": _LONGEST_NUMBER}
