"""Several strategies under equal conditions, with tests whether they differ.

It runs searches through `api` and may import everything but `cli` and `estimators`. Start reading
at `comparison.py`.
"""
