"""Texts, of which the next word or character is predicted.

Imports what is shared in `data` (`files` and the modules there), and no other kind of data. Start
at `kind.py`; `words.py` says what a word is, `bundle.py` how a text is read.
"""
