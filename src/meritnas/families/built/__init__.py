"""Networks of a user's own: spaces made from build functions and from modules with choices.

It may import `nn` and what other families may. Start reading at `family.py`; what depends on what
is found out in `learning.py`.
"""
