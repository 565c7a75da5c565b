"""The folder of a run on disk.

It may import nothing but errors. Start reading at `run_store.py`.
"""
