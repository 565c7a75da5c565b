"""Networks for images in stages, as practitioners build them.

`network.py` first: the build function that all but the costs follows from; `blocks.py` says what
stages are made of. It may import `built` and what other families may.
"""
