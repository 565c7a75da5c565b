"""How a trained network fails: its answers to test rows held against the truth.

It may import `training`, `data` and what comes before these. Start reading at `failures.py`; each
kind of task has a file, and all that comes out is plain data for a run's failures.json.
"""
