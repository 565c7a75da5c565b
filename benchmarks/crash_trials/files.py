"""All files of a folder, in a form in which equal content is equal."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

Files = dict[str, bytes | None]
"""Path in the folder -> content; None of a folder."""


def read_files(folder: Path) -> Files:
    """All files and folders below a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def differences(found: Files, expected: Files) -> list[str]:
    """What is there and should not be, what is missing and what is otherwise, a few words each."""
    wrong = [f"{name} is left over" for name in found.keys() - expected.keys()]
    wrong += [f"{name} is missing" for name in expected.keys() - found.keys()]
    own, other = _digests(found), _digests(expected)
    wrong += [
        f"{name} differs"
        for name in found.keys() & expected.keys()
        if found[name] != expected[name]
        and _plain(name, found[name], own) != _plain(name, expected[name], other)
    ]
    return sorted(wrong)


def _digests(files: Files) -> dict[str, str]:
    return {hashlib.sha256(blob).hexdigest(): name for name, blob in files.items() if blob}


def _plain(name: str, blob: bytes | None, digests: Mapping[str, str]) -> Any:
    """Content without what may differ from one write to the next.

    The bytes of a checkpoint depend on which objects in memory are the same one, and so does its
    digest, and that of all digests: one is as good as another if it is that of the same file.
    """
    if blob is None:
        return None
    if name.endswith("checkpoint.pt"):
        return _state(blob)
    if name.endswith("digests.json"):
        return _named(_without_own(_object(blob)), digests)
    return blob


def _state(blob: bytes) -> Any:
    try:
        return _comparable(torch.load(io.BytesIO(blob), weights_only=True))
    except Exception:  # not a checkpoint, then: bytes
        return blob


def _comparable(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.cpu().numpy().tobytes()
    if isinstance(value, dict):
        return {name: _comparable(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_comparable(one) for one in value]
    return value


def _object(blob: bytes) -> Any:
    try:
        return json.loads(blob)
    except ValueError:
        return blob


def _without_own(content: Any) -> Any:
    """The digests of files, without that of all of them together where it is right."""
    if not isinstance(content, dict):
        return content
    others = {name: value for name, value in content.items() if name != "sha256"}
    own = hashlib.sha256(json.dumps(others, sort_keys=True).encode()).hexdigest()
    return others if content.get("sha256") == own else content


def _named(value: Any, digests: Mapping[str, str]) -> Any:
    """The same with the names of files for their digests."""
    if isinstance(value, str):
        return digests.get(value, value)
    if isinstance(value, dict):
        return {digests.get(name, name): _named(one, digests) for name, one in value.items()}
    return [_named(one, digests) for one in value] if isinstance(value, list) else value
