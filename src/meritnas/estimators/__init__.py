"""Searches as scikit-learn estimators.

They call the Python interface and may import everything but `cli`. Start reading at `tables.py`.
"""
