"""Images with one class each.

Imports what is shared in `data` (`files`, `pictures` and the modules there), and no other kind of
data. Start at `kind.py`; `formats.py` says what is read, `encoder.py` what becomes of it.
"""
