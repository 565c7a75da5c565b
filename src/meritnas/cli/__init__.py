"""The command line `meritnas`.

It may import everything; modules that every command loads import no torch, so that `--help` is
fast. Start reading at `main.py`; each command is a file in `commands`.
"""
