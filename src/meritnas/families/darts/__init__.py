"""Networks of cells for images: which 2 inputs for each of 4 nodes, which operations (DARTS).

`family.py` first; `child.py` has the plan of a network and its cells, `genotype.py` how they are
written, `operations.py` what edges choose from. Imports what `families` may, and no other family.
"""
