"""How the command line shows how far a search is.

It hears the events that a search sends and may import everything. Start reading at `progress.py`;
`bar.py` is for terminals, `lines.py` for logs.
"""
