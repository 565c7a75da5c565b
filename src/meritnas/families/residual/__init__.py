"""Residual networks for tables, as a build function: `network.py`."""
