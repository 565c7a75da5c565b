"""Search spaces as plain data: decisions, their options, and rules over them.

It imports no torch and nothing of the package but `errors`. Start reading at `space.py` and
`decision.py`; `rule.py` says which combinations of options are architectures.
"""
