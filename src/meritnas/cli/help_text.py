"""The help of a flag, with what holds unless it is given."""

from __future__ import annotations

from rich.markup import escape


def help_text(text: str, usual: str = "") -> str:
    """A line of help and a default in words, which Typer would put into parentheses."""
    if not usual:
        return escape(text)
    return f"{escape(text)} [dim]{escape(f'[default: {usual}]')}[/dim]".strip()
