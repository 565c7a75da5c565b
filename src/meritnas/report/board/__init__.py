"""The HTML page over many runs: a list to sort and filter, and charts that lay runs over another.

It reads folders of runs as the page of a run does, and executes nothing in them. `found.py` looks
for runs, `entry.py` is one of them in a line, `grounds.py` puts those together that can be
compared, `figures.py` draws them. Start reading at `board.py`.
"""
