"""The HTML page of a run, one file for its sections of a kind.

Every section is made from the files of a run alone and returns nothing where a run has no numbers
for it. Start reading at `page.py`.
"""
