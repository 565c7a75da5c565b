"""Help as users see it: defaults in words, and switches that take no value."""

from __future__ import annotations

from typing import Any

import typer
from rich.markup import escape


def help_text(text: str, usual: str = "") -> str:
    """A line of help and a default in words, which Typer would put into parentheses."""
    if not usual:
        return escape(text)
    return f"{escape(text)} [dim]{escape(f'[default: {usual}]')}[/dim]".strip()


def switch(flag: str, text: str, panel: str | None = None) -> Any:
    """A flag that takes no value, which Typer would call a <bool>."""
    return typer.Option(flag, help=help_text(text), metavar="", rich_help_panel=panel)
