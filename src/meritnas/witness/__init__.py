"""What speaks for a network before it is trained alone.

Each witness (`witness.py`) says how good it takes networks to be: `one_shot.py` by shared weights,
`size.py` by what they cost, `untrained.py` by what they show before any training. `panel.py` says
who is asked, `vote.py` makes one order of what they say.
"""
