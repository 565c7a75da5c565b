"""Language models: which activation on each edge of the recurrent cell (AdvantageNAS).

`family.py` first; `cell.py` is the cell as it runs, in a network and in a supernet. Imports what
`families` may, and no other family.
"""
