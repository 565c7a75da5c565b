"""Language models: a GRU, an LSTM, or which activation on each edge of AdvantageNAS' cell.

`family.py` first; `cell.py` and `known_cells.py` are the cells as they run, in a network and in a
supernet. Imports what `families` may, and no other family.
"""
