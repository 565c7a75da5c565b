"""How a search shows how far it is: on a terminal, in a notebook, in logs.

It hears the events that a search sends and may import everything up to `report`. Start reading at
`progress.py`; `bar.py` is for terminals, `notebook.py` for notebooks, `lines.py` for logs, and
`heard.py` is for whoever calls a function without saying who listens.
"""
