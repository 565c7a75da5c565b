"""Trained networks of runs, ready to answer for new inputs.

It may import data, families, training and the store. Start reading at `predictor.py`;
`writer.py` lets a language model write.
"""
