"""What is seen of a run in a notebook: its figures, and a few lines about it.

Pictures are images with their own colours, so that nothing of them changes the page they are on,
and need no package. Start reading at `run_view.py`.
"""
