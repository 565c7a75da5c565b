"""Why a network looks as it does: what its parts, or its modalities, are worth.

It may import `run`, `engine`, `credit` and all else that comes before `run`. Start reading at
`network.py`; `modalities.py` is about what is joined.
"""
