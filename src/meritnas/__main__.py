"""Runs the command line for `python -m meritnas`."""

from __future__ import annotations

from meritnas.cli.main import main

main()
