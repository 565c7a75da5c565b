"""A search from its settings to its result, with all files that it leaves behind.

It may import everything but `api`, `comparison`, `cli` and `estimators`. Start reading at `job.py`
(what is done) and `result.py` (what comes back).
"""
