"""Samples of several modalities: vectors, feature maps, pictures, texts, columns of a table.

Imports what is shared in `data` (`columns`, `files`, `pictures` and the modules there), and no
other kind of data. Start at `kind.py`; `view.py` says what a modality is, `encoder.py` what becomes
of it.
"""
