"""How networks are trained by default, a module for each kind of data; no torch.

May import `settings` and `errors` only. Start with `recipe.py`, which all but tables share, and
`tables.py`; the specs of the spaces ask for them.
"""
