"""Networks for several modalities: which features to join, by which operations (SM-ShapNAS).

`family.py` first; `text.py` has where the decisions are and how networks are written,
`operations.py` and `sparse_coding.py` what fuses two features, `arguments.py` the checks.
`plain.py` has the networks that race with them, `plain_child.py` what these are made of. Imports
what `families` may, and no other family.
"""
