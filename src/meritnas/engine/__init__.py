"""The loop that runs a search, with its plan, its events and its time limit.

It may import strategies, families, training and `prepare`. Start reading at `loop.py`.
"""
