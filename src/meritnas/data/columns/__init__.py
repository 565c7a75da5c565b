"""Columns of a table: what each is taken as, and how it becomes numbers.

Shared by `tables` and `modalities`; imports nothing else of `data`. Start at `encoder.py`, which
has all columns together, and at `sorting.py`, which decides about one.
"""
