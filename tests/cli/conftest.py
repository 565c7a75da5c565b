from __future__ import annotations

from cli_helpers import _own_folder, meritnas, sales, trained

__all__ = ["_own_folder", "meritnas", "sales", "trained"]
