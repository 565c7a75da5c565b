"""Trained networks as files for other programs: Python source, torch, ONNX, JSON.

It may import families, data, `prediction` and `report`, but nothing that runs searches. Start
reading at `export.py`.
"""
