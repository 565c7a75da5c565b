"""The pages that readers see, and how tests name them."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").rglob("*.md")])
NOTEBOOKS = [page for page in PAGES if page.parent.name == "gallery"]


def page_name(page: Path) -> str:
    """Where it is, without what all have in common."""
    return str(page.relative_to(ROOT)).removeprefix("docs/")
