"""Data: tables, images, texts and several modalities, from files to tensors.

`kind.py` is the one door: what every kind of data can do. `kinds.py` lists the kinds there are.
Each has a package of its own (`tables`, `images`, `texts`, `modalities`), which does not import
the others; `columns`, `files` and the modules here are shared by them. Everything here imports
`settings` and nothing later. Start reading at `kind.py`, then at `tables/kind.py`.
"""
