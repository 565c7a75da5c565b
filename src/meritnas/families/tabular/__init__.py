"""Feed-forward networks for tables: which width for each hidden layer (TabNAS).

`family.py` first; `embed.py` has the embeddings of categories, `embedding_room.py` how much of a
limit they may take. Imports what `families` may, and no other family.
"""
