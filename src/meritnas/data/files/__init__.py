"""Files: tables of any format as frames, NumPy archives, text in any encoding.

Shared by all kinds of data, of which it imports nothing; of `columns` it has names and the way
numbers are written. Start at `loaded.py` and `table.py`.
"""
