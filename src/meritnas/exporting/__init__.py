"""Networks in forms that need no MeritNAS: ONNX, torch.export, Python source.

What differs by kind of data is asked of `data.kinds`. May import all but `run`, `api`,
`comparison` and what users call. Start at `export.py`; `graph.py` is what ONNX and torch share.
"""
