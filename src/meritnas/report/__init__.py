"""What a run found, for people: a page, charts, tables for the terminal.

It reads the files of a run and may import everything below it, but neither `explanation`, which
draws itself with it, nor `api`. Start reading at `page/page.py`; `run_files.py` is what it reads,
`charts` what it draws with, `terminal` what commands print, `board` the page over many runs,
`notebook` what is seen in notebooks.
"""
