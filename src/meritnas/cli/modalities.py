from __future__ import annotations

from collections.abc import Sequence

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
        found[name.strip()] = [column.strip() for column in columns.split(",")]
    return found
