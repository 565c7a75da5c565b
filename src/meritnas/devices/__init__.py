"""Devices: where tensors and networks are, and in which precision networks compute.

It imports torch and our errors. Start reading at `placement.py`: nothing else moves anything from
one device to another.
"""
