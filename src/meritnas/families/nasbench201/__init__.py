"""Networks of equal cells for images: which operation on each of 6 edges (NAS-Bench-201).

`family.py` first; `benchmark.py` reads the table of trained networks. Imports what `families` may,
and no other family.
"""
