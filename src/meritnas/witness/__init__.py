"""What speaks for a network before it is trained alone.

Each witness (`witness.py`) says how good it takes networks to be: `one_shot.py` by shared weights,
`size.py` by what they cost. `vote.py` makes one order of what several say.
"""
