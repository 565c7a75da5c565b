"""Trained networks of runs, ready to answer for new inputs.

It may import data, families, training and the store. Start reading at `predictor.py`;
`writer.py` lets a language model write, `answered.py` finds rows without an answer and
`known_answers.py` scores the others.
"""
