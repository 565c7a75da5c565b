"""What commands print about runs: tables and networks as text.

It takes the plain data that `--json` prints. Start reading at `summary.py`.
"""
