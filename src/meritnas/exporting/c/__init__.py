"""A network as C99: one source file and one header, without a heap and without a library.

A network's operations are brought to a short list (`lowering.py`), their memory is laid out in one
arena (`arena.py`), and C is printed from that (`source.py`). It may import what `exporting` may.
Start reading at `written.py`.
"""
