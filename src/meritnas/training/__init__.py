"""Networks trained from scratch, once a search has found them.

It may import families, data and the store, and the strategies before it; it knows nothing of the
loop that searches. Start reading at `train.py` (one network), `race.py` and `retrain.py`
(finalists).
"""
