"""From settings and data to what a search runs on: one way, no step goes back.

It may import settings, data, space, cost, families, strategy (for their specs) and training (for
trials), but nothing that searches. Start reading at `settle.py` (what a request comes to on some
data), then `encoding.py`, `ground.py` and `preparation.py`, which puts them together; `config.py`
is what a run keeps of it.
"""
