"""Tables with a column to predict.

Imports what is shared in `data` (`columns`, `files` and the modules there), and no other kind of
data. Start at `kind.py`; what becomes of columns is in `columns`.
"""
