"""Programs that leave with a network, `predict.py`: one for each kind of data.

They are written here as any code is, and `exporting/program_export.py` copies them into one file,
with all that they name: what is imported from MeritNAS must itself need no more than numpy, torch
and the standard library (pictures: Pillow). Start reading at `program.py`.
"""
