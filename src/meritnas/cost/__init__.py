"""What architectures cost, and the exact set of those that keep every limit.

It may import `space` and computes with numpy alone: it knows no data and no weights. Start reading
at `terms.py` (costs and limits) and `feasible.py` (counts, probabilities, samples); `build.py` and
`diagram.py` are how it is done.
"""
