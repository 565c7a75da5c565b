"""Charts as SVG text, for the page of a run and for figure files.

They take plain numbers and names. `svg.py` has the elements, `lines.py`, `bars.py`, `shares.py`,
`scatter.py`, `histogram.py`, `confusion.py`, `matrix.py` and `network.py` are the kinds of charts,
`threshold_curves.py` and `*_figure.py` are charts with their captions for what a run has, and
`figure_file.py` makes a file of such figures. Start reading at `lines.py`.
"""
