"""How networks are trained by default, a module for each kind of data; no torch.

May import `settings` and `errors` only. Start with `tables.py`, the shortest; the specs of the
spaces call `*_preset` of each.
"""
