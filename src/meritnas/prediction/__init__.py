"""A run's network in use: answers for new data, and texts that go on.

May import all up to `engine`. Start at `predictor.py`.
"""
