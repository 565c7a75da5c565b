"""Who computes: the virtual workers of a search, and the processes (ranks) that do their work.

It may import nothing but errors. Start reading at `virtual.py`.
"""
