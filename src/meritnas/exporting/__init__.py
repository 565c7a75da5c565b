"""Trained networks as files for other programs: Python source, torch, ONNX, JSON.

It may import families, data and `prediction`, but nothing that runs searches. Start reading at
`export.py`.
"""
