"""Picture files as pixels: of a folder of images, and of a column that names them.

Imports `data.files` and `data.columns`. Start at `picture.py`; `names.py` says which columns name
pictures, `read_named.py` reads them.
"""
