"""Networks for images in stages, as practitioners build them.

`family.py` first; `blocks.py` says what stages are made of. Imports what `families` may, and no
other family.
"""
