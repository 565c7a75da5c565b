"""Reads what was written after `--modality` and `--backbone`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from meritnas.errors import UsageError


def parse_modalities(given: Sequence[str]) -> list[str] | dict[str, list[str]]:
    """What users wrote after `--modality`: names, or for a table names with their columns."""
    named = [text for text in given if "=" in text]
    if not named:
        return [name.strip() for text in given for name in text.split(",")]
    found: dict[str, list[str]] = {}
    for text in given:
        name, mark, columns = text.partition("=")
        if not mark or not name.strip() or not columns.strip():
            raise UsageError(
                f"give columns for every --modality or for none, as in text=title,review; got "
                f"'{text}'"
            )
        found.setdefault(name.strip(), []).extend(column.strip() for column in columns.split(","))
    return {name: list(dict.fromkeys(columns)) for name, columns in found.items()}


def parse_backbones(given: Sequence[str], flag: str) -> dict[str, str]:
    """What users wrote after `--backbone`: a modality and what makes its network."""
    found: dict[str, str] = {}
    for text in given:
        name, mark, own = (part.strip() for part in text.partition("="))
        if not mark or not name or not own:
            raise UsageError(
                f"{flag} takes a modality and a function that makes its network, as in "
                f"sound=encoders:Encoder; got '{text}'"
            )
        found[name] = own
    return found


def modality_arguments(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What users said about modalities, by the names of `meritnas.search`."""
    found: dict[str, Any] = {}
    if "modalities" in asked:
        found["modalities"] = parse_modalities(asked["modalities"])
    for name, flag in (("backbones", "--backbone"), ("frozen_backbones", "--frozen-backbone")):
        if name in asked:
            found[name] = parse_backbones(asked[name], flag)
    return found
